"""What calls of annotations answer is what /v1/openapi.json says they answer."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.annotations.shapes import ANNOTATE, CRITERIA, TYPES, annotate_body, criteria_body
from tests.conftest import Caller
from tests.contract.document import validated


@pytest.mark.parametrize("kind", TYPES)
def test_answers_are_as_described(alice: Caller, kind: str) -> None:
    document = Client().get("/v1/openapi.json").json()
    one = f"{CRITERIA}/{{id}}"

    made = validated(document, "post", CRITERIA, alice.post(CRITERIA, criteria_body(alice, kind)))
    criteria = made["annotation_criteria"]
    path = f"{CRITERIA}/{criteria['id']}"
    validated(document, "get", CRITERIA, alice.get(CRITERIA))
    validated(document, "get", one, alice.get(path))
    validated(document, "put", one, alice.call("PUT", path, criteria | {"name": "renamed", "description": None}))
    kept = validated(document, "post", ANNOTATE, alice.post(ANNOTATE, annotate_body(criteria)))
    refused = validated(document, "post", ANNOTATE, alice.post(ANNOTATE, {"log_id": "l"}))

    assert kept["evaluation"]["annotation_criteria_id"] == criteria["id"]
    assert refused["code"] == "validation_failed"
