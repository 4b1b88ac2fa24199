"""Rows of images. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from openboxd.errors import WrongState
from openboxd.model import Image
from openboxd.store import machines, snapshots
from openboxd.store.rows import to_row
from openboxd.store.schema import images as table

_newest_first = (table.c.created_at.desc(), table.c.digest)


def all_images(connection: Connection) -> Sequence[Image]:
    """Newest first."""
    return tuple(Image(**row._mapping) for row in connection.execute(select(table).order_by(*_newest_first)))


def by_digest(connection: Connection, digest: str) -> Image | None:
    """The image of this digest."""
    row = connection.execute(select(table).where(table.c.digest == digest)).one_or_none()
    return None if row is None else Image(**row._mapping)


def by_name(connection: Connection, name: str) -> Image | None:
    """The newest image of this name."""
    query = select(table).where(table.c.name == name).order_by(*_newest_first).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else Image(**row._mapping)


def add(connection: Connection, image: Image) -> None:
    """Harmless if the digest is known: what was recorded first stays, as machines were made from it."""
    if by_digest(connection, image.digest) is None:
        connection.execute(insert(table).values(to_row(image)))


def remove(connection: Connection, digest: str) -> None:
    """Forget an image. Harmless twice. Raises WrongState naming the machines and snapshots that still need it."""
    users = [f"machine '{machine.name}'" for machine in machines.of_image(connection, digest)]
    users += [f"snapshot '{snapshot.name}'" for snapshot in snapshots.of_image(connection, digest)]
    if users:
        image = by_digest(connection, digest)
        raise WrongState(
            f"image '{image.name if image else digest}' is still used by {', '.join(users)}; "
            "it was not removed; remove those first"
        )
    connection.execute(delete(table).where(table.c.digest == digest))
