"""Certificates that change under a running server, and those that cannot be used."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from openboxd.api.server import serve
from openboxd.api.tls import kept_tls
from openboxd.errors import HostUnfit, InvalidArgument
from openboxd.host.ca import open_authority
from openboxd.settings import load
from tests.api.sockets import connect


async def serial_of(address, root) -> str:
    trust = ssl.create_default_context(cafile=root)
    _, writer = await connect(address, ssl=trust, server_hostname="localhost")
    try:
        return writer.get_extra_info("peercert")["serialNumber"]
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_renewed_certificate_is_taken_up_without_a_restart(service, tmp_path):
    authority = open_authority(tmp_path / "tls")
    leaf = authority.issue("server", ["localhost"])
    async with (
        kept_tls(lambda: (leaf, leaf), every=0.05) as tls,
        serve(service, "127.0.0.1:0", tls=tls) as address,
    ):
        first = await serial_of(address, authority.root)
        assert await serial_of(address, authority.root) == first
        authority.issue("server", ["localhost", "127.0.0.1"])
        async with asyncio.timeout(60):
            while await serial_of(address, authority.root) == first:
                pass
        second = await serial_of(address, authority.root)
        leaf.write_text("rubbish")
        with pytest.raises(HostUnfit):
            tls.renew()
        assert await serial_of(address, authority.root) == second


async def test_a_key_of_another_certificate_is_one_sentence(tmp_path):
    one = open_authority(tmp_path / "one").issue("server", ["localhost"])
    for key in (open_authority(tmp_path / "two").issue("server", ["localhost"]), tmp_path / "absent"):
        with pytest.raises(HostUnfit, match="cannot be used"):
            async with kept_tls(lambda key=key: (one, key)):
                pass


def test_a_certificate_of_ones_own_has_two_files(tmp_path):
    environ = {"BOXD_HOME": str(tmp_path), "BOXD_TLS_CERT": "a.pem"}
    with pytest.raises(InvalidArgument, match="belong together"):
        load(environ=environ)
    settings = load(environ={**environ, "BOXD_TLS_KEY": "a.key"})
    assert (settings.tls_cert.name, settings.tls_key.name) == ("a.pem", "a.key")
    assert settings.tls_cert.is_absolute()
    assert load(environ={"BOXD_HOME": str(tmp_path)}).tls_cert is None


@pytest.mark.parametrize(("minimum", "maximum", "works"), [(None, None, True), (None, "TLSv1_1", False)])
async def test_old_tls_is_refused(both, minimum, maximum, works):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if maximum:
        with pytest.warns(DeprecationWarning):
            context.maximum_version = ssl.TLSVersion[maximum]
    if works:
        _, writer = await connect(both.address, ssl=context)
        writer.close()
        await writer.wait_closed()
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await connect(both.address, ssl=context)
