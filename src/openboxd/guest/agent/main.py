"""The agent's program: finds its port and serves the host."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

from openboxd.guest.agent import api_doors, clock, keys
from openboxd.guest.agent.datagrams import Datagrams
from openboxd.guest.agent.dial import Dial
from openboxd.guest.agent.execs import Exec, Executor
from openboxd.guest.agent.files import Get, Ls, Put
from openboxd.guest.agent.hostkey import HostKey
from openboxd.guest.agent.identity import Identity
from openboxd.guest.agent.link import Link
from openboxd.guest.agent.listeners import Listeners
from openboxd.guest.agent.loop import Loop
from openboxd.guest.agent.port import FilePort, ListeningPort, Port, open_virtio_port
from openboxd.guest.agent.stream import Refusal, Stream
from openboxd.guest.agent.trees import Copy, Delete, Mkdir, Rename
from openboxd.guest.agent.users import Users

VERSION = 2  # 2: takes an identity
MAX_FILES = 65536
USAGE = (
    "usage: boxd-agent [--fd N | --socket PATH] [--user NAME] [--home DIR] [--ssh DIR] [--keys SOCKET]"
    " [--gateway HOST:PORT] [--cli SOCKET] [--no-clock]"
)
_FILE_REQUESTS = {
    "put": Put,
    "get": Get,
    "list": Ls,
    "mkdir": Mkdir,
    "rename": Rename,
    "delete": Delete,
    "copy": Copy,
}
_NETWORK_REQUESTS = {"dial": Dial, "datagrams": Datagrams, "listeners": Listeners}


class Agent:
    """Answers the host's requests."""

    def __init__(self, users: Users, identity: Identity, set_clock: bool) -> None:
        self._users = users
        self._executor = Executor(users)
        self._identity = identity
        self._set_clock = set_clock
        self.doors: api_doors.Doors | None = None

    def open(self, link: Link, ident: int, request: dict[str, Any]) -> Stream:
        """The stream for a request of the host."""
        name = request.get("op")
        if name == "exec":
            return Exec(link, ident, request, self._executor)
        if name in _NETWORK_REQUESTS:
            return _NETWORK_REQUESTS[name](link, ident, request)
        kind = _FILE_REQUESTS.get(str(name))
        if kind is None:
            raise Refusal("unknown", f"the machine's agent does not know the request '{name}'; start it anew")
        return kind(link, ident, request, self._users)

    def greeting(self) -> dict[str, Any]:
        return {"version": VERSION, "boot": _boot_id(), "pid": os.getpid()}

    def hello(self, link: Link, message: dict[str, Any]) -> None:
        if self._set_clock:
            clock.reseed(bytes.fromhex(message["seed"]))
            clock.set_from_greeting(int(message["now"]))
        self._executor.epoch(str(message["run"]))
        self._executor.hints = api_doors.hints(message.get("identity") or {})
        self._identity.hear(link, message.get("identity"))
        if self.doors is not None:
            self.doors.ask()

    def control(self, message: dict[str, Any]) -> None:
        if self._set_clock and "shift" in message:
            clock.shift(int(message["shift"]))


def main(arguments: list[str] | None = None) -> None:
    """Serve until killed."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    os.umask(0o022)
    os.chdir("/")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
    users = Users(options.get("--user", "boxd"), options.get("--home", ""))
    host_key = HostKey(options["--ssh"], "") if "--ssh" in options else HostKey()
    is_system = "--no-clock" not in options  # else a test's agent: clock and identity are the host's
    agent = Agent(users, Identity(host_key, takes=is_system), is_system)
    loop = Loop()
    link = Link(loop, _port(options), agent, agent.open)
    keys.KeyDoor(link, options.get("--keys", keys.SOCKET))
    agent.doors = api_doors.Doors(
        link, options.get("--gateway", api_doors.GATEWAY), options.get("--cli", api_doors.CLI)
    )
    link.start()
    loop.run(link.turn)


def _port(options: dict[str, str]) -> Port:
    if "--fd" in options:
        return FilePort(int(options["--fd"]), ends=True)
    if "--socket" in options:
        return ListeningPort(options["--socket"])
    return open_virtio_port()


def _options(arguments: list[str]) -> dict[str, str]:
    """By hand: argparse takes longer to import than the rest of the agent."""
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name = rest.pop(0)
        if name == "--no-clock":
            options[name] = ""
        elif name in ("--fd", "--socket", "--user", "--home", "--ssh", "--keys", "--gateway", "--cli") and rest:
            options[name] = rest.pop(0)
        else:
            sys.exit(USAGE)
    return options


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
