"""Files of rows."""

from __future__ import annotations

import io
from typing import Any

import openai
import pytest
from openai import OpenAI

LINES = b'{"item": {"category": "a"}}\n\n{"item": {"category": "b"}}\n'


def upload(client: OpenAI, content: bytes = LINES, **fields: Any) -> Any:
    return client.files.create(file=("rows.jsonl", io.BytesIO(content)), **({"purpose": "evals"} | fields))


def test_a_file_comes_back_as_it_was(client: OpenAI) -> None:
    file = upload(client)

    assert (file.object, file.bytes, file.filename, file.purpose) == ("file", len(LINES), "rows.jsonl", "evals")
    assert client.files.wait_for_processing(file.id) == file
    assert client.files.content(file.id).read() == LINES
    assert [row.id for row in client.files.list(purpose="evals")] == [file.id]
    assert list(client.files.list(purpose="batch")) == []


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "large"}])
def test_a_file_that_is_too_large_for_memory_comes_back(client: OpenAI, headers: Any) -> None:
    content = LINES * 50_000
    file = upload(client, content, extra_headers=headers)

    assert file.bytes == len(content) > 2_621_440
    assert client.files.content(file.id).read() == content


def test_a_deleted_file_is_gone(client: OpenAI) -> None:
    file = upload(client)
    assert client.files.delete(file.id).deleted
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(file.id)


def test_a_file_may_expire(client: OpenAI) -> None:
    file = upload(client, expires_after={"anchor": "created_at", "seconds": 3600})
    assert file.expires_at is not None
    assert abs(file.expires_at - file.created_at - 3600) <= 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"purpose": "batch"}, "purpose"),
        ({"expires_after": {"anchor": "created_at", "seconds": 1}}, "expires_after.seconds"),
        ({"expires_after": {"anchor": "now", "seconds": 3600}}, "expires_after.anchor"),
    ],
)
def test_bad_fields_are_400(client: OpenAI, fields: Any, param: str) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        upload(client, **fields)
    assert refusal.value.param == param
    assert list(client.files.list()) == []
