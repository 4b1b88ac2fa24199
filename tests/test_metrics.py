"""docs/metrics.md tells every metric that a scrape offers, and a histogram can tell whether a target was reached."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from bench.targets import TARGETS
from openboxd import metrics
from openboxd.control.holdings import KINDS
from openboxd.errors import NotFound
from openboxd.model import Outcome
from tests.test_docs import ROOT, rows
from tests.worker.world import World

EVERYWHERE = {"le"}
"""Labels that every histogram has."""


@pytest.fixture
async def families(tmp_path: Path) -> AsyncIterator[list[Metric]]:
    """What a scrape offers of boxd once everything has happened at least once."""
    world = World(tmp_path)
    await world.start()
    await world.machine()
    await world.save("a")
    world.control.count_error(NotFound("on purpose"))
    text = (await world.control.metrics()).decode()
    found = [family for family in text_string_to_metric_families(text) if family.name.startswith("boxd_")]
    yield [family for family in found if not family.name.endswith("_created")]
    await world.close()


def told() -> dict[str, tuple[str, set[str]]]:
    """Type and labels of each metric in the page."""
    return {
        name.strip("`").removesuffix("_total"): (kind, set(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels, *_ in rows("metrics.md", r"\| `boxd_\w+` \|")
    }


async def test_the_page_tells_every_metric_with_its_type_and_labels(families: list[Metric]) -> None:
    offered = {
        family.name: (family.type, {label for sample in family.samples for label in sample.labels} - EVERYWHERE)
        for family in families
    }
    assert len(offered) == 13
    assert offered == told()


async def test_names_bear_their_unit(families: list[Metric]) -> None:
    without = {family.name for family in families if not re.search(r"_(seconds|bytes)$", family.name)}
    assert without == {"boxd_errors", "boxd_machines", "boxd_build_info"}


def test_the_page_tells_the_values_of_labels() -> None:
    values = {
        row[0]: set(re.findall(r"`([\w ]+)`", row[1])) for row in rows("metrics.md", r"\| `\w+`[^|]*\|[^|]*\|$")
    }
    assert values["`status`"] == {str(status) for status in metrics.STATES}
    assert values["`of`"] == set(KINDS)
    assert values["`outcome`"] == {str(outcome) for outcome in Outcome}
    assert values["`at`"] == {"call", "operation", "scrape"}


def test_the_readme_leads_to_the_page() -> None:
    assert "docs/metrics.md" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("of", "column", "buckets"),
    [
        ("save", "pause", metrics.PAUSES),
        ("save", "ready", metrics.SAVES),
        ("restore", "guest runs", metrics.RESTORES),
        ("restore", "reply", metrics.RESTORES),
        ("restore", "reply", metrics.HOLDS),
        ("restore", "reply", metrics.DURATIONS),
        ("sleep", "resume", metrics.DURATIONS),
        ("sleep", "wake answers", metrics.DURATIONS),
        ("fork", "pause", metrics.PAUSES),
        ("fork", "answer", metrics.DURATIONS),
        ("new", "first answer", metrics.DURATIONS),
    ],
)
def test_a_bucket_ends_where_a_target_is(of: str, column: str, buckets: tuple[float, ...]) -> None:
    limits = {target.limit / 1000 for target in TARGETS if (target.of, target.column) == (of, column)}
    assert limits and limits <= set(buckets)
    assert list(buckets) == sorted(set(buckets))
