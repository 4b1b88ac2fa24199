"""`boxd machine rename`, `resize`, `label`, `config` and `logs`."""

from __future__ import annotations

import pytest


async def test_rename(boxd, web):
    done = await boxd("machine", "rename", "web", "www2", "--json")
    assert (done.status, done.json) == (0, {"name": "www2", "id": web.id, "status": "running"})
    gone = await boxd("machine", "get", "web")
    assert (gone.status, gone.err) == (1, "error: VM 'web' not found\n")


async def test_resize(boxd, web):
    done = await boxd("machine", "resize", "web", "--vcpu", "1", "--memory", "1G", "--json")
    assert done.json == {"name": "web", "vcpu": 1, "memory_bytes": 2**30, "rebooted": True}
    assert (await boxd("machine", "resize", "web")).status == 2


async def test_label(boxd, web):
    done = await boxd("machine", "label", "web", "env=prod", "tier=a", "--json")
    assert done.json == {"env": "prod", "tier": "a"}
    assert (await boxd("machine", "label", "web", "tier-", "env=test")).text == "env=test\n"
    assert (await boxd("machine", "label", "web")).text == "env=test\n"
    assert [vm["name"] for vm in (await boxd("ls", "-l", "env=test", "--json")).json] == ["web"]


@pytest.mark.parametrize("edit", ["plain", "=x"])
async def test_an_edit_that_is_none_is_wrong_usage(boxd, web, edit):
    assert (await boxd("machine", "label", "web", edit)).status == 2


async def test_config(boxd, web):
    done = await boxd("machine", "config", "set", "web", "delete-after", "0 18 * * *", "--json")
    assert done.json["value"].endswith("T18:00:00Z")
    assert (await boxd("machine", "get", "web", "--json")).json["delete_at"] == done.json["value"]
    assert (await boxd("machine", "config", "set", "web", "delete-after", "0")).text.endswith("never\n")
    assert (await boxd("machine", "config", "set", "web", "bot-protection", "maybe")).status == 1
    assert (await boxd("machine", "config", "set", "web", "idle.ignore-outbound", "perhaps")).status == 2
    assert (await boxd("machine", "config", "set", "web", "auto-hibernate.timeout", "0")).status == 0
    assert (await boxd("machine", "config", "set", "web", "auto-suspend.timeout", "30")).status == 0
    assert (await boxd("machine", "get", "web", "--json")).json["auto_suspend"] == "30s"


async def test_config_get_shows_what_config_set_set(boxd, web):
    wanted = {
        "delete-after": "0 18 * * *",
        "idle.ignore-outbound": "true",
        "bot-protection": "on",
        "auto-suspend.timeout": "30",
        "auto-hibernate.timeout": "900",
    }
    fresh = (await boxd("machine", "config", "get", "web", "--json")).json["settings"]
    assert (fresh.keys(), fresh["delete-after"], fresh["auto-suspend.timeout"]) == (wanted.keys(), "never", "0")
    for key, value in wanted.items():
        assert (await boxd("machine", "config", "set", "web", key, value)).status == 0
        assert (await boxd("machine", "config", "get", "web", key)).text == f"{value}\n"
    assert (await boxd("machine", "config", "get", "web", "--json")).json == {"name": "web", "settings": wanted}
    one = await boxd("machine", "config", "get", "web", "auto-suspend.timeout", "--json")
    assert one.json == {"name": "web", "key": "auto-suspend.timeout", "value": "30"}
    shown = (await boxd("machine", "config", "get", "web")).text.splitlines()
    assert [line.split(maxsplit=1) for line in shown] == [[f"{key}:", value] for key, value in wanted.items()]
    assert (await boxd("machine", "config", "get", "web", "no-such-key")).status == 2
    assert (await boxd("machine", "config", "get", "ghost")).status == 1


async def test_logs_are_raw_for_programs_and_tame_on_a_terminal(boxd, web):
    assert (await boxd("machine", "logs", "web")).out == b"Linux version 6.12\r\n\x1b[2J\xff\n"
    status, shown = await boxd.on_terminal("machine", "logs", "web", reply=b"", until=b"Linux")
    assert status == 0
    assert b"\x1b" not in shown and b"[2J" in shown
