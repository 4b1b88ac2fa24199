"""A fresh store, one migrated step by step and the metadata are one schema; and it only grows."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, Table

from openboxd.errors import HostUnfit
from openboxd.store import engine, open_store, upgrade
from openboxd.store.schema import REVISION, metadata
from tests.contracts.rows import furnish

LATER = "9000"

SECOND = f'''
"""A migration to come."""
import sqlalchemy as sa
from alembic import op

revision = "{LATER}"
down_revision = "{REVISION}"


def upgrade() -> None:
    op.add_column("machines", sa.Column("colour", sa.Text(), nullable=False, server_default="grey"))
'''


def _revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    walk = ScriptDirectory.from_config(config).walk_revisions()
    return [script.revision for script in walk][::-1]


def _schema(database: Path) -> dict[str, object]:
    """Every table with its columns and keys, in no order (a migration can only append), and every index."""
    connection = sqlite3.connect(database)
    try:
        schema: dict[str, object] = {}
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
            if kind == "table":
                columns = connection.execute(
                    f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{name}')"
                )
                keys = connection.execute(f'SELECT "table", "from", "to" FROM pragma_foreign_key_list(\'{name}\')')
                schema[name] = (sorted(columns), sorted(keys), "AUTOINCREMENT" in sql)
            else:
                schema[name] = sql
        return schema
    finally:
        connection.close()


def _stepwise(database: Path) -> None:
    """An old store brought up by one release after the other."""
    database.parent.mkdir(exist_ok=True)
    for revision in _revisions():
        with _transaction(database) as connection:
            upgrade.migrate(connection, revision)


@contextmanager
def _transaction(database: Path) -> Iterator[Connection]:
    writing = engine.writing_engine(database)
    try:
        with writing.begin() as connection:
            yield connection
    finally:
        writing.dispose()


def _fresh(database: Path) -> None:
    open_store(database).close()


def test_the_newest_migration_is_the_revision_of_the_schema() -> None:
    assert _revisions()[-1] == REVISION


def test_fresh_and_migrated_stores_are_the_same(tmp_path: Path) -> None:
    fresh, migrated = tmp_path / "fresh.db", tmp_path / "migrated.db"
    open_store(fresh).close()
    _stepwise(migrated)
    assert len(_schema(fresh)) > len(metadata.tables)
    assert _schema(fresh) == _schema(migrated)


@pytest.mark.parametrize("make", [_fresh, _stepwise])
def test_there_is_nothing_left_to_migrate(database: Path, make: Callable[[Path], None]) -> None:
    make(database)
    with _transaction(database) as connection:
        # Defaults are left to the test above: Alembic takes every '' for a difference.
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_comparison_sees_a_difference(database: Path) -> None:
    open_store(database).close()
    with _transaction(database) as connection:
        connection.exec_driver_sql("ALTER TABLE machines ADD COLUMN colour TEXT")
        connection.exec_driver_sql("DROP INDEX ix_checkpoints_name")
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    assert sorted(step[0] for step in found) == ["add_index", "remove_column"]


async def test_an_older_store_is_brought_up_with_its_rows(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(database)
    machine = await furnish(store)
    store.close()
    later = tmp_path / "100% later"
    shutil.copytree(upgrade.MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / f"{LATER}_colour.py").write_text(SECOND)
    monkeypatch.setattr(upgrade, "MIGRATIONS", later)
    monkeypatch.setattr(upgrade, "REVISION", LATER)
    again = open_store(database)
    assert again.machine(machine.id) == machine, "an added column is in nobody's way"
    again.close()
    with _transaction(database) as connection:
        table = Table("machines", MetaData(), autoload_with=connection)
        assert connection.scalar(table.select().with_only_columns(table.c.colour)) == "grey"
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == LATER


def test_a_failed_migration_changes_nothing(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(database).close()
    before = _schema(database)
    later = tmp_path / "later"
    shutil.copytree(upgrade.MIGRATIONS, later, ignore=shutil.ignore_patterns("__pycache__"))
    (later / "versions" / f"{LATER}_broken.py").write_text(SECOND + '    raise RuntimeError("half-way")\n')
    monkeypatch.setattr(upgrade, "MIGRATIONS", later)
    monkeypatch.setattr(upgrade, "REVISION", LATER)
    with pytest.raises(RuntimeError, match="half-way"):
        open_store(database)
    assert _schema(database) == before
    monkeypatch.undo()
    open_store(database).close()


def test_a_newer_store_is_refused_untouched(database: Path) -> None:
    open_store(database).close()
    with _transaction(database) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(HostUnfit, match="newer release"):
        open_store(database)


def test_a_foreign_database_is_refused_untouched(database: Path) -> None:
    database.parent.mkdir()
    with _transaction(database) as connection:
        connection.exec_driver_sql("CREATE TABLE songs (title TEXT)")
    with pytest.raises(HostUnfit, match="somebody else"):
        open_store(database)
    assert list(_schema(database)) == ["songs"]


def test_opening_a_current_store_does_not_import_alembic(database: Path) -> None:
    open_store(database).close()
    program = (
        "import sys; from pathlib import Path; from openboxd.store import open_store; "
        "open_store(Path(sys.argv[1])).close(); print('alembic' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(database)], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
