"""The network for root: a bridge with the gateway's address, a tap for each run, NAT out.

    guest ── tap of its run ──┐ (apart: ports of the bridge do not see each other)
                              bridge 10.213.0.1/16 ── rules ── NAT ── the host's way out

A tap lives as long as the process that holds it, so a dead run leaves none. At a restore the new run has its own: it
joins the bridge in the moment of the swap, with the address and MAC that the old one had.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from openboxd.errors import BoxdError, HostUnfit, OperationFailed
from openboxd.host import programs
from openboxd.model import Finding, Machine
from openboxd.network import rules
from openboxd.network.addresses import GATEWAY, GATEWAY_MAC, NETWORK, RESOLVER, host_resolver, kernel_words
from openboxd.network.commands import ip, ip_json, nft
from openboxd.network.permissions import Machines, Permissions, nobody
from openboxd.network.tap import open_tap
from openboxd.ports import NetworkLink

_TOPIC = "network"


class BridgeNetwork:
    """Implements ports.Network. `home` is 8 hex characters that stand for the daemon's home, `machines` tells all
    that there are."""

    def __init__(self, home: str, resolver: str | None = None, machines: Machines = nobody) -> None:
        self._names = rules.names(home)
        self._resolver = host_resolver() if resolver is None else resolver
        self._permissions = Permissions(self._names, self._resolver, machines)
        self._changing = asyncio.Lock()
        self._is_up = False
        self._ports: dict[str, rules.Port] = {}  # of the present runs, by their machines' addresses

    @property
    def bridge(self) -> str:
        """Name of the bridge."""
        return self._names.bridge

    async def check(self) -> Sequence[Finding]:
        """See ports.Network."""
        for program in ("ip", "nft"):
            if programs.locate(program) is None:
                return [
                    Finding(
                        _TOPIC, "missing", f"{program} is not installed", f"apt install {programs.PACKAGES[program]}"
                    )
                ]
        try:
            await self._check_overlap()
        except BoxdError as error:
            return [Finding(_TOPIC, "missing", error.message)]
        if not self._resolver:
            text = "machines have a way out but no DNS: the host's only resolver is on its own loopback"
            return [Finding(_TOPIC, "warning", text, "name another resolver in /etc/resolv.conf")]
        return [Finding(_TOPIC, "ok", f"bridge {self.bridge}, machines apart, NAT out, DNS by {self._resolver}")]

    async def open(self, machines: Sequence[Machine]) -> int:
        """See ports.Network. While no machine runs nothing of the host is changed."""
        for finding in await self.check():
            if finding.verdict == "missing":
                raise HostUnfit(f"{finding.detail}; {finding.remedy}" if finding.remedy else finding.detail)
        running = [machine for machine in machines if machine.run_id]
        if not running:
            await self.close()  # what a killed daemon of this home has left
            return 0
        async with self._changing:
            await self._set_up(running)
        return 0

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        """See ports.Network."""
        async with self._changing:
            if not self._is_up:
                await self._set_up([])
        try:
            tap = open_tap(self._names.tap(run_id))
        except OSError as error:
            hint = "; load the driver with: modprobe tun" if error.errno in (errno.ENOENT, errno.ENXIO) else ""
            text = f"machine '{machine.name}' could not be given a network device: {error.strerror}{hint}"
            raise OperationFailed(text) from error
        resolver = RESOLVER if self._resolver else ""
        words = kernel_words(machine.address, resolver)
        return NetworkLink(NETWORK.prefixlen, GATEWAY, resolver, tap=tap, words=words)

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None:
        """See ports.Network."""
        port = self._port(machine, run_id)
        async with self._changing:
            before = self._ports.get(port.address)
            if before != port:
                await self._permissions.apply(rules.add(self._names, port, before))
                self._ports[port.address] = port
            await ip(self._join(port))

    def why_not(self, machine: Machine) -> str:
        """See ports.Network."""
        return ""

    async def refresh(self, machine: Machine) -> None:
        """See ports.Network."""
        async with self._changing:
            if self._is_up:
                await self._permissions.apply()

    async def release(self, machine: Machine, run_id: str) -> None:
        """See ports.Network."""
        async with self._changing:
            if not self._is_up:
                return
            port, script = self._port(machine, run_id), ""
            if self._ports.get(port.address) == port:
                del self._ports[port.address]
                script = rules.retire(self._names, port)
            await nft(script + rules.drop(self._names, port))

    async def close(self) -> None:
        """See ports.Network."""
        async with self._changing:
            self._is_up = False
            await self._permissions.close()
            await nft(rules.remove(self._names))
            if await self._exists(self.bridge):
                await ip([f"link delete {self.bridge}"])

    async def remove_leftovers(self) -> None:
        """Remove what an earlier daemon of this home has left; harmless if that is nothing, and then without a trace.

        Raises OperationFailed, HostUnfit."""
        if await self._exists(self.bridge):
            await self.close()

    # -- parts
    async def _set_up(self, running: Sequence[Machine]) -> None:
        """The bridge and its rules, with the devices of those runs that have one. Raises HostUnfit."""
        await self._check_overlap()
        try:
            await self._make_bridge()
            present = await self._taps()
            ours = {self._names.tap(machine.run_id): machine for machine in running}
            ports = [self._port(machine, machine.run_id) for tap, machine in ours.items() if tap in present]
            policy, learned = await self._permissions.resume()
            await nft(rules.set_up(self._names, ports, self._resolver, policy, learned))
            self._ports = {port.address: port for port in ports}
            await self._permissions.listen()
            for port in ports:
                await ip(self._join(port))
        except (OSError, OperationFailed) as error:
            raise HostUnfit(f"the machines' network could not be set up: {error}") from error
        self._is_up = True

    def _port(self, machine: Machine, run_id: str) -> rules.Port:
        return rules.Port(self._names.tap(run_id), machine.mac, machine.address)

    def _join(self, port: rules.Port) -> list[str]:
        """The host knows the address without asking: nobody can answer in another's name, and nobody waits."""
        return [
            f"link set dev {port.tap} addrgenmode none",
            f"link set dev {port.tap} master {self.bridge}",
            f"link set dev {port.tap} type bridge_slave isolated on",
            f"link set dev {port.tap} up",
            f"neigh replace {port.address} lladdr {port.mac} dev {self.bridge} nud permanent",
        ]

    async def _make_bridge(self) -> None:
        if not await self._exists(self.bridge):
            await ip([f"link add {self.bridge} type bridge stp_state 0 forward_delay 0"])
        await ip(
            [
                # A bridge without one takes the lowest of its ports', which changes when they come and go.
                f"link set dev {self.bridge} address {GATEWAY_MAC} addrgenmode none",
                f"link set dev {self.bridge} up",
                f"address replace {GATEWAY}/{NETWORK.prefixlen} dev {self.bridge}",
                f"address replace {RESOLVER}/{NETWORK.prefixlen} dev {self.bridge}",
            ]
        )
        # Packets for the world pass through the host. The switch stays on when we go: others may count on it by then.
        _write("/proc/sys/net/ipv4/ip_forward", "1")
        # Machines that may reach each other do so by way of the host, which answers in the name of all.
        _write(f"/proc/sys/net/ipv4/conf/{self.bridge}/proxy_arp_pvlan", "1")
        _write(f"/proc/sys/net/ipv4/neigh/{self.bridge}/proxy_delay", "0")

    async def _taps(self) -> set[str]:
        return {
            link["ifname"] for link in await ip_json("link", "show") if link["ifname"].startswith(self._names.prefix)
        }

    async def _exists(self, device: str) -> bool:
        return any(link["ifname"] == device for link in await ip_json("link", "show"))

    async def _check_overlap(self) -> None:
        """Raises HostUnfit if the machines' addresses are somebody else's on this host."""
        for route in await ip_json("-4", "route", "show", "root", str(NETWORK)):
            if route.get("dev") != self.bridge:
                device = route.get("dev")
                raise HostUnfit(
                    f"the machines' addresses {NETWORK} are in use on this host already (device {device}); "
                    "another boxd daemon may run here: use BOXD_NETWORK=user for one of them, or remove the device"
                )


def _write(path: str, value: str) -> None:
    file = Path(path)
    if file.read_text().strip() != value:
        descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
