"""Datasets as Patronus' clients upload, list and read them, held against the models of the installed SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest
from patronus.api import api_types

from tests.conftest import Caller
from tests.datasets.shapes import body_of, examples, lines, refusals, upload

OUTPUTS = {"evaluated_model_output": "It is Paris.", "evaluated_model_system_prompt": "Be short."}


def rows(caller: Caller, answer: Any) -> list[dict[str, Any]]:
    """The rows of a new dataset, after the SDK's own check of them."""
    assert answer.status_code == 200, answer.content
    body = body_of(caller.get(f"/v1/datasets/{answer.json()['dataset_id']}/data"))
    api_types.ListDatasetData.model_validate_json(body)
    found: list[dict[str, Any]] = json.loads(body)["data"]
    return found


def mapped(caller: Caller, row: dict[str, Any], mapping: Any) -> Any:
    return upload(caller, lines(row), custom_field_mapping=json.dumps(mapping))


def test_the_sdk_takes_every_answer(alice: Caller, bob: Caller) -> None:
    made = upload(alice, lines({"input": "q", "expected": "a"}), dataset_name="mine", dataset_description="d")
    checked = api_types.CreateDatasetResponse.model_validate_json(made.content)
    listed = api_types.ListDatasetsResponse.model_validate_json(bob.get("/v1/datasets?type=").content)

    assert (checked.dataset.name, checked.dataset.samples, checked.dataset.type) == ("mine", 1, "User Managed")
    assert [row.id for row in listed.datasets] == [checked.dataset_id]
    assert bob.get("/v1/datasets?type=Patronus Managed").json() == {"datasets": []}


def test_outputs_may_be_uploaded_alone(alice: Caller) -> None:
    answer = upload(alice, lines(OUTPUTS))

    assert rows(alice, answer)[0] | OUTPUTS | {"evaluated_model_input": None} == rows(alice, answer)[0]
    again = upload(alice, lines(*examples(alice, answer)))
    assert examples(alice, again) == examples(alice, answer)
    assert "/file/line/1/input" in refusals(upload(alice, lines({"note": "neither"})))


@pytest.mark.parametrize("names", [("task_output", "system_prompt"), tuple(OUTPUTS)], ids=["newest", "older"])
def test_both_dialects_of_columns_are_read(alice: Caller, names: tuple[str, str]) -> None:
    row = {"task_input": "Capital?"} | dict(zip(names, OUTPUTS.values(), strict=True))
    found = rows(alice, upload(alice, lines(row)))[0]

    assert {name: found[name] for name in OUTPUTS} == OUTPUTS
    assert found["evaluated_model_input"] == "Capital?"


@pytest.mark.parametrize(
    ("params", "read"),
    [
        ({"temperature": 0.5, "n": 1, "model": "m"}, {"temperature": 0.5, "n": 1, "model": "m"}),
        ({"stop": ["a"], "seed": None}, {"stop": '["a"]'}),
        ('{"n": 1}', {"n": 1}),
        ("no JSON", None),
        ([1], None),
    ],
    ids=["flat", "deep", "text", "other text", "list"],
)
def test_parameters_are_texts_and_numbers(alice: Caller, params: Any, read: Any) -> None:
    answer = upload(alice, lines({"input": "x", "meta_evaluated_model_params": params}))

    assert rows(alice, answer)[0]["meta_evaluated_model_params"] == read


def test_a_mapping_may_name_any_field_of_the_wire(alice: Caller) -> None:
    mapping = {"evaluated_model_input": "Frage", "evaluated_model_output": "Antwort", "meta_evaluated_model_name": "m"}
    found = rows(alice, mapped(alice, {"Frage": "q", "Antwort": "a", "m": "gpt"}, mapping))[0]

    assert [found[name] for name in mapping] == ["q", "a", "gpt"]


def test_several_columns_become_one_field(alice: Caller) -> None:
    row = {"title": "T", "body": "B", "first": "c1", "more": ["c2", "c3"]}
    mapping = {
        "evaluated_model_input": ["title", "body"],
        "evaluated_model_retrieved_context": ["first", "more"],
    }
    found = rows(alice, mapped(alice, row, mapping))[0]

    assert found["evaluated_model_input"] == "T\nB"
    assert found["evaluated_model_retrieved_context"] == ["c1", "c2", "c3"]


def test_several_columns_of_text_are_several_contexts(alice: Caller) -> None:
    mapping = {"contexts": ["first", "second"]}
    found = rows(alice, mapped(alice, {"input": "q", "first": "c1", "second": "c2"}, mapping))[0]

    assert found["evaluated_model_retrieved_context"] == ["c1", "c2"]


@pytest.mark.parametrize("columns", [[], [1], [""], None, 7, {}])
def test_a_mapping_to_no_column_is_refused(alice: Caller, columns: Any) -> None:
    answer = mapped(alice, {"input": "q"}, {"input": columns})

    assert list(refusals(answer)) == ["/custom_field_mapping/input"]


def test_null_changes_nothing(alice: Caller) -> None:
    made = upload(alice, lines({"input": "q"}), dataset_name="kept", dataset_description="too").json()
    changed = alice.patch(f"/v1/datasets/{made['dataset_id']}", {"name": None, "description": None}).json()

    assert (changed["dataset"]["name"], changed["dataset"]["description"]) == ("kept", "too")


def test_strangers_find_nothing(alice: Caller, charlie: Caller) -> None:
    made = upload(alice, lines({"input": "q"})).json()

    assert charlie.get("/v1/datasets").json() == {"datasets": []}
    assert charlie.get(f"/v1/datasets/{made['dataset_id']}/data").status_code == 404
