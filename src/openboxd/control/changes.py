"""Settings of a machine that are changed while it runs: labels, the removal timer, bot protection. Pure functions.

The rules and units are those of the published SDK's documentation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from openboxd.control.names import check_labels
from openboxd.errors import InvalidArgument

LONGEST_SECS = 100 * 366 * 86_400
"""A hundred years: a timer beyond it is a mistake in units."""

CRON_FIELDS = 5
MODES = ("on", "sleep_only", "off")


def labels_after(
    present: Mapping[str, str], wanted: Mapping[str, str], remove: Collection[str], *, replace_all: bool
) -> dict[str, str]:
    """A machine's labels after an edit. Removing what is not there is harmless; what is both set and removed is set.

    Raises:
        InvalidArgument: against the rules for labels, or `replace_all` together with `remove`.
    """
    if replace_all and remove:
        raise InvalidArgument("replacing all labels removes every other one; do not name any to remove besides")
    kept = {} if replace_all else {key: value for key, value in present.items() if key not in remove}
    labels = {**kept, **wanted}
    check_labels(labels)
    return labels


def deadline_ms(secs: int, cron: str, now_ms: int) -> int:
    """When a removal timer that is set now goes off, in epoch milliseconds; 0 for no timer.

    Raises:
        InvalidArgument: both kinds at once, a cron line that is none or that never comes, or an absurd length.
    """
    if secs and cron:
        raise InvalidArgument("a machine is removed after a number of seconds or by a cron line, not both")
    if cron:
        return _next_ms(cron, now_ms)
    if not 0 <= secs <= LONGEST_SECS:
        raise InvalidArgument(f"a machine is removed after at most {LONGEST_SECS} seconds, not {secs}")
    return now_ms + 1000 * secs if secs else 0


def idle_secs(secs: int) -> int:
    """The length of an idle timer, if it is one; 0 for none. Raises InvalidArgument."""
    if not 0 <= secs <= LONGEST_SECS:
        raise InvalidArgument(f"an idle timer has at most {LONGEST_SECS} seconds, not {secs}; 0 is no timer")
    return secs


def _next_ms(cron: str, now_ms: int) -> int:
    """The next moment, strictly later, that a cron line of five fields names, in UTC."""
    wrong = f"'{cron}' is not a cron line: write minute, hour, day, month and weekday in UTC, such as '0 18 * * *'"
    if len(cron.split()) != CRON_FIELDS:
        raise InvalidArgument(wrong)
    try:
        moment = next(CronSim(cron, datetime.fromtimestamp(now_ms / 1000, UTC)))
    except CronSimError:
        raise InvalidArgument(wrong) from None
    except StopIteration:
        raise InvalidArgument(f"the cron line '{cron}' names a moment that never comes") from None
    return round(moment.timestamp() * 1000)


def bot_protection_mode(mode: str, *, enabled: bool) -> str:
    """The mode asked for; without one, `enabled` decides as older clients mean it. Raises InvalidArgument."""
    if not mode:
        return "on" if enabled else "off"
    if mode not in MODES:
        raise InvalidArgument(f"bot protection is 'on', 'sleep_only' or 'off', not '{mode}'")
    return mode
