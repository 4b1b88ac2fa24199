"""A plan as QEMU's command line. Pure, one small function per part; compared with `tests/qemu/golden`."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openboxd.model import MIB
from openboxd.ports import Plan, RunSpec
from openboxd.qemu.plan import ram_bytes

SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


@dataclass(frozen=True)
class Handles:
    """What belongs to one start only.

    Attributes:
        monitor, saver_monitor, agent: descriptors of listening sockets.
        pidfile: where QEMU writes its pid.
        generation: fresh UUID; a new one tells the guest that it may be a copy.
    """

    monitor: int
    saver_monitor: int
    agent: int
    pidfile: Path
    generation: str


def arguments(program: str, spec: RunSpec, plan: Plan, handles: Handles, memory: Path | None = None) -> list[str]:
    """The whole command line; with `memory`, one that waits paused for the state that belongs to that RAM."""
    return [
        *(spec.link.around if spec.link else ()),
        program,
        *_machine(spec, plan),
        *_memory(plan, memory),
        *_boot(spec),
        *_monitors(handles),
        *_console(spec),
        *_disk(spec),
        *_netdev(spec),
        *["-chardev", f"socket,id=agent,fd={handles.agent},server=on,wait=off"],
        *_devices(spec, plan, handles),
        *_process(handles),
        *(["-incoming", "defer", "-S"] if memory else []),
    ]


def _machine(spec: RunSpec, plan: Plan) -> list[str]:
    # Off: what no guest of ours needs and a hostile one could poke at; sleep states, from which only QEMU's user
    # could wake the guest; dumps of guest memory.
    parts = "memory-backend=mem,dump-guest-core=off,vmport=off,usb=off,sata=off,smbus=off"
    return [
        *["-name", f"guest={_comma(spec.name)},debug-threads=on"],
        *["-machine", f"{plan['machine']},{parts}"],
        *["-accel", "tcg,thread=multi" if plan["accel"] == "tcg" else plan["accel"]],
        *["-cpu", plan["cpu"]],
        *["-smp", f"cpus={plan['vcpus']}"],
        *["-global", "ICH9-LPC.disable_s3=1", "-global", "ICH9-LPC.disable_s4=1"],
    ]


def _memory(plan: Plan, memory: Path | None) -> list[str]:
    """RAM: plain memory, or a private mapping of a capture's image, whose file is opened read-only."""
    backend: dict[str, Any] = {"qom-type": "memory-backend-ram", "id": "mem", "size": ram_bytes(plan)}
    if memory is not None:
        backend["qom-type"] = "memory-backend-file"
        backend |= {"mem-path": str(memory), "share": False, "readonly": True, "rom": "off"}
    return ["-m", f"{ram_bytes(plan) // MIB}M", "-object", _json(backend | {"dump": False})]


def _boot(spec: RunSpec) -> list[str]:
    words = [spec.cmdline, *([spec.link.words] if spec.link and spec.link.words else [])]
    return ["-kernel", str(spec.kernel), "-initrd", str(spec.initrd), "-append", " ".join(words)]


def _monitors(handles: Handles) -> list[str]:
    result = []
    for name, descriptor in (("qmp", handles.monitor), ("saver", handles.saver_monitor)):
        result += ["-chardev", f"socket,id={name},fd={descriptor},server=on,wait=off"]
        result += ["-mon", f"chardev={name},mode=control"]
    return result


def _console(spec: RunSpec) -> list[str]:
    path = _comma(str(spec.console))
    return ["-chardev", f"file,id=console,path={path},append=on", "-serial", "chardev:console"]


def _disk(spec: RunSpec) -> list[str]:
    # Written through the host's page cache; a flush of the guest becomes a fdatasync of the file.
    file = {"driver": "file", "filename": str(spec.disk), "discard": "unmap"}
    cache = {"direct": False, "no-flush": False}
    return [
        "-blockdev",
        _json({"driver": "raw", "node-name": "disk", "discard": "unmap", "cache": cache, "file": file}),
    ]


def _netdev(spec: RunSpec) -> list[str]:
    """What is behind the card: a tap, or QEMU's own network; without a link one that leads nowhere.

    QEMU's own network has a section in a capture's state, which does not load where there is none. So a run with a
    tap has one, too, with nothing plugged in: a capture of either kind loads with either.
    """
    link = spec.link
    if link is not None and link.tap >= 0:
        tap = {"type": "tap", "id": "net", "fd": str(link.tap), "vhost": False}
        return ["-netdev", _json(tap), "-netdev", _json(_user_network(spec) | {"id": "unplugged", "restrict": True})]
    return ["-netdev", _json(_user_network(spec))]


def _user_network(spec: RunSpec) -> dict[str, Any]:
    link = spec.link
    prefix = link.prefix if link is not None else 24
    network = ipaddress.ip_network(f"{spec.address}/{prefix}", strict=False)
    gateway, resolver = _others(network, spec.address)
    if link is not None:
        gateway, resolver = link.gateway, link.resolver or resolver
    net = {
        "type": "user",
        "id": "net",
        "restrict": link is None or link.restricted,
        "ipv6": False,
        "net": str(network),
    }
    return net | {"host": gateway, "dns": resolver, "dhcpstart": spec.address}


def _others(network: ipaddress.IPv4Network | ipaddress.IPv6Network, address: str) -> tuple[str, str]:
    """Gateway and resolver: the first and the last addresses that are not the guest's own."""
    gateway, resolver = (
        next(str(network[at]) for at in choices if str(network[at]) != address) for choices in ((1, 2), (-2, -3))
    )
    return gateway, resolver


def _devices(spec: RunSpec, plan: Plan, handles: Handles) -> list[str]:
    own: Mapping[str, dict[str, Any]] = {
        "disk": {"drive": "disk", "write-cache": "on"},
        "net": {"netdev": "net", "mac": spec.mac, "romfile": ""},
        "agent": {"chardev": "agent"},
        "generation": {"guid": handles.generation},
        "plain": {},
    }
    result = []
    for device in plan["devices"]:
        planned = {key: value for key, value in device.items() if key != "role"}
        result += ["-device", _json(planned | own[device["role"]])]
    return result


def _process(handles: Handles) -> list[str]:
    return [
        *["-nodefaults", "-no-user-config", "-display", "none"],
        *["-sandbox", SANDBOX],
        *["-msg", "timestamp=on"],
        *["-pidfile", str(handles.pidfile)],
    ]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _comma(text: str) -> str:
    """A text inside QEMU's comma-separated options."""
    return text.replace(",", ",,")
