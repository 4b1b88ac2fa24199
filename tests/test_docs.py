"""The pages in docs/ say what is so: steps that exist, tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.worker.test_faults import points  # noqa: F401  (a fixture)

ROOT = Path(__file__).parents[1]


def rows(page: str, pattern: str) -> list[tuple[str, ...]]:
    """Cells of the table rows that match."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if re.match(pattern, line)]


def test_every_step_has_its_row(points: dict[str, list[str]]) -> None:  # noqa: F811
    """docs/crash-safety.md, "Killed here, found so, done so": exactly the steps that the operations announce."""
    announced = {(name, point.split(" ", 1)[1]) for name, passed in points.items() for point in passed}
    told = [row[:2] for row in rows("crash-safety.md", "\\| (" + "|".join(points) + ") \\|")]
    assert len(told) == len(set(told))
    assert set(told) == announced


def test_every_step_in_the_code_is_announced(points: dict[str, list[str]]) -> None:  # noqa: F811
    """Steps that no operation of the loops passes would be tested by none of them."""
    announced = {point.split(" ", 1)[1] for passed in points.values() for point in passed}
    source = "\n".join(path.read_text() for path in (ROOT / "src/openboxd").rglob("*.py"))
    calls = re.findall(r"\bsteps\.run\(\s*([^,\s]+),", source)
    names = {re.sub(r"^[A-Z_]+$", lambda constant: _value(source, constant[0]), call).strip('"') for call in calls}
    assert len(names) > 20
    assert names <= announced


def _value(source: str, constant: str) -> str:
    """The text that a constant stands for."""
    return re.findall(rf'^{constant} = ("[^"]+")$', source, flags=re.MULTILINE)[0]


def test_the_tests_that_pages_name_exist() -> None:
    for page in ("crash-safety.md", "field-cases.md"):
        text = (ROOT / "docs" / page).read_text()
        for name in re.findall(r"`(?:tests/)?([\w/]+\.py)(?:::(\w+))?`", text):
            path, test = name
            file = next(f for f in (ROOT / "tests" / path, ROOT / "src/openboxd" / path) if f.exists())
            assert not test or re.search(rf"def {test}\b", file.read_text()), f"{page}: {path}::{test}"


def test_every_field_case_has_a_row_with_a_test_or_a_reason() -> None:
    found = rows("field-cases.md", r"\| F\d\d \|")
    assert [row[0] for row in found] == [f"F{number:02}" for number in range(1, 53)]
    for number, subject, tests, remark in found:
        assert subject and (tests or remark.startswith("not yet: ")), number
