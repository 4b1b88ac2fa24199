"""Taking a guest out of a save: no migration under way, vCPUs as before. Used by savers, the daemon and adoption.

Every step may find itself done already and may run twice.
"""

from __future__ import annotations

import asyncio

from openboxd.qemu.qmp import Monitor, Refused, Silent

UNDER_WAY = frozenset(
    {"setup", "active", "device", "pre-switchover", "cancelling", "postcopy-active", "postcopy-paused", "wait-unplug"}
)
"""States of an outgoing migration that is not over."""

_POLL = 0.005  # seconds between questions; QEMU's last steps take a few milliseconds
_LIMIT = 15.0  # seconds until a migration without a reader must have ended


async def migration_state(monitor: Monitor) -> str:
    """State of the last outgoing migration, "none" without one."""
    return str((await monitor.ask("query-migrate")).get("status", "none"))


async def cancel_migration(monitor: Monitor) -> None:
    """End an outgoing migration; returns when there is none. Its reader must be reading or gone.

    Raises:
        Silent: it does not end. Gone.
    """
    if (await monitor.ask("query-status"))["status"] == "inmigrate":  # what it tells is about the incoming one
        return
    asked = False
    try:
        async with asyncio.timeout(_LIMIT):
            while await migration_state(monitor) in UNDER_WAY:
                if not asked:
                    await monitor.ask("migrate_cancel")
                    asked = True
                await asyncio.sleep(_POLL)
    except TimeoutError as error:
        raise Silent("QEMU does not end a migration") from error


async def resume(monitor: Monitor) -> None:
    """`cont`, as soon as QEMU allows it after a migration."""
    try:
        async with asyncio.timeout(_LIMIT):
            while True:
                try:
                    await monitor.ask("cont")
                    return
                except Refused as refusal:
                    if "not finalized" not in str(refusal):  # the last step of a migration: a moment later it works
                        raise
                await asyncio.sleep(0.0005)
    except TimeoutError as error:
        raise Silent("QEMU does not resume the guest") from error


async def let_run(monitor: Monitor) -> None:
    """End an outgoing migration and let the vCPUs run. Raises Refused, Silent or Gone."""
    await cancel_migration(monitor)
    if not (await monitor.ask("query-status"))["running"]:
        await resume(monitor)


async def let_stand(monitor: Monitor) -> None:
    """End an outgoing migration of a guest whose vCPUs stand still, and leave them so. Raises Refused, Silent, Gone.

    After a whole migration QEMU refuses the next one until the vCPUs have run; so they do, for an instant.
    """
    await cancel_migration(monitor)
    if (await monitor.ask("query-status"))["status"] == "postmigrate":
        await resume(monitor)
        await monitor.ask("stop")
