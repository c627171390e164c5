"""An answer that cannot be written ends its transaction like any other that fails."""

from __future__ import annotations

from unittest import mock

from django.db import connections

from evalsvc.rest.answering.renderers import OrjsonRenderer, dumps
from tests.conftest import Caller


def test_an_answer_that_cannot_be_written_leaves_no_transaction_open(alice: Caller, charlie: Caller) -> None:
    """What the same thread did next would be in it, as this account, and be lost with it."""
    with mock.patch.object(OrjsonRenderer, "render", side_effect=[TypeError("no JSON"), b"{}"]):
        assert alice.get("/v1/experiments").status_code == 500
    assert not connections["default"].in_atomic_block
    made = charlie.post("/v1/experiments", {"name": "after it"})
    assert made.status_code == 200
    connections["default"].close()
    assert charlie.get(f"/v1/experiments/{made.json()['experiment']['id']}").status_code == 200


def test_a_number_beyond_64_bits_is_written() -> None:
    assert dumps({"n": 10**20, "ok": "é"}) == '{"n":100000000000000000000,"ok":"é"}'.encode()
