"""A real browser: Debian's Chromium without a screen, that trusts one root certificate because it was told to.

Chromium takes what a user trusts from a database in their home, so it gets a home of its own. It finds
`*.localhost` on loopback by itself, as every browser does.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.lab import run

LIMIT = 60.0
PROGRAM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
SWITCHES = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
"""No sandbox: the tests are root, and it refuses to be one with it."""


@contextmanager
def browser(home: Path, root: Path) -> Iterator[Chrome]:
    """A browser that trusts the certificate in `root`, with `home` for its own.

    It is a failure, not a reason to skip, where there is none: what only a browser shows would go unseen.
    """
    absent = [name for name in (str(PROGRAM), str(DRIVER), "certutil") if shutil.which(name) is None]
    assert not absent, f"{', '.join(absent)}: not installed; run 'scripts/setup --dev', on Debian"
    database = home / ".pki/nssdb"
    database.mkdir(parents=True)
    run("certutil", "-N", "--empty-password", "-d", f"sql:{database}")
    run("certutil", "-A", "-d", f"sql:{database}", "-t", "C,,", "-n", "boxd", "-i", root)
    options = ChromeOptions()
    options.binary_location = str(PROGRAM)
    for switch in (*SWITCHES, f"--user-data-dir={home / 'profile'}"):
        options.add_argument(switch)
    made = Chrome(options, Service(str(DRIVER), env=os.environ | {"HOME": str(home)}))
    try:
        made.set_page_load_timeout(LIMIT)
        yield made
    finally:
        made.quit()


def shown(chrome: Chrome, element: str) -> str:
    """The text of an element."""
    return str(chrome.find_element("id", element).text)


def wait_shown(chrome: Chrome, element: str, text: str) -> None:
    """Until the page shows this text there by itself."""
    deadline = time.monotonic() + LIMIT
    while (found := shown(chrome, element)) != text:
        assert time.monotonic() < deadline, f"the page shows '{found}' for '{element}', not '{text}'"
        time.sleep(0.05)
