"""UUIDs in the order of time."""

from __future__ import annotations

import time
import uuid

from evalsvc.evaluations.database.uuids import new_uuid
from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller


def test_it_is_of_version_7_and_tells_its_millisecond() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_uuid() for _ in range(1000)]
    after = time.time_ns() // 1_000_000

    assert {(one.version, one.variant) for one in made} == {(7, uuid.RFC_4122)}
    assert all(before <= one.int >> 80 <= after for one in made)
    assert [one.int >> 80 for one in made] == sorted(one.int >> 80 for one in made)
    assert len(set(made)) == 1000


def test_a_call_without_a_log_gets_one(alice: Caller) -> None:
    for _ in range(3):
        assert alice.evaluate("exact-match", output="a", gold_answer="a", capture="all").status_code == 200
        time.sleep(0.002)
    rows = Evaluation.objects.using("system").filter(account=alice.account).order_by("id")
    ids = [str(log_id) for log_id in rows.values_list("log_id", flat=True)]

    assert [uuid.UUID(id).version for id in ids] == [7, 7, 7]
    assert ids == sorted(ids)
