"""Settings: read once at start, frozen, passed in. Nothing reads the environment later."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openboxd.errors import InvalidArgument
from openboxd.model import Rates

DEFAULT_LISTEN = "127.0.0.1:9443"
DEFAULT_SSH_PORTS = range(10_000, 30_001)
DEFAULT_EXPOSED_PORTS = range(40_000, 60_001)


@dataclass(frozen=True)
class Settings:
    """What the daemon is told.

    Attributes:
        home: data directory (the store, the pool, keys).
        listen: host:port of the API.
        run_root: short directory for sockets; UNIX socket paths hold 107 bytes at most.
        accel: "auto", "kvm" or "tcg".
        qemu: name or path of the QEMU program.
        zone: DNS zone under which machines have their domains.
        https, http: host:port of the machines' HTTPS domains, and of the redirects to them; empty = no HTTPS. Exposed
            ports and those for SSH are listened on at the same host.
        acme_email: account at a public certificate directory, for a zone of one's own; empty = boxd's own root signs.
        acme_directory: URL of the directory; empty = Caddy's default.
        domains: further host names, each with the machine (or `<route>.<machine>`) that it leads to.
        ssh_ports, exposed_ports: public ports that machines are given, for SSH and for the ports they expose.
        network: "auto", "bridge" or "user": what is behind the machines' cards.
        tls_cert, tls_key: PEM files of a certificate of one's own for the API; None = one under boxd's own root.
        pool_bytes: size of a pool image to be made; 0 = a share of what is free.
        metrics: who may read them: "loopback", "any" or "off".
        warm: new machines go on from captures of their booted image, which are made where they are wanted.
        warm_builds: the build of an image ends with such a capture for the default size.
        reach: what a machine that speaks for itself may touch: "owner", all that its owner may, or "self".
        rates: what an hour of a vCPU, of a GiB of memory and of a GiB in the pool costs.
        mirror: where image builds fetch Debian packages; empty = mmdebstrap's default.
        stop_timeout: seconds a guest may take for a clean shutdown before its run is killed.
        boot_timeout: seconds until a booted guest's agent must have answered.
        handover: seconds that those who come in wait for another daemon when this one has ended; 0: they are refused.
        restore_timeout: seconds until a restored guest's agent must have answered.
    """

    home: Path
    listen: str = DEFAULT_LISTEN
    run_root: Path = Path("/run/boxd")
    accel: str = "auto"
    qemu: str = "qemu-system-x86_64"
    zone: str = "boxd.localhost"
    https: str = "127.0.0.1:8443"
    http: str = "127.0.0.1:8080"
    acme_email: str = ""
    acme_directory: str = ""
    domains: Mapping[str, str] = field(default_factory=dict)
    ssh_ports: range = DEFAULT_SSH_PORTS
    exposed_ports: range = DEFAULT_EXPOSED_PORTS
    network: str = "auto"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    pool_bytes: int = 0
    metrics: str = "loopback"
    reach: str = "owner"
    warm: bool = False
    warm_builds: bool = True
    rates: Rates = field(default_factory=Rates)
    mirror: str = ""
    stop_timeout: float = 60.0
    boot_timeout: float = 180.0
    restore_timeout: float = 20.0
    handover: float = 60.0

    @property
    def database(self) -> Path:
        """The store's SQLite file."""
        return self.home / "boxd.db"

    @property
    def pool_dir(self) -> Path:
        """Where captures, disks and images lie; may be a mount point."""
        return self.home / "pool"

    @property
    def pool_image(self) -> Path:
        """The XFS image file that is mounted on `pool_dir` where the home's filesystem has no reflinks."""
        return self.home / "pool.xfs"

    @property
    def tls_dir(self) -> Path:
        """boxd's own root certificate, and what it has signed."""
        return self.home / "tls"

    @property
    def ssh_dir(self) -> Path:
        """The authority that signs the machines' SSH host keys."""
        return self.home / "ssh"

    @property
    def gates_dir(self) -> Path:
        """Sockets of the machines' HTTPS domains."""
        return self.run_dir / "gates"

    @property
    def https_port(self) -> int:
        """Port of the machines' HTTPS domains; 0 = no HTTPS."""
        return int(self.https.rpartition(":")[2] or 0)

    @property
    def ways_host(self) -> str:
        """Address that the machines' TCP ports are listened on."""
        return self.https.rpartition(":")[0].strip("[]") or "127.0.0.1"

    @property
    def admin_key(self) -> Path:
        """The owner's API key, 0600."""
        return self.home / "admin.key"

    @property
    def run_dir(self) -> Path:
        """Sockets of this home's runs: a short name derived from the home's path."""
        short = hashlib.sha256(str(self.home.resolve()).encode()).hexdigest()[:8]
        return self.run_root / short


