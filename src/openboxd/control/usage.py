"""Use-cases of usage: what machines used within a period, also those that are gone, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from openboxd.control.access import Act
from openboxd.control.base import Base
from openboxd.errors import InvalidArgument, NotFound, machine_not_found
from openboxd.model import GIB, Caller, Machine, MachineStatus, Org, Rates, UsageSpan, Used

HOUR_MS = 3_600_000
DAY = 86_400
DEFAULT_PERIOD = 28 * DAY
LONGEST_PERIOD = 366 * DAY
"""Seconds."""


@dataclass(frozen=True)
class MachineUsage:
    """What one machine used, what that costs in millionths, and whether nothing more can come to it."""

    machine: Machine
    used: Used
    cost_micro: int
    complete: bool


@dataclass(frozen=True)
class UsageReport:
    """What machines used between two moments (epoch seconds), the most expensive first."""

    since: int
    until: int
    rates: Rates
    machines: Sequence[MachineUsage]
    org: Org | None = None

    @property
    def cost_micro(self) -> int:
        """All together, in millionths."""
        return sum(found.cost_micro for found in self.machines)


class Accounting(Base):
    """See the module."""

    def machine_usage(self, caller: Caller, ref: str, since: int = 0, until: int = 0, org: str = "") -> UsageReport:
        """Of one machine, by id or name, also of one that is gone; its whole life unless told otherwise.

        Raises: NotFound; InvalidArgument for a period that is none, or several machines of that name that are gone;
            PermissionDenied."""
        self._access.person(caller, "see what machines used")
        machine = self._present(caller, ref) or self._gone(caller, ref, org)
        until = until or int(time.time()) + 1  # the second that runs is in it
        since = since or max(machine.created_at, until - LONGEST_PERIOD)
        return self._report([machine], since, until)

    def usage(self, caller: Caller, since: int = 0, until: int = 0, org: str = "") -> UsageReport:
        """Of all machines of the caller, or (for its owner and admins) of an organization."""
        self._access.person(caller, "see what machines used")
        found = self._access.org(caller, org, manage=True)[0] if org else None
        until = until or int(time.time()) + 1  # the second that runs is in it
        since = since or until - DEFAULT_PERIOD
        machines = self._store.machines_of(org_id=found.id) if found else self._store.machines_of(caller.user_id)
        return self._report(machines, since, until, found)

    def _present(self, caller: Caller, ref: str) -> Machine | None:
        try:
            return self.machine(caller, ref, Act.MANAGE)
        except NotFound:
            return None

    def _gone(self, caller: Caller, ref: str, org: str) -> Machine:
        """A destroyed machine of the caller, or of an organization that they manage."""
        if org:
            machines = self._store.machines_of(org_id=self._access.org(caller, org, manage=True)[0].id)
        else:
            machines = self._store.machines_of(caller.user_id)
        found = [m for m in machines if m.status is MachineStatus.DESTROYED and ref in (m.id, m.name)]
        if not found:
            raise machine_not_found(ref)
        if len(found) > 1:
            ids = ", ".join(machine.id for machine in found)
            raise InvalidArgument(f"several machines that are gone were named '{ref}': {ids}; give an id")
        return found[0]

    def _report(self, machines: Sequence[Machine], since: int, until: int, org: Org | None = None) -> UsageReport:
        if not 0 <= since < until or until - since > LONGEST_PERIOD:
            raise InvalidArgument("a period begins before it ends and spans at most 366 days")
        start, end, now = 1000 * since, 1000 * until, round(1000 * time.time())
        spans = self._store.usage_spans([machine.id for machine in machines], start, end)
        rates, told = self._drivers.settings.rates, []
        for machine in machines:
            mine = [until_now(span, now) for span in spans if span.machine_id == machine.id]
            if mine or machine.status is not MachineStatus.DESTROYED:
                used = total(mine, start, end)
                complete = end <= now or machine.status is MachineStatus.DESTROYED
                told.append(MachineUsage(machine, used, cost(used, rates), complete))
        told.sort(key=lambda found: (-found.cost_micro, found.machine.name))
        return UsageReport(since, until, rates, told, org)


def until_now(span: UsageSpan, now_ms: int) -> UsageSpan:
    """A span that goes on has gone on until now, since who asks is the daemon that sees it."""
    return replace(span, end_ms=max(span.end_ms, now_ms)) if span.is_open else span


def total(spans: Sequence[UsageSpan], since_ms: int, until_ms: int) -> Used:
    """What spans of one machine, oldest first, add up to within a period."""
    seconds = dict.fromkeys(("running", "standby", "hibernated", "stopped"), 0.0)
    vcpu = memory = disk = checkpoints = 0.0
    for span in spans:
        hours = max(0, min(span.end_ms, until_ms) - max(span.start_ms, since_ms)) / HOUR_MS
        seconds[span.state] += 3600 * hours
        vcpu += hours * span.size.vcpu if span.state == "running" else 0
        memory += hours * span.size.memory_bytes / GIB if span.state in ("running", "standby") else 0
        disk += hours * span.disk_bytes / GIB
        checkpoints += hours * span.checkpoint_bytes / GIB
    last = spans[-1] if spans and spans[-1].is_open else None
    return Used(
        seconds=seconds,
        vcpu_hours=vcpu,
        memory_gib_hours=memory,
        disk_gib_hours=disk,
        checkpoint_gib_hours=checkpoints,
        disk_bytes=last.disk_bytes if last else 0,
        checkpoint_bytes=last.checkpoint_bytes if last else 0,
    )


def cost(used: Used, rates: Rates) -> int:
    """In millionths of the currency; bytes of checkpoints cost what those of disks do."""
    disk = used.disk_gib_hours + used.checkpoint_gib_hours
    return round(used.vcpu_hours * rates.vcpu + used.memory_gib_hours * rates.memory_gib + disk * rates.disk_gib)
