"""Removes what boxd made on this host: its machines, the daemon, the data, the configuration and the service.

Only what belongs to one data directory (BOXD_HOME), recognised by what boxd itself wrote; everything else stays.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from openboxd.client.config import config_path, read_config
from openboxd.errors import BoxdError
from openboxd.host import pidfd, programs
from openboxd.network.bridge import BridgeNetwork
from openboxd.pool import close_pool
from openboxd.settings import Settings, load

UNIT = Path("/etc/systemd/system/boxd.service")
BOXD = Path(sys.executable).with_name("boxd")
DAEMON_LIMIT = 60.0
"""Seconds for a daemon to end by itself."""

MADE = (
    *("pool", "pool.xfs", "pool.xfs.new", ".pool.lock", "tls", "ssh", "caddy", "admin.key", "accel.json", "reserve"),
    *("guards", "daemon.log", "demo-daemon.pid", "boxd.db-wal", "boxd.db-shm", "boxd.db.lock", "boxd.db"),
)
"""What boxd makes in its data directory; last what tells that it is one."""


class Kept(Exception):
    """Something cannot be removed; the text says why and what is still there."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- what there is


def daemon_of(settings: Settings) -> int | None:
    """Pidfd of the daemon that has this data directory open: the one that holds its lock."""
    lock = Path(f"{settings.database}.lock")
    try:
        with lock.open("rb") as stream:
            descriptor = os.pidfd_open(int(stream.read(20)))
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return descriptor
            os.close(descriptor)
    except (OSError, ValueError):
        pass
    return None


def runs_of(settings: Settings) -> list[pidfd.Found]:
    """The processes of machines, and what outlives the daemon for its clients: they name files of its directory."""
    beginning = f"{settings.run_dir}/"
    return pidfd.find(lambda argv: any(beginning in word for word in argv[1:]) and _is_ours(argv))


def _is_ours(argv: pidfd.Argv) -> bool:
    helpers = ("openboxd.qemu.saver", "openboxd.edge.keeper")
    return _is_machine(argv) or Path(argv[0]).name == "caddy" or any(helper in argv for helper in helpers)


def _is_machine(argv: pidfd.Argv) -> bool:
    return Path(argv[0]).name.startswith("qemu-system")


def config_of(settings: Settings) -> Path | None:
    """The configuration that holds this home's key."""
    path = config_path()
    try:
        key = settings.admin_key.read_text().strip()
        return path if key and read_config(path).api_key == key else None
    except (OSError, BoxdError):
        return None


def unit_of(settings: Settings) -> Path | None:
    """The service, if it is this checkout's and serves this home."""
    ours = UNIT.is_file() and str(BOXD) in UNIT.read_text() and settings.home == Path("/var/lib/boxd")
    return UNIT if ours else None


# -- taking it away


def end_daemon(descriptor: int) -> None:
    signal.pidfd_send_signal(descriptor, signal.SIGTERM)
    if not select.select([descriptor], [], [], DAEMON_LIMIT)[0]:  # readable when the process has ended
        raise Kept("the daemon does not end; nothing was removed")


def remove_unit(unit: Path) -> None:
    subprocess.run(["systemctl", "disable", "--now", "--quiet", unit.name], check=True)
    unit.unlink()
    subprocess.run(["systemctl", "daemon-reload"], check=True)


async def remove_network(settings: Settings) -> None:
    """Delete the bridge and the rules of this home, if root made some."""
    if os.geteuid() == 0 and all(programs.locate(name) for name in ("ip", "nft")):
        await BridgeNetwork(settings.run_dir.name).close()


def remove_data(settings: Settings) -> None:
    """Delete what boxd made in the home, and the home if nothing else is in it."""
    close_pool(settings)
    inside = f"{settings.home.resolve()}/"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if f"{line.split()[4]}/".startswith(inside):
            raise Kept(f"{line.split()[4]} is still mounted; unmount it and try again")
    for name in MADE:
        path = settings.home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(settings.run_dir, ignore_errors=True)
    with suppress(OSError):
        settings.run_dir.parent.rmdir()  # unless another home has sockets there
    if left := sorted(path.name for path in settings.home.iterdir()):
        raise Kept(f"{settings.home} stays, because boxd did not make {', '.join(left)} in it")
    settings.home.rmdir()


def described(settings: Settings, daemon: int | None, runs: list[pidfd.Found]) -> list[str]:
    """What would be removed, one thing a line."""
    machines = sum(_is_machine(found.argv) for found in runs)
    unit, config = unit_of(settings), config_of(settings)
    return [
        f"data     {settings.home}: all machines, checkpoints, images and keys",
        *(["daemon   ends"] if daemon is not None else []),
        *([f"machines {machines} that run now, at once, without a shutdown"] if machines else []),
        *([f"service  {unit}"] if unit else []),
        *([f"config   {config}"] if config else []),
    ]


def remove(settings: Settings, *, yes: bool) -> None:
    """Ask, then remove everything; safe to run again where it stopped."""
    if not settings.database.exists():
        raise Kept(
            f"there is no boxd in {settings.home}; BOXD_HOME names another data directory. Nothing was removed"
        )
    daemon, runs = daemon_of(settings), runs_of(settings)
    say("\n".join(["this removes for good:", *(f"  {line}" for line in described(settings, daemon, runs))]))
    if not yes and not confirmed():
        raise Kept("not confirmed; nothing was removed")
    unit, config = unit_of(settings), config_of(settings)
    if unit is not None:
        remove_unit(unit)
        daemon = daemon_of(settings)  # one that the service did not start
    if daemon is not None:
        end_daemon(daemon)
    asyncio.run(pidfd.kill_all(runs_of(settings)))
    asyncio.run(remove_network(settings))
    if config is not None:
        config.unlink()
    remove_data(settings)
    say("everything is removed; the checkout and the packages that setup installed stay")


def confirmed() -> bool:
    if not sys.stdin.isatty():
        say("there is no terminal to ask on; -y goes ahead")
        return False
    sys.stderr.write("Go ahead? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/setup --remove", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    options = parser.parse_args()
    try:
        remove(load(), yes=options.yes)
    except (Kept, BoxdError, OSError, subprocess.CalledProcessError) as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
