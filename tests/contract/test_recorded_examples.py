"""The examples that no guide shows are what the service answers.

`EVALSVC_RECORD_EXAMPLES=1` writes them anew: to be done, and looked at, when an answer changes on purpose.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from evalsvc.rest.answering.examples import recorded
from tests.conftest import CHECKOUT, new_caller
from tests.contract.tour.connecting import connect
from tests.contract.tour.judging import judge
from tests.contract.tour.measuring import measure
from tests.contract.tour.teller import Tour
from tests.contract.tour.watching import watch
from tests.docs.pages import differences

RECORDED = CHECKOUT / "evalsvc" / "rest" / "answering" / "recorded.json"


def told() -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for tell in (measure, judge, connect, watch):
        tour = Tour(new_caller(name="tour"))
        tell(tour)
        shown |= tour.shown
    return dict(sorted(shown.items()))


def test_what_is_recorded_is_what_is_answered() -> None:
    found = told()
    if os.environ.get("EVALSVC_RECORD_EXAMPLES"):
        RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        pytest.skip("They are written anew.")

    assert found.keys() == recorded().keys()
    told_wrong = {name: differences(read(shown), read(found[name])) for name, shown in recorded().items()}
    assert {name: lines for name, lines in told_wrong.items() if lines} == {}


def read(example: dict[str, Any]) -> dict[str, Any]:
    """Lines of JSON as what they say, so that they may say more."""
    if not example.get("media", "").endswith(("jsonl", "ndjson")):
        return example
    return example | {"answer": [json.loads(line) for line in example["answer"].splitlines()]}