def default_home(environ: Mapping[str, str] | None = None) -> Path:
    """`BOXD_HOME`, else /var/lib/boxd for root, else ~/.local/share/boxd."""
    environ = os.environ if environ is None else environ
    if environ.get("BOXD_HOME"):
        return Path(environ["BOXD_HOME"])
    if os.geteuid() == 0:
        return Path("/var/lib/boxd")
    return Path.home() / ".local/share/boxd"


def load(home: Path | None = None, listen: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Build the settings from arguments and environment.

    Raises:
        InvalidArgument: `BOXD_ACCEL`, `BOXD_NETWORK`, `BOXD_POOL_SIZE`, `BOXD_METRICS`, `BOXD_WARM`, a range of
            ports or the listen address is malformed, or one of `BOXD_TLS_CERT` and `BOXD_TLS_KEY` is missing.
    """
    environ = os.environ if environ is None else environ
    tls_cert, tls_key = environ.get("BOXD_TLS_CERT"), environ.get("BOXD_TLS_KEY")
    if bool(tls_cert) != bool(tls_key):
        raise InvalidArgument("BOXD_TLS_CERT and BOXD_TLS_KEY belong together: set both or neither")
    https, http = _https(environ)
    private = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    warm = _one_of(environ, "BOXD_WARM", "on", "wanted", "off")
    default_run = "/run/boxd" if os.geteuid() == 0 else f"{private}/boxd"
    return Settings(
        home=(home or default_home(environ)).absolute(),
        listen=_listen(listen or environ.get("BOXD_LISTEN") or DEFAULT_LISTEN),
        run_root=Path(environ.get("BOXD_RUN_DIR", default_run)),
        accel=_one_of(environ, "BOXD_ACCEL", "auto", "kvm", "tcg"),
        qemu=environ.get("BOXD_QEMU", "qemu-system-x86_64"),
        zone=environ.get("BOXD_ZONE", "boxd.localhost"),
        https=https,
        http=http,
        acme_email=environ.get("BOXD_ACME_EMAIL", ""),
        acme_directory=environ.get("BOXD_ACME_DIRECTORY", ""),
        domains=_domains(environ.get("BOXD_DOMAINS", "")),
        ssh_ports=_ports(environ, "BOXD_SSH_PORTS", DEFAULT_SSH_PORTS),
        exposed_ports=_ports(environ, "BOXD_EXPOSED_PORTS", DEFAULT_EXPOSED_PORTS),
        network=_one_of(environ, "BOXD_NETWORK", "auto", "bridge", "user"),
        tls_cert=Path(tls_cert).absolute() if tls_cert else None,
        tls_key=Path(tls_key).absolute() if tls_key else None,
        pool_bytes=_size("BOXD_POOL_SIZE", environ.get("BOXD_POOL_SIZE", "")),
        metrics=_one_of(environ, "BOXD_METRICS", "loopback", "any", "off"),
        reach=_one_of(environ, "BOXD_MACHINE_REACH", "owner", "self"),
        warm=warm != "off",
        warm_builds=warm == "on",
        rates=_rates(environ.get("BOXD_RATES", "")),
        mirror=environ.get("BOXD_MIRROR", ""),
        handover=_seconds("BOXD_HANDOVER", environ.get("BOXD_HANDOVER", "60")),
    )


def _one_of(environ: Mapping[str, str], name: str, default: str, *others: str) -> str:
    """A word out of several, the default one if it is not set."""
    word = environ.get(name, default)
    if word not in (default, *others):
        choices = f"{', '.join([default, *others[:-1]])} or {others[-1]}"
        raise InvalidArgument(f"{name} is '{word}'; it must be {choices}")
    return word


def _listen(address: str) -> str:
    """The address if it is one."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise InvalidArgument(f"the listen address is '{address}'; it must be HOST:PORT, such as {DEFAULT_LISTEN}")
    return address


def _https(environ: Mapping[str, str]) -> tuple[str, str]:
    """Addresses for HTTPS and HTTP: the usual ports for root, others for ordinary users. Raises InvalidArgument."""
    root = os.geteuid() == 0
    https = environ.get("BOXD_HTTPS") or f"127.0.0.1:{443 if root else 8443}"
    if https == "off":
        return "", ""
    http = environ.get("BOXD_HTTP") or f"{https.rpartition(':')[0]}:{80 if root else 8080}"
    for name, text in (("BOXD_HTTPS", https), ("BOXD_HTTP", http)):
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or not 1 <= int(port) <= 65535:
            raise InvalidArgument(f"{name} is '{text}'; it must be HOST:PORT, such as 127.0.0.1:8443")
    return https, http


def _ports(environ: Mapping[str, str], name: str, default: range) -> range:
    """The ports of "10000-30000", both ends included. Raises InvalidArgument."""
    text = environ.get(name)
    if not text:
        return default
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 65_535:
        raise InvalidArgument(f"{name} is '{text}'; it must be FIRST-LAST, such as {default[0]}-{default[-1]}")
    return range(int(match[1]), int(match[2]) + 1)


def _domains(text: str) -> Mapping[str, str]:
    """`www.example.org=web,api.example.org=api.web`. Raises InvalidArgument."""
    domains: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"([a-z0-9.-]+\.[a-z0-9-]+)=([a-z0-9-]+(?:\.[a-z0-9-]+)?)", item)
        if match is None:
            raise InvalidArgument(f"BOXD_DOMAINS has '{item}'; write DOMAIN=MACHINE, such as www.example.org=web")
        domains[match[1]] = match[2]
    return domains


