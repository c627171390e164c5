"""Answers as structs: made from rows, and described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from evalsvc.rest.answering import shapes
from evalsvc.rest.answering.renderers import dumps
from evalsvc.rest.answering.shapes import (
    AnswerShape,
    AnswerWithWarnings,
    KeyWarning,
    build_enum,
    build_shape,
    reference,
)
from evalsvc.rest.answering.unknown import add_warnings


@dataclass(frozen=True)
class City:
    name: str
    n_people: int
    note: str = "not for everyone"


class CityFacts(AnswerShape):
    name: str
    size: Annotated[str, build_enum(["small", "large"])]
    note: str | UnsetType = UNSET


class CityOfAnotherShape(AnswerShape):
    mayor: str


class FoundCity(AnswerWithWarnings):
    name: str


def test_a_shape_takes_what_the_row_has_and_what_is_said_beside_it() -> None:
    """What may be left out is left out, whether the row has it or not."""
    found = build_shape(City("Paris", 2_000_000), CityFacts, size="large")

    assert dumps(found) == b'{"name":"Paris","size":"large"}'


def test_a_key_that_the_row_does_not_have_is_an_error() -> None:
    with pytest.raises(AttributeError):
        build_shape(City("Paris", 2_000_000), CityOfAnotherShape)


def test_words_are_described_as_a_choice() -> None:
    described = msgspec.json.schema(CityFacts)["$defs"]["CityFacts"]

    assert described["properties"]["size"] == {"type": "string", "enum": ["small", "large"]}
    assert described["required"] == ["name", "size"]


def test_two_shapes_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_described", {})
    reference(CityFacts)
    other = msgspec.defstruct("CityFacts", [("name", str)])

    with pytest.raises(TypeError, match="Two shapes are named CityFacts"):
        reference(other)


def test_warnings_come_last_and_need_a_place_in_the_answer() -> None:
    warning = KeyWarning(pointer="/nmae", detail="Not a field.", did_you_mean=["name"])

    found = add_warnings(FoundCity(name="Paris"), [warning])

    assert dumps(found) == (
        b'{"name":"Paris","warnings":[{"pointer":"/nmae","detail":"Not a field.","did_you_mean":["name"]}]}'
    )
    assert dumps(FoundCity(name="Paris")) == b'{"name":"Paris"}'
    assert add_warnings(None, [warning]) is None
    with pytest.raises(TypeError):
        add_warnings(CityFacts(name="Paris", size="large"), [warning])  # type: ignore[arg-type]
