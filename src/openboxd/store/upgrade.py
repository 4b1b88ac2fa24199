"""Give an opened database the tables this release needs.

A fresh one gets them all at once. An older one runs the migrations it lacks, in one transaction. One that is up to
date costs a single query: Alembic is imported only when there is something to migrate.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, Table, Text, inspect, select

from openboxd.errors import HostUnfit
from openboxd.store.schema import REVISION, metadata

MIGRATIONS = Path(__file__).with_name("migrations")

_stamp = Table("alembic_version", MetaData(), Column("version_num", Text))


def bring_up(connection: Connection) -> None:
    """Make the schema current, inside the caller's transaction.

    Raises:
        HostUnfit: the database is a newer release's, or not boxd's at all.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        create_all(connection)
        return
    if _stamp.name not in tables:
        raise HostUnfit("boxd's database holds somebody else's tables; choose another BOXD_HOME")
    if connection.scalar(select(_stamp.c.version_num)) != REVISION:
        migrate(connection, "head")


def create_all(connection: Connection) -> None:
    """The tables of this release in an empty database, marked as current."""
    metadata.create_all(connection)
    # As Alembic would make it, so that it takes over from here.
    connection.exec_driver_sql(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
        "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    connection.execute(_stamp.insert().values(version_num=REVISION))


def migrate(connection: Connection, target: str) -> None:
    """Run the migrations up to revision `target`, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, target)
    except CommandError as error:
        raise HostUnfit(
            f"boxd's database was made by a newer release ({error}); install that release again"
        ) from error
