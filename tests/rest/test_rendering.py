"""Answers are written alike by both writers."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest

from evalsvc.rest.answering.renderers import dumps


@pytest.mark.parametrize("more", [{}, {"long": 10**30}], ids=["orjson", "json"])
def test_times_and_ids_are_written_as_the_schema_says(more: dict[str, int]) -> None:
    moment, id = datetime(2026, 11, 20, 22, 42, 49, 594227, tzinfo=UTC), uuid.uuid4()

    assert json.loads(dumps({"at": moment, "id": id, **more})) == {
        "at": "2026-11-20T22:42:49.594227+00:00",
        "id": str(id),
        **more,
    }
