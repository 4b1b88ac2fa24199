"""The network for everybody else: QEMU's own, which needs no rights.

It connects in the name of the process, so a guest would reach whatever the host's user can, its loopback included. So
QEMU gets a network namespace of its own, and pasta connects that with the world: QEMU's "host" is then an empty
loopback. Where that cannot be had, the network leads nowhere.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from openboxd.errors import BoxdError
from openboxd.host import pidfd, programs
from openboxd.host.process import start_detached
from openboxd.model import Finding, Machine
from openboxd.network import rules
from openboxd.network.addresses import GATEWAY, NETWORK, RESOLVER, kernel_words
from openboxd.network.commands import nft_within
from openboxd.network.policy import is_range
from openboxd.network.tap import DEVICE
from openboxd.ports import NetworkLink

PASTA = "pasta"
_TOPIC = "network"
_GONE = 5.0


APART = ("unshare", "--user", "--map-current-user", "--net")
"""How a run is started in a network of its own: as the same process, with the same rights to files."""


class UserNetwork:
    """Implements ports.Network. `run_dir` is where the directories of runs lie."""

    def __init__(self, run_dir: Path, pasta: str = PASTA) -> None:
        self._run_dir = run_dir
        self._pasta = pasta
        self._leads_out: bool | None = None

    async def check(self) -> Sequence[Finding]:
        """See ports.Network."""
        if await self._can_lead_out():
            return [Finding(_TOPIC, "ok", "QEMU's user network in a namespace of its own, out through pasta")]
        text, remedy = self._obstacle()
        return [Finding(_TOPIC, "warning", f"machines reach nothing outside: {text}", remedy)]

    def _obstacle(self) -> tuple[str, str]:
        """Why there is no way out, and the remedy."""
        if programs.locate(self._pasta) is None:
            return "pasta is not installed", "apt install passt"
        if os.geteuid() == 0:
            return "pasta does not serve root", "use BOXD_NETWORK=bridge"
        if not os.access(DEVICE, os.R_OK | os.W_OK):
            return f"this user may not open {DEVICE}", f"chmod 666 {DEVICE}, as Debian has it"
        return "this user may not make network namespaces", "sysctl user.max_user_namespaces must not be 0"

    async def open(self, machines: Sequence[Machine]) -> int:
        """See ports.Network: ends every pasta whose run is no machine's."""
        known = {str(self._pidfile(machine.run_id)) for machine in machines if machine.run_id}
        return await self._end(lambda pidfile: pidfile.startswith(f"{self._run_dir}/") and pidfile not in known)

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        """See ports.Network."""
        out = await self._can_lead_out()
        resolver = RESOLVER if out else ""
        words = kernel_words(machine.address, resolver)
        around = [programs.find(APART[0]), *APART[1:]] if out else ()
        return NetworkLink(NETWORK.prefixlen, GATEWAY, resolver, restricted=not out, around=around, words=words)

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None:
        """See ports.Network."""
        if not await self._can_lead_out() or not _is_apart(pid) or _has_route(pid):
            return
        if machine.egress_allow:  # before there is a way out; without it there is none
            await nft_within(pid, rules.lone(machine.egress_allow))
        pidfile = self._pidfile(run_id)
        # -T and -U none: by default the host's own loopback ports would be put into the namespace.
        options = ["--config-net", "--no-map-gw", "-4", "-t", "none", "-u", "none", "-T", "none", "-U", "none"]
        log_file = pidfile.with_suffix(".log")
        argv = [
            programs.find(self._pasta),
            "-f",
            *options,
            "--pid",
            str(pidfile),
            "--log-file",
            str(log_file),
            str(pid),
        ]
        # It is not waited for: a tenth of a second, in which a restore would stand still.
        start_detached(argv, log=pidfile.with_suffix(".err"))

    def why_not(self, machine: Machine) -> str:
        """See ports.Network."""
        remedy = "run the daemon as root with BOXD_NETWORK=bridge"
        if machine.networks:
            return f"machines of this host have QEMU's user network, in which each is alone; {remedy}"
        if not all(is_range(entry) for entry in machine.egress_allow):
            return f"QEMU's user network, which machines of this host have, knows addresses and no names; {remedy}"
        if machine.egress_allow and programs.locate("nft") is None:
            return "nft is not installed; apt install nftables"
        return ""

    async def refresh(self, machine: Machine) -> None:
        """See ports.Network. The process that pasta was started for is its last argument."""
        own = str(self._pidfile(machine.run_id))
        pids = set[int]()

        def note(argv: Sequence[str]) -> bool:
            if machine.run_id and self._is_pasta(argv, lambda pidfile: pidfile == own):
                pids.add(int(argv[-1]))
            return False

        await asyncio.to_thread(pidfd.find, note)
        for pid in pids:
            if _is_apart(pid):
                await nft_within(pid, rules.lone(machine.egress_allow))

    async def release(self, machine: Machine, run_id: str) -> None:
        """See ports.Network."""
        own = str(self._pidfile(run_id))
        await self._end(lambda pidfile: pidfile == own)
        for suffix in (".pid", ".log", ".err"):
            self._pidfile(run_id).with_suffix(suffix).unlink(missing_ok=True)

    async def close(self) -> None:
        """See ports.Network."""
        await self._end(lambda pidfile: pidfile.startswith(f"{self._run_dir}/"))

    # -- parts
    def _pidfile(self, run_id: str) -> Path:
        return self._run_dir / f"{run_id}.pasta.pid"

    async def _can_lead_out(self) -> bool:
        """Whether this host lets us make a namespace and has pasta; found out once. Started by root, pasta becomes
        another user, who may not enter the namespace."""
        if self._leads_out is None:
            found = programs.locate(self._pasta) is not None and os.access(DEVICE, os.R_OK | os.W_OK)
            self._leads_out = found and os.geteuid() != 0 and await _can_unshare()
        return self._leads_out

    async def _end(self, match: Callable[[str], bool]) -> int:
        """End pasta processes, known by the pidfile they were given (2023's does not follow its QEMU)."""

        found = await asyncio.to_thread(pidfd.find, lambda argv: self._is_pasta(argv, match))
        async with asyncio.timeout(_GONE):
            await pidfd.kill_all(found)
        return len(found)

    @staticmethod
    def _is_pasta(argv: Sequence[str], match: Callable[[str], bool]) -> bool:
        return "--pid" in argv[:-1] and Path(argv[0]).name.startswith(PASTA) and match(argv[argv.index("--pid") + 1])


async def _can_unshare() -> bool:
    try:
        await asyncio.to_thread(programs.run, [*APART, "true"])
    except BoxdError:
        return False
    return True


def _is_apart(pid: int) -> bool:
    """Whether a process has another network than we have."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino != Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return False


def _has_route(pid: int) -> bool:
    """Whether pasta has set the process's network up. The file has a line of headings."""
    try:
        return len(Path(f"/proc/{pid}/net/route").read_text().splitlines()) > 1
    except OSError:
        return False
