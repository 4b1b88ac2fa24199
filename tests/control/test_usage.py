"""Reports of usage: what spans add up to within a period, what that costs, and who is told."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openboxd.control.usage import DAY, cost, total
from openboxd.errors import InvalidArgument, NotFound, PermissionDenied
from openboxd.model import GIB, Machine, Rates, Size, UsageSpan, Used
from openboxd.settings import load
from tests.control.conftest import People
from tests.control.test_access import make

HOUR = 3_600_000
BOX = Size(2, 4 * GIB)
STATES = ("running", "standby", "hibernated", "stopped")


def span(
    state: str, start: float, end: float, disk: int = 0, checkpoints: int = 0, *, is_open: bool = False
) -> UsageSpan:
    """A span in hours and GiB."""
    return UsageSpan("m", state, BOX, disk * GIB, checkpoints * GIB, round(start * HOUR), round(end * HOUR), is_open)


def test_each_state_takes_something_else() -> None:
    spans = [
        span("running", 0, 2, 1),
        span("standby", 2, 5, 1, 2),
        span("hibernated", 5, 9, 1, 2),
        span("stopped", 9, 10, 3, is_open=True),
    ]
    used = total(spans, 0, 10 * HOUR)
    assert used.seconds == {"running": 7200, "standby": 10800, "hibernated": 14400, "stopped": 3600}
    assert (used.vcpu_hours, used.memory_gib_hours) == (4, 20)
    assert (used.disk_gib_hours, used.checkpoint_gib_hours) == (12, 14)
    assert (used.disk_bytes, used.checkpoint_bytes) == (3 * GIB, 0)
    assert cost(used, Rates("EUR", 49_000, 15_000, 100)) == 4 * 49_000 + 20 * 15_000 + 26 * 100
    assert cost(used, Rates()) == 0


def test_a_period_cuts_spans_off() -> None:
    used = total([span("running", 0, 10, 1)], 4 * HOUR, 6 * HOUR)
    assert (used.seconds["running"], used.vcpu_hours, used.disk_gib_hours) == (7200, 4, 2)
    assert total([span("running", 0, 10)], 11 * HOUR, 12 * HOUR) == Used(seconds=dict.fromkeys(STATES, 0.0))


def test_a_machine_that_is_gone_weighs_nothing() -> None:
    used = total([span("running", 0, 1, 5, 5)], 0, 2 * HOUR)
    assert (used.disk_bytes, used.checkpoint_bytes, used.disk_gib_hours) == (0, 0, 5)


@given(st.lists(st.tuples(st.sampled_from(STATES), st.integers(1, 50)), max_size=12), st.integers(0, 200))
def test_periods_that_meet_add_up(lengths: list[tuple[str, int]], cut: int) -> None:
    spans, at = [], 0
    for state, length in lengths:
        spans.append(span(state, at, at + length, 1, 1))
        at += length
    whole, first, second = (total(spans, a * HOUR, b * HOUR) for a, b in ((0, 1000), (0, cut), (cut, 1000)))
    for name in ("vcpu_hours", "memory_gib_hours", "disk_gib_hours", "checkpoint_gib_hours"):
        assert getattr(whole, name) == pytest.approx(getattr(first, name) + getattr(second, name))
    assert sum(whole.seconds.values()) == pytest.approx(3600 * at)


async def test_a_machine_that_is_gone_is_still_told(people: People) -> None:
    control = people.world.control
    for _ in range(2):
        await make(people, "web")
        await control.destroy_machine(people.owner, "web")
    gone = [machine.id for machine in people.world.store.machines_of(people.owner.user_id)]
    with pytest.raises(InvalidArgument, match=r"several machines that are gone were named 'web': .*; give an id"):
        control.machine_usage(people.owner, "web")
    report = control.machine_usage(people.owner, gone[0])
    assert [found.machine.id for found in report.machines] == gone[:1]
    await make(people, "web")
    assert control.machine_usage(people.owner, "web").machines[0].machine.id not in gone  # the one that is there
    assert {found.machine.id for found in control.usage(people.owner).machines} > set(gone)
    for ref in (gone[0], "web", "ghost"):
        with pytest.raises(NotFound, match=f"VM '{ref}' not found"):
            control.machine_usage(people.eve, ref)
    assert control.usage(people.eve).machines == []


async def test_an_organization_tells_those_who_manage_it(people: People) -> None:
    control = people.world.control
    org = await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await make(people, "bobs", people.bob, org="team")
    await make(people, "private")
    report = control.usage(people.owner, org="team")
    assert ([found.machine.name for found in report.machines], report.org) == (["bobs"], org)
    with pytest.raises(PermissionDenied):
        control.usage(people.bob, org="team")
    assert [found.machine.name for found in control.usage(people.bob).machines] == ["bobs"]


async def test_periods(people: People) -> None:
    control, now = people.world.control, int(time.time())
    machine: Machine = await make(people, "web")
    report = control.machine_usage(people.owner, "web")
    assert (report.since, report.until - now < 60) == (machine.created_at, True)
    assert control.usage(people.owner).until - control.usage(people.owner).since == 28 * DAY
    for since, until in ((now, now - 1), (1, now)):
        with pytest.raises(InvalidArgument, match="366 days"):
            control.usage(people.owner, since, until)


def test_rates_are_told_to_the_daemon() -> None:
    home = {"BOXD_HOME": "/nowhere"}
    assert load(environ=home).rates == Rates()
    told = load(environ=home | {"BOXD_RATES": "USD vcpu=0.049 memory=0.015 disk=0.0001"}).rates
    assert told == Rates("USD", 49_000, 15_000, 100)
    assert load(environ=home | {"BOXD_RATES": "EUR disk=1"}).rates == Rates("EUR", 0, 0, 1_000_000)
    for wrong in ("vcpu=1", "EUR cpu=1", "EUR vcpu=-1", "EUR vcpu=1e9", "euro vcpu=1", "EUR vcpu"):
        with pytest.raises(InvalidArgument, match="BOXD_RATES"):
            load(environ=home | {"BOXD_RATES": wrong})


async def test_what_is_used_costs_what_the_daemon_was_told(people: People) -> None:
    control = people.world.control
    await make(people, "web")
    rates = Rates("EUR", 49_000, 15_000, 100)
    control._drivers = replace(control._drivers, settings=replace(control._drivers.settings, rates=rates))
    machine = people.world.store.machine_named("web")
    assert machine is not None
    with people.world.store._writer._engine.begin() as connection:  # it began an hour earlier
        connection.exec_driver_sql("UPDATE usage SET start_ms = start_ms - 3600000")
        connection.exec_driver_sql("UPDATE machines SET created_at = created_at - 3600")
    found = control.machine_usage(people.owner, "web").machines[0]
    assert found.used.vcpu_hours == pytest.approx(1, abs=0.05)
    assert found.cost_micro == cost(found.used, rates) == pytest.approx(49_000 + 7_500, rel=0.05)
