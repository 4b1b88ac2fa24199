"""What agents may ask, and about whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.control import accounts
from openboxd.control.questions import Questions
from openboxd.errors import NotFound, NotSupported
from openboxd.host.ssh_ca import HostIdentity, open_ssh_authority
from openboxd.model import Machine, User
from openboxd.store import SqlStore, open_store
from tests.contracts.rows import IMAGE, OWNER, a_machine

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNvbWV0aGluZyB0aGF0IGlzIDMyIGJ5dGVzIGxvbmch me@there"
OTHER = User("u_other", "Other")
RUN = "aaaaaaaaaaaa"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = open_store(tmp_path / "boxd.db")
    await opened.add_user(OWNER)
    await opened.add_user(OTHER)
    await opened.add_image(IMAGE)
    yield opened
    opened.close()


@pytest.fixture
async def machine(store: SqlStore) -> Machine:
    machine = a_machine(run_id=RUN)
    await store.add_machine(machine)
    return machine


@pytest.fixture
def questions(store: SqlStore, tmp_path: Path) -> Questions:
    authority = open_ssh_authority(tmp_path / "ssh")

    def identify(machine: Machine) -> HostIdentity:
        directory = tmp_path / machine.id
        directory.mkdir(exist_ok=True)
        return authority.identity(directory, machine.id, ("localhost",))

    return Questions(store, identify)


async def asked(questions: Questions, fingerprint: str, user: str = "boxd", run: str = RUN) -> object:
    return (await questions.answer(run, {"op": "keys", "user": user, "fingerprint": fingerprint}))["keys"]


async def test_a_linked_key_counts_at_once_and_a_removed_one_no_more(
    store: SqlStore, machine: Machine, questions: Questions
) -> None:
    key = accounts.parse_ssh_key(OWNER.id, KEY, "", "")
    assert await asked(questions, key.fingerprint) == []
    await store.link_ssh_key(key)
    assert await asked(questions, key.fingerprint) == [key.public_key]
    assert await asked(questions, key.fingerprint, user="root") == []
    assert await asked(questions, "SHA256:other") == []
    await store.unlink_ssh_key(OWNER.id, key.fingerprint)
    assert await asked(questions, key.fingerprint) == []


async def test_keys_of_others_do_not_count(store: SqlStore, machine: Machine, questions: Questions) -> None:
    key = accounts.parse_ssh_key(OTHER.id, KEY, "", "")
    await store.link_ssh_key(key)
    assert await asked(questions, key.fingerprint) == []


async def test_the_host_key_travels_only_to_who_has_another(machine: Machine, questions: Questions) -> None:
    first = await questions.answer(RUN, {"op": "identity", "certificate": ""})
    assert set(first) == {"key", "public", "certificate"}
    assert await questions.answer(RUN, {"op": "identity", "certificate": first["certificate"]}) == {}
    assert (await questions.answer(RUN, {"op": "identity"}))["key"] == first["key"]


async def test_only_runs_of_machines_are_answered(store: SqlStore, machine: Machine, questions: Questions) -> None:
    with pytest.raises(NotFound, match="run bbbbbbbbbbbb is no machine's"):
        await asked(questions, "SHA256:x", run="bbbbbbbbbbbb")
    await store.update_machine(machine.id, run_id="")
    for run in (RUN, ""):
        with pytest.raises(NotFound):
            await asked(questions, "SHA256:x", run=run)


@pytest.mark.parametrize("question", [{}, {"op": None}, {"op": "machines"}, {"op": ["keys"]}])
async def test_other_questions_are_not_answered(
    machine: Machine, questions: Questions, question: dict[str, object]
) -> None:
    with pytest.raises(NotSupported):
        await questions.answer(RUN, question)


async def test_a_question_of_a_strange_shape_gets_nothing(machine: Machine, questions: Questions) -> None:
    assert await questions.answer(RUN, {"op": "keys"}) == {"keys": []}
    assert await questions.answer(RUN, {"op": "keys", "user": "boxd", "fingerprint": {}}) == {"keys": []}
