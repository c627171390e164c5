"""Evals: made, read, listed, changed and deleted by OpenAI's client for Python."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest
from openai import AzureOpenAI, OpenAI

from tests.conftest import Caller
from tests.openai_evals.shapes import SAME, make_eval, make_run, row


def test_an_eval_is_answered_as_it_was_sent(client: OpenAI) -> None:
    made = make_eval(client, SAME, SAME, name="e", metadata={"team": "a"})

    found = client.evals.retrieve(made.id)
    assert found.to_dict() == made.to_dict()
    assert (made.object, made.name, made.metadata) == ("eval", "e", {"team": "a"})
    assert type(made.created_at) is int
    config = made.to_dict()["data_source_config"]
    assert config["type"] == "custom"
    assert config["schema"]["properties"]["item"]["required"] == ["category"]
    assert config["schema"]["required"] == ["item", "sample"]
    first, second = made.to_dict()["testing_criteria"]
    assert {name: first[name] for name in SAME} == SAME
    assert first["id"].startswith("Same-")
    assert first["id"] != second["id"]


def test_changes_leave_what_is_not_sent(client: OpenAI) -> None:
    made = make_eval(client, name="e", metadata={"a": "1", "b": "2"})

    assert client.evals.update(made.id, name="f").metadata == {"a": "1", "b": "2"}
    changed = client.evals.update(made.id, metadata={"c": "3"})
    assert (changed.name, changed.metadata) == ("f", {"c": "3"})
    assert client.evals.update(made.id, metadata=None).metadata == {}


def test_pages_hold_each_eval_once(client: OpenAI) -> None:
    ids = [make_eval(client, name=str(i)).id for i in range(3)]

    assert [row.id for row in client.evals.list(limit=2)] == ids
    assert [row.id for row in client.evals.list(limit=1, order="desc")] == ids[::-1]
    first = client.evals.list(limit=2)
    assert first.has_more
    assert first.model_extra is not None
    assert (first.model_extra["first_id"], first.model_extra["last_id"]) == (ids[0], ids[1])
    client.evals.update(ids[0], name="last")
    assert [row.id for row in client.evals.list(limit=1, order_by="updated_at")] == [*ids[1:], ids[0]]


def test_a_deleted_eval_is_gone(client: OpenAI) -> None:
    made = make_eval(client)
    make_run(client, made.id, [row("a", "a")])

    gone = client.evals.delete(made.id)
    assert (gone.object, gone.deleted, gone.eval_id) == ("eval.deleted", True, made.id)
    with pytest.raises(openai.NotFoundError) as refusal:
        client.evals.retrieve(made.id)
    assert refusal.value.code == "not_found"
    assert refusal.value.type == "invalid_request_error"
    assert refusal.value.request_id


def test_what_is_sent_twice_by_the_client_is_made_once(client: OpenAI, alice: Caller, web: str) -> None:
    body = {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [SAME], "name": "once"}
    answers = [
        httpx.post(
            f"{web}/v1/evals",
            json=body,
            headers={"Authorization": f"Bearer {alice.key}", "X-Stainless-Retry-Count": str(n)},
        )
        for n in range(2)
    ]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert len(list(client.evals.list())) == 1


def test_unknown_parameters_are_ignored(client: OpenAI) -> None:
    made = make_eval(client, {**SAME, "evaluation_level": "x"}, extra_body={"evaluation_level": "turn"})
    assert [row.id for row in client.evals.list(extra_query={"api-version": "1"})] == [made.id]


def test_azures_client_sends_its_key_by_another_name(web: str, alice: Caller) -> None:
    azure = AzureOpenAI(base_url=f"{web}/v1", api_key=alice.key, api_version="2025-01-01")
    assert make_eval(azure, name="azure").name == "azure"


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"testing_criteria": []}, "testing_criteria"),
        ({"testing_criteria": [{**SAME, "operation": "contains"}]}, "testing_criteria[0].operation"),
        ({"testing_criteria": [SAME, {**SAME, "name": ""}]}, "testing_criteria[1].name"),
        ({"testing_criteria": [{**SAME, "type": "python", "source": "x"}]}, "testing_criteria[0].type"),
        ({"testing_criteria": [{**SAME, "type": "multi"}]}, "testing_criteria[0].type"),
        ({"testing_criteria": [{**SAME, "input": "{{sample.output_audio}}"}]}, "testing_criteria[0].input"),
        (
            {"testing_criteria": [{"type": "score_model", "name": "m", "model": "no-such", "input": []}]},
            "testing_criteria[0].model",
        ),
        ({"data_source_config": {"type": "files"}}, "data_source_config.type"),
        ({"data_source_config": {"type": "custom"}}, "data_source_config.item_schema"),
        (
            {"data_source_config": {"type": "custom", "item_schema": {"type": "no"}}},
            "data_source_config.item_schema.type",
        ),
        (
            {
                "data_source_config": {
                    "type": "custom",
                    "item_schema": {"properties": {}, "additionalProperties": False},
                }
            },
            "testing_criteria[0].reference",
        ),
        ({"metadata": {"a": "x" * 513}}, "metadata.a"),
        ({"name": "x" * 256}, "name"),
    ],
)
def test_bad_input_is_400_with_the_field(client: OpenAI, changes: Any, param: str) -> None:
    body = {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [SAME]} | changes
    with pytest.raises(openai.BadRequestError) as refusal:
        client.evals.create(**body)

    assert refusal.value.param == param
    assert refusal.value.type == "invalid_request_error"
    assert refusal.value.message.startswith("Error code: 400 - ")
    assert list(client.evals.list()) == []


@pytest.mark.parametrize("query", [{"limit": 101}, {"limit": 0}, {"order": "up"}, {"after": "x"}])
def test_a_bad_query_is_400(client: OpenAI, query: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        client.evals.list(extra_query=query)
    assert refusal.value.param == next(iter(query))
