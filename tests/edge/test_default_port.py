"""The rule for the default route's port, on a clock of our own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openboxd.edge.default_port import FALLBACK, KNOWN, REST, STEADY, Watch, begin, observe


def test_a_booted_machine_gets_the_most_preferred_port_or_the_fallback() -> None:
    assert begin({3000, 8080, 22}, 0.0).port == 8080
    assert begin({80, 443}, 0.0).port == 80
    assert begin({22, 9999}, 0.0).port == FALLBACK
    assert begin(set(), 0.0).port == FALLBACK


def test_a_candidate_takes_over_once_it_has_been_alone_for_a_moment() -> None:
    watch = observe(begin(set(), 0.0), {3000}, 1.0)
    assert observe(watch, {3000}, 1.0 + STEADY - 0.01).port == FALLBACK
    assert observe(watch, {3000}, 1.0 + STEADY).port == 3000


def test_a_rival_starts_the_wait_anew_and_the_preferred_one_wins() -> None:
    watch = observe(begin(set(), 0.0), {5000}, 1.0)
    watch = observe(watch, {5000, 3000}, 1.5)
    watch = observe(watch, {5000, 3000}, 1.5 + STEADY - 0.01)
    assert watch.port == FALLBACK
    assert observe(watch, {5000, 3000}, 1.5 + STEADY).port == 3000


def test_the_port_in_use_keeps_the_route_while_it_is_listened_on() -> None:
    watch = begin({3000}, 0.0)
    for now in range(100):
        watch = observe(watch, {3000, 80}, float(now))
    assert watch.port == 3000
    watch = observe(observe(watch, {80}, 100.0), {80}, 100.0 + STEADY)
    assert watch.port == 80


def test_a_change_is_not_followed_by_another_within_seconds() -> None:
    watch = observe(observe(begin(set(), 0.0), {3000}, 1.0), {3000}, 2.0)
    assert watch.port == 3000
    watch = observe(observe(watch, {5000}, 2.1), {5000}, 2.1 + STEADY)
    assert watch.port == 3000
    assert observe(watch, {5000}, 2.0 + REST).port == 5000


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.frozensets(st.sampled_from([*KNOWN, 22, 9000]))), max_size=40))
def test_whatever_happens_the_port_is_a_known_one_and_rests(steps: list[tuple[float, frozenset[int]]]) -> None:
    now, watch, changes = 0.0, begin(set(), 0.0), list[float]()
    for pause, listening in steps:
        now += pause
        before: Watch = watch
        watch = observe(watch, listening, now)
        assert watch.port in KNOWN
        if watch.port != before.port:
            assert watch.port in listening
            assert before.port not in listening
            assert not changes or now - changes[-1] >= REST
            changes.append(now)
