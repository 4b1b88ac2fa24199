"""What a person with a browser, and programs that keep their connection, see of a restore."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.guests import counting, kept_alive, page
from tests.guests.browser import browser, shown, wait_shown
from tests.guests.counting import ZONE
from tests.guests.kept_alive import WebSocket, asking, last_text
from tests.lab import GOLDEN, HTTPS, Daemon

pytestmark = pytest.mark.guest


@pytest.fixture
def root(daemon: Daemon, tmp_path: Path) -> Path:
    """What `boxd edge ca` prints, for those who are to trust it; HTTPS is served and a page is there."""
    file = tmp_path / "root.crt"
    file.write_text(daemon.boxd("edge", "ca").stdout)
    page.start(daemon, 8000)
    counting.serving(counting.trusting(file))
    return file


def save(daemon: Daemon) -> None:
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "counted")


def restore(daemon: Daemon) -> None:
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "counted", "-y")


def click(chrome: Chrome, expected: int) -> None:
    chrome.find_element("id", "more").click()
    wait_shown(chrome, "count", str(expected))


def test_a_browser_sees_the_counter_jump_back(daemon: Daemon, root: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "home", root) as chrome:
        chrome.get(f"http://{GOLDEN}.{ZONE}:{HTTPS - 1}/")  # redirected
        assert chrome.current_url == f"https://{GOLDEN}.{ZONE}:{HTTPS}/"
        for expected in (1, 2, 3):
            click(chrome, expected)
        save(daemon)
        for expected in (4, 5):
            click(chrome, expected)
        for way in ("events", "socket"):
            wait_shown(chrome, way, "5")
        assert chrome.execute_script("return [opened, answers]") == [{"events": 1, "socket": 1}, []]
        chrome.execute_script("window.polling = true; poll()")
        restore(daemon)
        for way in ("events", "socket"):  # the page was not touched: both came again by themselves
            wait_shown(chrome, way, "3")
        asked = chrome.execute_script("window.polling = false; return answers.length")
        opened, answers = chrome.execute_script("return [opened, answers]")
        assert opened == {"events": 2, "socket": 2}
        assert set(answers) == {200}
        protocols = "return performance.getEntriesByType('resource').map(entry => entry.nextHopProtocol)"
        assert "h2" in chrome.execute_script(protocols)
        assert shown(chrome, "count") == "5"  # what the page had; its next question is answered by the restored app
        click(chrome, 4)
        chrome.refresh()
        wait_shown(chrome, "count", "4")
    print(f"\n{asked} requests over HTTP/2 while the machine was restored, all answered")


def test_clients_that_keep_their_connection_are_dropped_once_at_most(daemon: Daemon, root: Path) -> None:
    context = counting.trusting(root)
    save(daemon)
    rounds = 3
    waits = []
    with asking(context) as asked, ThreadPoolExecutor() as threads:
        for _ in range(rounds):
            websocket = WebSocket(context, "/socket")
            assert (websocket.status, websocket.text()) == (101, "0")
            cut = threads.submit(last_text, websocket)
            before = len(asked.statuses)
            restoring = threads.submit(restore, daemon)
            began = cut.result(kept_alive.LIMIT)
            again = WebSocket(context, "/socket")  # at once, in the middle of the swap
            assert (again.status, again.text()) == (101, "0")
            waits.append(time.monotonic() - began)
            again.close()
            restoring.result()
            assert len(asked.statuses) > before
    assert set(asked.statuses) == {200}
    assert asked.connects <= 1 + rounds
    seen = f"{len(asked.statuses)} answers on {asked.connects} connections"
    print(f"\n{rounds} restores: {seen}; WebSockets were back within {max(waits):.2f} s")
