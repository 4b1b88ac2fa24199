"""Organizations, sharing and usage: what the SDK does with more than one user on a host."""

from __future__ import annotations

import os
import time

import boxd
import pytest
from boxd import errors

from conftest import GOLDEN, URL

OTHER_KEY = os.environ["SDK_OTHER_KEY"]


@pytest.fixture(scope="module")
def other():
    """A second user of the same host."""
    with boxd.Boxd(base_url=URL, api_key=OTHER_KEY) as client:
        yield client


@pytest.fixture(scope="module")
def team(client):
    """An organization of the owner."""
    return client.orgs.create("team")


def test_an_organization(client, other, team):
    mine = {org.id: org for org in client.orgs.list()}[team.id]
    assert (mine.name, mine.is_admin) == ("team", True)
    assert team.id not in {org.id for org in other.orgs.list()}
    client.orgs.rename("crew", org=team.id)
    assert [org.name for org in client.orgs.list()] == ["crew"]
    roster = client.orgs.get_members(team.id)
    assert [(member.user_id, member.role) for member in roster.members] == [(client.account.get().user_id, "owner")]
    with pytest.raises(errors.NotFoundError):
        other.orgs.get_members(team.id)


def test_an_invitation_is_listed_and_revoked(client, team):
    invited = client.orgs.invite("bob@example.org", role="admin", org=team.id)
    assert invited.token and invited.accept_url.endswith(invited.token)
    listed = client.orgs.get_members(team.id).invites
    assert [(one.email, one.role) for one in listed] == [("bob@example.org", "admin")]
    client.orgs.revoke_invite(invited.token)
    assert client.orgs.get_members(team.id).invites == []
    with pytest.raises(errors.NotFoundError):
        client.orgs.revoke_invite(invited.token)


def test_a_machine_of_others_is_not_there(other, golden):
    for ref in (GOLDEN, golden):
        with pytest.raises(errors.NotFoundError) as caught:
            other.machines.get(ref)
        assert caught.value.message == f"VM '{ref}' not found"
        for call in (other.machines.share, other.machines.delete, other.machines.usage):
            with pytest.raises(errors.NotFoundError):
                call(ref)
    assert other.machines.list() == [] and other.machines.list(all_contexts=True) == []


def test_a_machine_is_shared_and_unshared(client, team, golden):
    assert client.machines.get(golden).shared is False
    client.machines.share(golden)
    machine = client.machines.get(golden)
    assert (machine.shared, machine.org.id) == (True, team.id)
    assert [one.id for one in client.machines.list(org=team.id)] == [golden]
    client.machines.unshare(golden)
    machine = client.machines.get(golden)
    assert (machine.shared, machine.org.id) == (False, team.id)


def test_usage(client, team, golden):
    report = client.machines.usage(golden)
    assert (report.machine_id, report.name, report.status) == (golden, GOLDEN, "running")
    assert report.seconds.running > 0 and report.vcpu_hours > 0 and report.ram_gib_hours > 0
    assert (report.cost_micro, report.rates.vcpu_hour_micro, report.currency) == (0, 0, "eur")
    assert not report.complete  # it runs, and the window ends now
    mine = client.orgs.usage()
    assert golden in {one.machine_id for one in mine.machines} and mine.total_cost_micro == 0
    past = int(time.time()) - 86_400
    before = client.machines.usage(golden, since=past - 60, until=past)
    assert before.complete and before.vcpu_hours == 0
    with pytest.raises(errors.APIStatusError):
        client.orgs.usage(since=1, until=int(time.time()))
    assert client.orgs.billing_activity_page().entries == []


def test_members_come_and_go(client, other, team, golden):
    """Joining is the command's: the SDK has no call for it. What it has says so."""
    user = other.account.get().user_id
    with pytest.raises(errors.NotFoundError):
        client.orgs.set_member_role(user, "admin", org=team.id)
    with pytest.raises(errors.NotFoundError):
        client.orgs.remove_member(user, org=team.id)
    with pytest.raises(errors.ConflictError):
        client.orgs.remove_member(client.account.get().user_id, org=team.id)
