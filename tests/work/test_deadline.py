"""An evaluation computes for so long and no longer, on a worker and in a web process, and is not tried again."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
from django.test import override_settings

from evalsvc.evaluations.evaluate import accept
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import score_sample
from evalsvc.evaluations.workers import lane
from evalsvc.evaluations.workers.deadline import GRACE_SECONDS, interrupted_after
from evaluators.budget import OverBudget
from evaluators.registry import find_evaluator
from tests.conftest import Caller
from tests.evaluators.samples import make_sample

SLOW = r"(?s)(?:.?){900}\pN{30}"
REGEXES = {"type": "all", "checks": [{"type": "regex", "pattern": f"{SLOW}{n}"} for n in range(50)]}
CHEAP = {"type": "string", "operation": "contains", "value": "words"}


def spin(*args: Any, **kwargs: Any) -> Any:
    """Compute for ever, deaf to what is raised but once."""
    try:
        while True:
            pass
    except Exception:
        while True:
            pass


def rows(caller: Caller) -> list[Evaluation]:
    return list(Evaluation.objects.using("system").filter(account_id=caller.account.pk).order_by("position"))


def test_what_does_not_look_at_its_budget_is_interrupted() -> None:
    with pytest.raises(OverBudget, match="ended after"), interrupted_after(0.1 - GRACE_SECONDS):
        spin()
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_thread_is_left_alone() -> None:
    found = []

    def run() -> None:
        with interrupted_after(0.001 - GRACE_SECONDS):
            found.append(signal.getitimer(signal.ITIMER_PROF))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(0.0, 0.0)]


def test_a_family_that_computes_for_ever_is_too_long_on_a_worker(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, _ = find_evaluator("exact-match-2026-11-28") or pytest.fail()
    row = Evaluation(account_id=alice.account.pk, runs="exact-match-2026-11-28", n_attempts=1, explain_strategy="never")
    monkeypatch.setattr(type(family), "score", spin)
    with override_settings(COMPUTE_SECONDS=0.1 - GRACE_SECONDS):
        verdict = lane.compute_verdict(row, {}, make_sample(output="a", gold="a"))

    assert (verdict.status, verdict.error_code) == ("validation_error", "input_too_long")


def test_a_score_looks_at_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    family, spec = find_evaluator("custom") or pytest.fail()
    with override_settings(COMPUTE_SECONDS=-1):
        verdict = score_sample(family, spec, CHEAP, make_sample(output="a"), "never")

    assert (verdict.status, verdict.error_code) == ("validation_error", "input_too_long")


@pytest.mark.parametrize("n_chars", [20_000, 479_000])
def test_the_attack_is_left_to_a_worker_and_ends_there_at_the_first_attempt(
    alice: Caller, n_chars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a web process 20 000 characters were one call of 64 s, and on a worker a longer text was tried five times."""
    wanted = [{"evaluator": "custom", "profile_inline": config} for config in (CHEAP, REGEXES, CHEAP)]
    body = {"evaluators": wanted, "evaluated_model_output": ("some words " * 44_000)[:n_chars]}
    with monkeypatch.context() as patch:
        # What is left to a worker is not begun: a call of the engine could not be ended here.
        patch.setattr(accept, "INLINE_SECONDS", 1.0)
        answer = alice.post("/v1/evaluate", body, prefer="wait=0").json()
    statuses = [result["status"] for result in answer["results"]]
    assert statuses == (["success", "pending", "pending"] if n_chars == 20_000 else ["pending"] * 3)

    with override_settings(COMPUTE_SECONDS=1):
        lane.work_off(account_id=alice.account.pk, request_id=int(answer["id"]), lane="cpu", expected_attempts=0)

    assert [row.status for row in rows(alice)] == ["success", "validation_error", "success"]
    attacked = rows(alice)[1]
    assert (attacked.error_code, attacked.n_attempts) == ("input_too_long", 1)
    assert "Send less text" in (attacked.error_message or "")
