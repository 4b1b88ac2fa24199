"""The daemon's certificate authority, and what clients make of its certificates."""

from __future__ import annotations

import logging
import ssl
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit
from openboxd.host.ca import open_authority

HOSTS = ("boxd.localhost", "*.boxd.localhost", "localhost", "127.0.0.1", "::1")


def verify(root: Path, leaf: Path, host: str) -> bool:
    flag = "-verify_ip" if host[0].isdigit() or ":" in host else "-verify_hostname"
    command = ["openssl", "verify", "-x509_strict", "-CAfile", root, flag, host, "-purpose", "sslserver", leaf]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_certificates_are_good_for_their_hosts_only(tmp_path: Path) -> None:
    authority = open_authority(tmp_path / "tls")
    leaf = authority.issue("server", HOSTS)
    for host in ("boxd.localhost", "web.boxd.localhost", "localhost", "127.0.0.1", "::1"):
        assert verify(authority.root, leaf, host), host
    for host in ("boxd.sh", "a.b.boxd.localhost", "10.0.0.1"):
        assert not verify(authority.root, leaf, host), host
    assert not verify(open_authority(tmp_path / "other").root, leaf, "localhost")
    ssl.create_default_context(cafile=authority.root).load_cert_chain(leaf)
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "tls").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700


def test_root_and_certificate_are_kept(tmp_path: Path) -> None:
    first = open_authority(tmp_path)
    leaf, root = first.issue("server", HOSTS).read_bytes(), first.root.read_bytes()
    again = open_authority(tmp_path)
    assert (again.issue("server", HOSTS).read_bytes(), again.root.read_bytes()) == (leaf, root)


def test_a_certificate_is_renewed_a_month_before_its_end_and_for_other_hosts(tmp_path: Path) -> None:
    authority = open_authority(tmp_path)
    leaf = authority.issue("server", HOSTS)
    first = leaf.read_bytes()
    now = datetime.now(UTC)
    assert authority.issue("server", HOSTS, now + timedelta(days=397 - 31)).read_bytes() == first
    second = authority.issue("server", HOSTS, now + timedelta(days=397 - 29)).read_bytes()
    assert second != first
    assert authority.issue("server", HOSTS[1:]).read_bytes() != second
    assert verify(authority.root, authority.issue("server", HOSTS), "boxd.localhost")
    leaf.write_text("rubbish")
    assert verify(authority.root, authority.issue("server", HOSTS), "localhost")


def test_no_certificate_outlives_the_root(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    then = datetime.now(UTC) - timedelta(days=3650 - 20)
    with caplog.at_level(logging.WARNING):
        authority = open_authority(tmp_path, then)
        assert not caplog.records
        authority = open_authority(tmp_path)
    assert "root certificate ends" in caplog.text
    assert verify(authority.root, authority.issue("server", HOSTS), "localhost")


@pytest.mark.parametrize("damage", ["ca.key", "ca.crt"])
def test_a_damaged_root_is_not_replaced(tmp_path: Path, damage: str) -> None:
    open_authority(tmp_path / "tls")
    path = tmp_path / "tls" / damage
    path.write_text("rubbish")
    with pytest.raises(HostUnfit, match="cannot be read"):
        open_authority(tmp_path / "tls")
    assert path.read_text() == "rubbish"


def test_a_root_and_another_ones_key_are_refused(tmp_path: Path) -> None:
    open_authority(tmp_path / "a")
    open_authority(tmp_path / "b")
    (tmp_path / "a/ca.key").write_bytes((tmp_path / "b/ca.key").read_bytes())
    with pytest.raises(HostUnfit, match="do not belong together"):
        open_authority(tmp_path / "a")
