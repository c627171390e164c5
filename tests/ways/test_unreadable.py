"""What cannot be read is an error that names the field, by every way, and never a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.experiments.conftest import ok
from tests.ways.bench import WAYS, Bench, evaluated
from tests.ways.cases import (
    CASES,
    LONG,
    NUMBERS,
    OF_ANSWERS,
    OF_OFFENCES,
    OF_PASSAGES,
    RANKED,
    RIGHT,
    Found,
    N,
)

NEITHER = {"title": "neither text nor id"}
UNREADABLE = {
    "output": {"city": "Oslo", "country": "Norway"},
    "contexts": [NEITHER],
    "top_k_contexts": [NEITHER],
}
EVERYTHING = LONG | NUMBERS | RANKED | OF_ANSWERS | OF_PASSAGES | OF_OFFENCES


def codes_of(bench: Bench) -> set[Any]:
    """The errors of every score that the account's experiments have; None is a score."""
    found = set()
    for experiment in ok(bench.caller.get("/v1/experiments"))["experiments"]:
        rows = ok(bench.caller.get(f"/v1/experiments/{experiment['id']}/results"))["results"]
        found |= {
            score["error_code"] for row in rows for name, score in row["scores"].items() if name in bench.case.metrics
        }
    return found


@pytest.mark.parametrize("bench", ["jsonl"], indirect=True)
def test_what_cannot_be_read_has_no_score_by_any_way(bench: Bench) -> None:
    bench.case = replace(
        CASES["jsonl"], right=lambda i: UNREADABLE, metrics=EVERYTHING, systems={"odd": (RIGHT, RIGHT)}
    )
    for way, measure in WAYS.items():
        assert measure(bench) == {"odd": dict.fromkeys(EVERYTHING, Found(None, 0, N, 0))}, way
    assert codes_of(bench) == {"wrong_type"}
    (told,) = evaluated(bench, [(bench.rows[0], UNREADABLE)])
    assert told == dict.fromkeys(EVERYTHING, "wrong_type")
