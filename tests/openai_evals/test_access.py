"""Who may do what: no key, a key that only reads, and the key of another account, on each route."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from evalsvc.openai_evals.urls import urlpatterns
from tests.openai_evals.shapes import SAME, make_eval, make_run, row

Call = Callable[[OpenAI, "Things"], Any]
SOURCE: Any = {"type": "jsonl", "source": {"type": "file_content", "content": [row("a", "a")]}}
CONFIG: Any = {"type": "custom", "item_schema": {}}


class Things:
    """What Alice has."""

    def __init__(self, client: OpenAI) -> None:
        self.eval_id = make_eval(client, name="hers").id
        self.run_id = make_run(client, self.eval_id, [row("a", "a")]).id
        (item,) = client.evals.runs.output_items.list(self.run_id, eval_id=self.eval_id)
        self.item_id = item.id
        self.file_id = client.files.create(file=("f.jsonl", io.BytesIO(b"{}")), purpose="evals").id


READS: list[Call] = [
    lambda client, its: client.evals.retrieve(its.eval_id),
    lambda client, its: client.evals.runs.list(its.eval_id),
    lambda client, its: client.evals.runs.retrieve(its.run_id, eval_id=its.eval_id),
    lambda client, its: client.evals.runs.output_items.list(its.run_id, eval_id=its.eval_id),
    lambda client, its: client.evals.runs.output_items.retrieve(its.item_id, eval_id=its.eval_id, run_id=its.run_id),
    lambda client, its: client.files.retrieve(its.file_id),
    lambda client, its: client.files.content(its.file_id),
]
WRITES: list[Call] = [
    lambda client, its: client.evals.update(its.eval_id, name="x"),
    lambda client, its: client.evals.runs.create(its.eval_id, data_source=SOURCE),
    lambda client, its: client.evals.runs.cancel(its.run_id, eval_id=its.eval_id),
    lambda client, its: client.post(f"/evals/{its.eval_id}/runs/{its.run_id}", cast_to=dict),
    lambda client, its: client.evals.runs.delete(its.run_id, eval_id=its.eval_id),
    lambda client, its: client.evals.delete(its.eval_id),
    lambda client, its: client.files.delete(its.file_id),
]
NEW: list[Call] = [
    lambda client, its: client.evals.create(data_source_config=CONFIG, testing_criteria=[SAME]),  # type: ignore[list-item]
    lambda client, its: client.files.create(file=("f.jsonl", io.BytesIO(b"{}")), purpose="evals"),
]


def test_a_stranger_finds_nothing(client: OpenAI, stranger: OpenAI) -> None:
    its = Things(client)
    for call in (*READS, *WRITES):
        with pytest.raises(openai.NotFoundError) as refusal:
            call(stranger, its)
        assert refusal.value.body == {
            "message": "Nothing here.",
            "type": "invalid_request_error",
            "param": None,
            "code": "not_found",
        }
    assert list(stranger.evals.list()) == list(stranger.files.list()) == []
    assert client.evals.retrieve(its.eval_id).name == "hers"


def test_a_stranger_cannot_grade_a_file_of_hers(client: OpenAI, stranger: OpenAI) -> None:
    its = Things(client)
    with pytest.raises(openai.BadRequestError) as refusal:
        stranger.evals.runs.create(
            make_eval(stranger).id, data_source={"type": "jsonl", "source": {"type": "file_id", "id": its.file_id}}
        )
    assert refusal.value.param == "data_source.source.id"


def test_a_key_that_reads_reads_alone(client: OpenAI, reader: OpenAI) -> None:
    its = Things(client)
    for read in READS:
        read(reader, its)
    for write in (*WRITES, *NEW):
        with pytest.raises(openai.PermissionDeniedError) as refusal:
            write(reader, its)
        assert refusal.value.code == "read_only_key"


def test_a_key_is_asked_for_before_anything_is_looked_up(web: str) -> None:
    for pattern in urlpatterns:
        path = str(pattern.pattern).replace("<path:rest>", "a/b/c/d/e")
        answer = httpx.get(f"{web}/{path}")
        assert answer.status_code == 401, path
        assert answer.json()["error"]["code"] == "invalid_api_key"
    with pytest.raises(openai.AuthenticationError):
        OpenAI(base_url=f"{web}/v1", api_key="ek_wrong.wrong").evals.list()


def test_addresses_that_are_none_are_404(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as refusal:
        client.get("/evals/eval_1/runs/evalrun_1/nothing", cast_to=dict)
    assert refusal.value.code == "not_found"


def test_a_method_that_is_none_is_405(client: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as refusal:
        client.put("/evals", cast_to=dict)
    assert (refusal.value.status_code, refusal.value.code) == (405, "method_not_allowed")
