"""Searches as `patronus-api` writes them: every operation, nested as deep as its types allow."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from patronus_api.types import evaluation_search_params

from tests.contract.patronus_clients import Called
from tests.contract.patronus_exercises import LOG

ROWS = {
    "a": {"evaluator_id": "tone", "score": 0.25, "pass": False, "app": "shop", "explanation": "Too Rude."},
    "b": {"evaluator_id": "tone", "score": 0.5, "pass": True, "app": "desk", "explanation": "too_dry"},
    "c": {"evaluator_id": "length", "score": 0.75, "pass": True, "app": "shop"},
}


@pytest.fixture
def names(client: Called) -> dict[str, str]:
    """The names of three evaluations, by their ids."""
    rows = [row | {"log_id": LOG, "tags": {"name": name}} for name, row in ROWS.items()]
    kept = client.evaluations.batch_create(evaluations=rows).evaluations
    return {row.id: row.tags["name"] for row in kept}


def found(client: Called, names: dict[str, str], *filters: Any) -> str:
    """Search; return the names that were found, in order of the alphabet."""
    return "".join(sorted(names[row.id] for row in client.evaluations.search(filters=filters).evaluations))


def leaf(field: str, operation: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operation": operation, "value": value}


LEAVES = [
    (("explanation", "starts_with", "Too"), "a"),
    (("explanation", "ends_with", "Rude."), "a"),
    (("explanation", "like", "%oo_dry"), "b"),
    (("explanation", "ilike", "too%"), "ab"),
    (("explanation", "eq", None), "c"),
    (("explanation", "ne", None), "ab"),
    (("score", "eq", 0.5), "b"),
    (("score", "ne", 0.5), "ac"),
    (("score", "lt", 0.5), "a"),
    (("score", "le", 0.5), "ab"),
    (("score", "gt", 0.5), "c"),
    (("score", "ge", 0.5), "bc"),
    (("app", "in", ["shop", "nowhere"]), "ac"),
    (("app", "in", []), ""),
    (("pass", "eq", True), "bc"),
    (("evaluator_id", "eq", "external:length"), "c"),
    (("evaluation_type", "eq", "client_evaluation"), "abc"),
    (("evaluation_type", "eq", "patronus_evaluation"), ""),
    (("created_at", "gt", "2026-01-01T00:00:00Z"), "abc"),
    (("log_id", "in", [LOG]), "abc"),
]


@pytest.mark.parametrize(("filter", "expected"), LEAVES, ids=lambda value: "-".join(map(str, value))[:60])
def test_an_operation(client: Called, names: dict[str, str], filter: tuple[Any, ...], expected: str) -> None:
    assert found(client, names, leaf(*filter)) == expected


def test_every_operation_is_among_them() -> None:
    literal, _ = get_args(get_type_hints(evaluation_search_params.Filter)["operation"])

    assert {filter[1] for filter, _ in LEAVES} == set(get_args(literal))


SHOP, DESK = leaf("app", "eq", "shop"), leaf("app", "eq", "desk")
PASSED, HIGH = leaf("pass", "eq", True), leaf("score", "gt", 0.5)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], "abc"),
        ([SHOP, PASSED], "c"),
        ([{"and_": [SHOP, PASSED]}], "c"),
        ([{"or_": [DESK, HIGH]}], "bc"),
        ([{"or_": [{"and_": [SHOP, HIGH]}, {"and_": [DESK, PASSED]}]}], "bc"),
        ([{"and_": [{"or_": [SHOP, DESK]}, {"or_": [PASSED, HIGH]}]}, SHOP], "c"),
        ([{"or_": [{"and_": [SHOP, {"or_": [HIGH, leaf("score", "lt", 0.3)]}]}]}], "ac"),
        ([SHOP | {"or_": [PASSED]}], "c"),
    ],
    ids=[*("all", "two", "and", "or", "or-of-and", "and-of-or", "three-deep", "leaf-with-or")],
)
def test_filters_nest(client: Called, names: dict[str, str], filters: list[Any], expected: str) -> None:
    assert found(client, names, *filters) == expected


def test_it_answers_newest_first_and_a_thousand_at_most(client: Called) -> None:
    rows = [{"evaluator_id": "tone", "log_id": LOG, "score": score / 1000} for score in range(1000)]
    for _ in range(2):
        client.evaluations.batch_create(evaluations=rows)
        rows = [row | {"app": "second"} for row in rows]

    answer = client.evaluations.search().evaluations

    assert len(answer) == 1000
    assert {row.app for row in answer} == {"second"}
