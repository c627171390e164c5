"""Python values as JSON and back."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from evalsvc.client.values import from_json, to_evaluator_text, to_json


@dataclass
class Answer:
    text: str
    when: date


class Document:
    """Describes itself, as those of Haystack do."""

    def to_dict(self) -> dict[str, Any]:
        return {"content": "a", "score": Decimal("0.5")}


class Opaque:
    def __str__(self) -> str:
        return "opaque!"


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -(2**60), 1.5, "é\u2028", [], {}, [1, [2, {"a": None}]], b"\x00\xff", Decimal("1.10"),
        datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), date(2026, 1, 2), time(3, 4), float("inf"),
        {"$type": "bytes", "value": "QQ=="}, {"$type": "x"}, {"a": {"$type": "decimal", "value": b"x"}},
    ],
)  # fmt: skip
def test_it_comes_back_as_it_was(value: Any) -> None:
    text = json.dumps(to_json(value), allow_nan=False)

    assert from_json(json.loads(text)) == value
    assert type(from_json(json.loads(text))) is type(value)


def test_nan_comes_back() -> None:
    assert str(from_json(to_json(float("nan")))) == "nan"


def test_collections_become_lists() -> None:
    assert to_json((1, 2)) == [1, 2]
    found: Any = to_json({1, 2})
    assert sorted(found) == [1, 2]


def test_objects_that_describe_themselves_are_asked() -> None:
    described = to_json(Answer("a", date(2026, 1, 2)))

    assert described == {"text": "a", "when": {"$type": "date", "value": "2026-01-02"}}
    assert to_json(Document()) == {"content": "a", "score": {"$type": "decimal", "value": "0.5"}}


def test_the_rest_becomes_text() -> None:
    some = uuid.uuid4()

    assert to_json({"a": Opaque(), 5: some}) == {"a": "opaque!", "5": str(some)}


def test_a_type_it_does_not_know_stays_an_object() -> None:
    assert from_json({"$type": "builtins.eval", "value": "1+1"}) == {"$type": "builtins.eval", "value": "1+1"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("a", "a"), ({"answer": "a"}, "a"), ({"a": "x", "b": 1}, '{"a": "x", "b": 1}'), (["é"], '["é"]')],
)
def test_evaluators_read_text(value: Any, text: str | None) -> None:
    assert to_evaluator_text(value) == text