def _seconds(name: str, text: str) -> float:
    """Raises InvalidArgument."""
    if not re.fullmatch(r"\d{1,4}", text):
        raise InvalidArgument(f"{name} is '{text}'; it must be a number of seconds, 0 to 9999")
    return float(text)


def _rates(text: str) -> Rates:
    """`EUR vcpu=0.049 memory=0.015 disk=0.0001`: a currency and prices per hour. Raises InvalidArgument."""
    words = text.split()
    if not words:
        return Rates()
    prices = {"vcpu": 0, "memory": 0, "disk": 0}
    for word in words[1:]:
        match = re.fullmatch(r"(vcpu|memory|disk)=([0-9]{1,6}(?:\.[0-9]{1,6})?)", word)
        if match is None:
            raise InvalidArgument(f"BOXD_RATES has '{word}'; write it like: EUR vcpu=0.049 memory=0.015 disk=0.0001")
        prices[match[1]] = round(1_000_000 * float(match[2]))
    if not re.fullmatch(r"[A-Z]{3}", words[0]):
        raise InvalidArgument(f"BOXD_RATES begins with '{words[0]}'; it must be a currency such as EUR")
    return Rates(words[0], prices["vcpu"], prices["memory"], prices["disk"])


def _size(name: str, text: str) -> int:
    """Bytes of "20G", "20GiB" or "21474836480"; 0 for nothing."""
    match = re.fullmatch(r"(\d+)(?:([KMGT])(?:i?B)?)?", text.strip() or "0", re.IGNORECASE)
    if match is None:
        raise InvalidArgument(f"{name} is '{text}'; it must be a number of bytes or one such as 20G")
    return int(match[1]) << (10 * " KMGT".index((match[2] or " ").upper()))
