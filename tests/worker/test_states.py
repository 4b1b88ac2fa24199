"""The drawing at the top of states.py and the table below it say the same."""

from __future__ import annotations

import pytest

from openboxd.model import MachineStatus as S
from openboxd.worker import states


def test_every_state_of_the_drawing_exists_and_every_state_is_drawn() -> None:
    assert states.__doc__ is not None
    drawn = {word for word in states.__doc__.split() if word in {s.value for s in S}}
    assert drawn == {s.value for s in S}


def test_every_state_but_the_last_can_be_destroyed() -> None:
    for state in S:
        if state not in (S.DESTROYED, S.DESTROYING):
            assert states.may_move(state, S.DESTROYING), state


@pytest.mark.parametrize(
    ("old", "new"),
    [(S.STOPPED, S.RUNNING), (S.FAILED, S.RUNNING), (S.DESTROYED, S.RUNNING), (S.DESTROYING, S.RUNNING)],
)
def test_running_is_reached_only_through_starting(old: S, new: S) -> None:
    assert not states.may_move(old, new)
