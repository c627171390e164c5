"""Datasets for tests."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from evalsvc.datasets.models import Dataset, DatasetVersion, Example
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
