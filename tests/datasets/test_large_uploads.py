"""Uploads with an Idempotency-Key that are too large for memory: Django keeps them on disk, and all of them is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings
from django.test.client import BOUNDARY, encode_multipart

from tests.conftest import Caller
from tests.datasets.shapes import examples, lines, send, upload
from tests.experiments.conftest import EXACT
from tests.factories import make_dataset, make_experiment, ok
from tests.reports.bundles import exported

KEY = {"Idempotency_Key": "large"}
ROWS = lines(*({"input": "q", "output": "a", "expected": "a", "id": str(i)} for i in range(40)))


@pytest.fixture(autouse=True)
def uploads_on_disk() -> Iterator[None]:
    with override_settings(FILE_UPLOAD_MAX_MEMORY_SIZE=0):
        yield


def test_a_dataset_has_all_rows(alice: Caller) -> None:
    first, second = (upload(alice, ROWS, dataset_name="d", headers=KEY) for _ in range(2))
    assert len(examples(alice, first)) == 40
    assert first.content == second.content


def test_a_version_has_all_rows(alice: Caller) -> None:
    path = f"/v1/datasets/{make_dataset(alice, n=3)}/versions"
    assert ok(upload(alice, ROWS, path=path, headers=KEY))["version"]["n_examples"] == 40


def test_a_batch_has_all_rows(alice: Caller) -> None:
    answer = ok(upload(alice, ROWS, path="/v1/score/batch", headers=KEY, metrics=json.dumps([EXACT])))
    assert len(answer["results"]) == 40


@pytest.mark.parametrize("as_form", [True, False])
def test_a_bundle_is_imported(alice: Caller, charlie: Caller, as_form: bool) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "mine", "kind": "push"}])
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/stop", {"config_ids": "all"}))
    bundle = exported(alice, made["id"])
    path, meta = "/v1/experiments/import", dict[str, Any](KEY)
    form = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("b.zip", bundle), "name": "copy"})
    answer = (
        send(charlie, path, form, **KEY)
        if as_form
        else charlie.post(path, raw=bundle, Content_Type="application/zip", **meta)
    )
    assert ok(answer)["experiment"]["name"] == ("copy" if as_form else made["name"])
