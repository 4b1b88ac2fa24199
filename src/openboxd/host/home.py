"""The data directory of a starting daemon: it can be written to, and nothing of it was lost or is not mounted."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from openboxd.errors import HostUnfit, because
from openboxd.host import reserve
from openboxd.host.files import is_full
from openboxd.model import Machine, MachineStatus
from openboxd.settings import Settings

START_BYTES = 1 << 20
"""What a start needs on the home's filesystem, at most."""

log = logging.getLogger(__name__)


def make_home(home: Path) -> None:
    """The data directory, in which files can be made; a full one has a reserve for this moment.

    Raises:
        HostUnfit: it cannot be had, or no file can be made in it.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _try_to_write(home)
        except OSError as error:
            if not is_full(error) or not reserve.give_up(home):
                raise
            log.warning("%s is full; the reserve was given up for this start: make room soon", home)
            _try_to_write(home)
        reserve.keep(home)
    except OSError as error:
        raise HostUnfit(
            f"the data directory {home} cannot be used: {because(error)}; name another one with --home or BOXD_HOME"
        ) from None


def _try_to_write(home: Path) -> None:
    """As much as a start writes, to find out before anything is begun."""
    with tempfile.TemporaryFile(dir=home) as file:
        os.posix_fallocate(file.fileno(), 0, START_BYTES)


def check_not_lost(settings: Settings) -> None:
    """A store that is gone while its machines are there is not a first start: those would be ended and forgotten.

    Raises:
        HostUnfit: it is gone.
    """
    database, machines = settings.database, settings.pool_dir / "machines"
    if database.exists() and database.stat().st_size:
        return
    if settings.admin_key.exists() or (machines.is_dir() and any(machines.iterdir())):
        raise HostUnfit(
            f"{database} is missing or empty, but {settings.home} was in use: put the database back, or remove "
            f"{settings.admin_key.name} and the pool's machines to begin anew; nothing was changed"
        )


def check_pool_holds(settings: Settings, machines: Sequence[Machine]) -> None:
    """A pool that is not mounted must not be taken for a new one: another would be made over it.

    Raises:
        HostUnfit: it holds none of the machines on record.
    """
    used = [m for m in machines if m.status not in (MachineStatus.PENDING, MachineStatus.DESTROYING)]
    paths = [settings.pool_dir / "machines" / machine.id for machine in used]
    if used and not settings.pool_image.exists() and not any(path.exists() for path in paths):
        raise HostUnfit(
            f"the pool at {settings.pool_dir} holds none of the {len(used)} machines on record: it is not mounted, "
            "or it is another one; mount it and start boxd again; nothing was changed"
        )
