"""Datasets for tests."""

from __future__ import annotations

import hashlib
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.schema import Shape
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller


def new_version(caller: Caller, n: int = 2) -> DatasetVersion:
    """A dataset with one version of `n` examples, written without the importers."""
    with account_scope(caller.account.pk):
        dataset = Dataset.objects.create(account=caller.account, name=uuid.uuid4().hex, n_versions=1)
        shape: dict[str, Any] = {"number": 1, "content_hash": uuid.uuid4().hex, "format": "jsonl"}
        schemas: dict[str, Any] = {"input_schema": {"type": "string"}, "expected_schema": {"type": "string"}}
        version = DatasetVersion.objects.create(
            account=caller.account, dataset=dataset, n_examples=n, **shape, **schemas
        )
        Example.objects.bulk_create(
            Example(
                account=caller.account,
                version=version,
                position=position,
                key=str(position + 1),
                input=f"question {position}",
                expected=f"answer {position}",
                digest=hashlib.sha256(str(position).encode()).digest(),
            )
            for position in range(n)
        )
    return version


def upload(
    caller: Caller,
    content: bytes | dict[str, bytes],
    name: str = "rows.jsonl",
    *,
    path: str = "/v1/datasets",
    headers: dict[str, str] | None = None,
    **fields: str,
) -> Any:
    """POST a form with one file, or with several by their names."""
    files = content if isinstance(content, dict) else {name: content}
    parts = [SimpleUploadedFile(one, data) for one, data in files.items()]
    if path == "/v1/datasets":
        fields = {"dataset_name": uuid.uuid4().hex} | fields
    body = encode_multipart(BOUNDARY, {**fields, "file": parts})
    return send(caller, path, body, **(headers or {}))


def send(caller: Caller, path: str, body: bytes, *, content_type: str = MULTIPART_CONTENT, **headers: str) -> Any:
    """POST a body of any type."""
    meta: dict[str, Any] = {"HTTP_X_API_KEY": caller.key} | {
        f"HTTP_{name.upper()}": value for name, value in headers.items()
    }
    client = Client(raise_request_exception=False)
    return client.generic("POST", path, body, content_type=content_type, **meta)


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def examples(caller: Caller, answer: Any) -> list[dict[str, Any]]:
    """The rows of the dataset that an upload made, as its download has them."""
    assert answer.status_code == 200, answer.content
    path = f"/v1/datasets/{answer.json()['dataset_id']}/jsonl"
    return [json.loads(line) for line in body_of(caller.get(path)).splitlines()]


def body_of(answer: Any) -> bytes:
    """The bytes of a stream."""
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content)


def refusals(answer: Any) -> dict[str, str]:
    """What a refused upload says, by pointer."""
    assert answer.status_code == 422, answer.content
    return {error["pointer"]: error["detail"] for error in answer.json()["errors"]}


def n_stored(caller: Caller) -> tuple[int, int, int]:
    """How many datasets, versions and examples the account has."""
    models = (Dataset, DatasetVersion, Example)
    dataset, version, example = (
        model.objects.using("system").filter(account=caller.account).count() for model in models
    )
    return dataset, version, example


def schema_of(*seen: Any) -> dict[str, Any]:
    shape = Shape()
    for value in seen:
        shape.add(value)
    return shape.schema()


def at_once(n: int, verb: Any) -> list[Any]:
    """Run a call in several threads and return the answers."""

    def run(i: int) -> Any:
        try:
            return verb(i)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))
