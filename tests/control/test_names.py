"""Names: what is allowed, what is refused, and that nothing allowed can be read as a path or an option."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openboxd.control import names
from openboxd.errors import InvalidArgument

HOSTILE = [
    "", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "%2e%2e%2fx", "x\0y", "a b", " a", "a ", "-x", "--help", "-",
    "é", "é", "日本", "🙂", "a\nb", "a\tb", "$(id)", "`id`", "a;b", "a'b\"c", "A", "x" * 64, "x" * 5000, "a\n",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_for_machines_and_checkpoints(name: str) -> None:
    with pytest.raises(InvalidArgument, match="starts and ends with a letter or digit"):
        names.check_checkpoint_name(name)
    with pytest.raises(InvalidArgument):
        names.check_machine_name(name)


@pytest.mark.parametrize("name", ["a", "1", "web", "a-b", "x" * 40, "null", "true"])
def test_good_machine_names(name: str) -> None:
    names.check_machine_name(name)


@pytest.mark.parametrize(
    "name", ["app", "api", "www", "boxd", "localhost", "5f0c7d3e-1111-4000-8000-000000000001", "x" * 41]
)
def test_reserved_and_too_long_machine_names(name: str) -> None:
    with pytest.raises(InvalidArgument):
        names.check_machine_name(name)


@pytest.mark.parametrize("name", ["a", "1", "before-upgrade", "v1.2_3", "x" * 63, "cp-20261129-120000"])
def test_good_checkpoint_names(name: str) -> None:
    names.check_checkpoint_name(name)


@given(st.text())
def test_an_accepted_name_is_never_a_path_or_an_option(name: str) -> None:
    try:
        names.check_checkpoint_name(name)
    except InvalidArgument:
        return
    assert name.isascii() and "/" not in name and not name.startswith(("-", ".")) and len(name) <= 63


def test_generated_names_count_up() -> None:
    now = datetime(2026, 11, 29, 14, 53, 7, tzinfo=UTC)
    taken: set[str] = set()
    for expected in ("cp-20261129-145307", "cp-20261129-145307-2", "cp-20261129-145307-3"):
        name = names.generate_checkpoint_name(taken, now)
        assert name == expected
        taken.add(name)


def test_suggestions_are_valid_and_free() -> None:
    taken = {names.suggest_machine_name(()) for _ in range(500)}
    for name in taken:
        names.check_machine_name(name)
    assert names.suggest_machine_name(taken) not in taken


def test_checkpoint_ids_have_their_form() -> None:
    made = names.new_checkpoint_id()
    assert made.startswith("cp_") and len(made) == 23


@pytest.mark.parametrize("key", ["", "boxd/x", "-a", "A", "x" * 64])
def test_bad_label_keys(key: str) -> None:
    with pytest.raises(InvalidArgument):
        names.check_labels({key: "v"})
