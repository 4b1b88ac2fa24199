"""Keys, tokens and what is left of them in the store."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.control.credentials import MAX_KEYS
from openboxd.control.tokens import LIFETIME
from openboxd.errors import Exhausted, InvalidArgument, NotFound, Unauthenticated, WrongState
from openboxd.model import Caller
from tests.fakes.service import KEY
from tests.fakes.service_accounts import ServiceWithAccounts, open_service


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[ServiceWithAccounts]:
    opened = await open_service(tmp_path / "home")
    yield opened
    await opened.close()


@pytest.fixture
def owner(service: ServiceWithAccounts) -> Caller:
    return service.authenticate(KEY)


async def test_a_token_opens_for_an_hour_and_is_stored_hashed_only(
    service: ServiceWithAccounts, owner: Caller, tmp_path: Path
) -> None:
    token = await service.exchange(KEY)
    assert re.fullmatch(r"bxt_[A-Za-z0-9]{40}", token.token)
    assert token.user_id == owner.user_id
    assert token.expires_at - service.clock() == pytest.approx(3600, abs=2)
    assert service.authenticate(token.token) == owner
    assert token.token not in repr(token)
    service.clock.ahead = LIFETIME - 5
    assert service.authenticate(token.token) == owner
    service.clock.ahead = LIFETIME + 1
    with pytest.raises(Unauthenticated, match="exchange a key again"):
        service.authenticate(token.token)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    assert token.token[4:].encode() not in stored


async def test_expired_tokens_are_swept(service: ServiceWithAccounts) -> None:
    for _ in range(3):
        await service.exchange(KEY)
    service.clock.ahead = LIFETIME + 1
    await service.exchange(KEY)
    with service.store._reading.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM tokens").scalar() == 1


async def test_a_key_that_goes_takes_its_tokens_with_it(service: ServiceWithAccounts, owner: Caller) -> None:
    revoked: list[tuple[str, str]] = []
    service.on_revoked(lambda key_id, why: revoked.append((key_id, why)))
    row, key = await service.create_api_key(owner, "ci", 0)
    token = (await service.exchange(key)).token
    assert service.authenticate(token).key_id == row.id
    await service.delete_api_key(owner, row.id)
    for credential in (key, token):
        with pytest.raises(Unauthenticated):
            service.authenticate(credential)
    with pytest.raises(Unauthenticated):
        await service.exchange(key)
    with pytest.raises(NotFound):
        await service.delete_api_key(owner, row.id)
    assert revoked == [(row.id, "")]


async def test_a_key_that_expires_ends_its_tokens(service: ServiceWithAccounts, owner: Caller) -> None:
    row, key = await service.create_api_key(owner, "short", 60)
    assert row.expires_at == row.created_at + 60
    token = (await service.exchange(key)).token
    service.clock.ahead = 61
    for credential in (key, token):
        with pytest.raises(Unauthenticated, match="expired"):
            service.authenticate(credential)


async def test_the_last_key_that_opens_is_kept(service: ServiceWithAccounts, owner: Caller) -> None:
    await service.create_api_key(owner, "short", 60)
    service.clock.ahead = 61  # the second key opens nothing any more
    with pytest.raises(WrongState, match="last API key"):
        await service.delete_api_key(owner, owner.key_id)
    await service.create_api_key(owner, "next", 0)
    await service.delete_api_key(owner, owner.key_id)
    with pytest.raises(Unauthenticated):
        service.authenticate(KEY)


async def test_another_users_key_looks_like_none(service: ServiceWithAccounts, owner: Caller) -> None:
    with pytest.raises(NotFound):
        await service.delete_api_key(Caller("u_other", "k"), owner.key_id)
    assert service.api_keys(Caller("u_other", "k")) == ()
    assert service.authenticate(KEY) == owner


async def test_what_a_key_may_be(service: ServiceWithAccounts, owner: Caller) -> None:
    for name in ("", "  ", "x" * 65, "a\nb", "\x1b[2J"):
        with pytest.raises(InvalidArgument):
            await service.create_api_key(owner, name, 0)
    with pytest.raises(InvalidArgument, match="100 years"):
        await service.create_api_key(owner, "long", 2**64 - 1)
    for number in range(MAX_KEYS - 1):
        await service.create_api_key(owner, f"key {number}", 0)
    with pytest.raises(Exhausted, match="25 of 25"):
        await service.create_api_key(owner, "one more", 0)
