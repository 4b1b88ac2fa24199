"""A run is held beside an earlier one, row for row."""

from __future__ import annotations

import json
from dataclasses import asdict

from bench.compare import compare
from bench.figures import spread
from bench.result import Result


def saves(memory: int, rate: float, pause: float, ready: float = 900.0) -> dict[str, object]:
    return {"MiB": memory, "dirty MiB/s": rate, "pause": spread([pause]), "ready": spread([ready])}


def written(*results: Result) -> dict[str, object]:
    """As it is read from a file."""
    text = json.dumps({"results": [asdict(result) for result in results]})
    return dict(json.loads(text))


def test_what_became_slower_is_told_first_and_what_did_not_change_is_not() -> None:
    before = written(Result("save", "Saves", [saves(1024, 9.7, 10.0, 1000.0), saves(4096, 9.9, 20.0)]))
    now = Result("save", "Saves", [saves(1024, 10.1, 40.0, 500.0), saves(4096, 9.9, 21.0)])
    found = compare(before, [now])
    assert [(row["figure"], row["before"], row["now"], row["times"]) for row in found.rows] == [
        ("pause", 10.0, 40.0, 4.0),
        ("ready", 1000.0, 500.0, 0.5),
    ]
    assert found.rows[0]["row"] == "1024 MiB, 10.1 dirty MiB/s"
    assert found.notes[0].startswith("2 rows are in both")


def test_other_guests_other_loads_and_other_words_are_not_compared() -> None:
    peers = [{"way": way, "pause": spread([pause])} for way, pause in (("mapped-ram", 8.0), ("boxd", 1.0))]
    before = written(Result("save", "Saves", [saves(512, 0.0, 1.0)]), Result("peers", "Peers", peers))
    now = [
        Result("save", "Saves", [saves(1024, 0.0, 9.0), saves(512, 96.0, 9.0)]),
        Result("peers", "Peers", [{"way": "boxd", "pause": spread([1.1])}]),
        Result("new", "New", [{"machines": 20, "first answer": spread([9.0])}]),
    ]
    found = compare(before, now)
    assert found.rows == []
    assert found.notes[0].startswith("1 rows are in both")


def test_what_one_of_them_has_not_measured_is_left_out() -> None:
    row = {"clients": "SSH", "waits": spread([])}
    assert compare(written(Result("hold", "Waits", [row])), [Result("hold", "Waits", [row])]).rows == []
