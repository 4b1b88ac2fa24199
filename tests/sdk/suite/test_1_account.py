"""Account, configuration, SSH keys, API keys; the error table; what is not offered."""

from __future__ import annotations

import asyncio

import boxd
import pytest
from boxd import errors

from conftest import GOLDEN, KEY, URL

SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4hsXZPEkyhUoD9YJXTtBuIQz7N0f2jVvQHSqoWqpCK me@laptop"


def test_account_and_configuration(client):
    account = client.account.get()
    assert account.user_id.startswith("u_")
    config = client.account.config()
    assert config.default_image and config.zone


def test_an_ssh_key_is_linked_once(client):
    for _ in range(2):
        client.account.link_ssh_key(SSH, device_id="laptop", label="Laptop")
    fingerprints = [key for key in client.account.get().pubkey_fingerprints if key.startswith("SHA256:")]
    assert len(fingerprints) == 1
    with pytest.raises(errors.APIStatusError) as caught:
        client.account.link_ssh_key("not a key")
    assert caught.value.code == "invalid_argument"


def test_api_keys_live_and_die(client):
    made = client.api_keys.create("ci", expires_in=3600)
    assert made.api_key.startswith("bxd_") and len(made.api_key) == 44
    listed = {key.id: key for key in client.api_keys.list()}
    assert listed[made.id].name == "ci" and made.api_key.startswith(listed[made.id].key_prefix)
    assert listed[made.id].expires_at is not None
    with boxd.Boxd(base_url=URL, api_key=made.api_key) as other:
        assert other.machines.get(GOLDEN).name == GOLDEN
        client.api_keys.delete(made.id)
        with pytest.raises(errors.AuthenticationError):
            other.machines.get(GOLDEN)
    assert made.id not in {key.id for key in client.api_keys.list()}


@pytest.mark.parametrize("key", ["bxd_" + "x" * 40, "nonsense"])
def test_a_wrong_key_is_an_authentication_error(key):
    with boxd.Boxd(base_url=URL, api_key=key) as wrong, pytest.raises(errors.AuthenticationError):
        wrong.account.get()


def test_the_key_works_as_a_token_too():
    with boxd.Boxd(base_url=URL, token=KEY) as direct:
        assert direct.account.get().user_id


def missing(code, call):
    with pytest.raises(errors.BoxdError) as caught:
        call()
    error = caught.value
    assert (type(error), error.code) == (TABLE[code], code), error.message
    assert error.message and "Traceback" not in error.message
    return error.message


TABLE = {
    "not_found": errors.NotFoundError,
    "already_exists": errors.ConflictError,
    "failed_precondition": errors.ConflictError,
    "aborted": errors.ConflictError,
    "invalid_argument": errors.APIStatusError,
    "unimplemented": errors.APIStatusError,
}


def test_refusals_have_their_class_and_a_sentence(client, golden):
    machines = client.machines
    assert missing("not_found", lambda: machines.get("ghost")) == "VM 'ghost' not found"
    for call in (machines.start, machines.stop, machines.reboot, machines.delete):
        assert missing("not_found", lambda call=call: call("ghost")) == "VM 'ghost' not found"
    assert missing("not_found", lambda: machines.exec("ghost", "true")) == "VM 'ghost' not found"
    assert missing("not_found", lambda: list(machines.logs("ghost"))) == "VM 'ghost' not found"
    missing("not_found", lambda: machines.checkpoints.restore(golden, "ghost"))
    missing("not_found", lambda: machines.files.download(golden, "no/such/file"))
    missing("already_exists", lambda: machines.create(name=GOLDEN))
    missing("already_exists", lambda: machines.checkpoints.create(golden, "booted"))
    missing("failed_precondition", lambda: machines.files.download(golden, "/etc"))
    missing("invalid_argument", lambda: machines.create(name="Not A Name"))
    missing("invalid_argument", lambda: machines.create(name="big", memory="4000G"))
    missing("invalid_argument", lambda: machines.checkpoints.create(golden, "../up"))
    missing("invalid_argument", lambda: machines.create(name="x", restart_policy="sometimes"))
    assert [machine.name for machine in machines.list()] == [GOLDEN], "a refusal leaves nothing"


NOT_OFFERED = {
    "backup": lambda c: c.machines.backups.trigger(GOLDEN),
    "env of a machine": lambda c: c.machines.create(name="e", env={"A": "b"}),
    "command of a machine": lambda c: c.machines.create(name="e", cmd=["sleep"]),
    "removal for want of use": lambda c: c.machines.create(name="e", auto_destroy_timeout=30),
    "no ssh": lambda c: c.machines.create(name="e", ssh=False),
    "variables": lambda c: c.env.list(),
    "team": lambda c: c.teams.create("t"),
    "a default of an organization": lambda c: c.orgs.get_machine_defaults("o"),
}
"""Each is refused in words, never ignored. An entry leaves this table when its feature comes."""


@pytest.mark.parametrize("what", NOT_OFFERED)
def test_what_is_not_offered_says_so(client, golden, what):
    sentence = missing("unimplemented", lambda: NOT_OFFERED[what](client))
    assert sentence.startswith("this boxd does not offer")


def test_harmless_reads_answer(client):
    assert client.orgs.list() == []
    assert client.disks.list() == []


def test_the_asynchronous_client_is_the_same(async_client):
    async def all_of_it():
        async with async_client() as client:
            account, config, keys = await asyncio.gather(
                client.account.get(), client.account.config(), client.api_keys.list()
            )
            made = await client.api_keys.create("async")
            await client.api_keys.delete(made.id)
            await client.account.link_ssh_key(SSH, device_id="laptop")
            with pytest.raises(errors.NotFoundError):
                await client.machines.get("ghost")
            return account.user_id, config.zone, keys

    account, zone, keys = asyncio.run(all_of_it())
    assert account and zone and keys
