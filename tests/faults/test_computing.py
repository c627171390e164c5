"""Costly patterns of one account beside another's evaluations, through real processes that also die."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest

from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller, findings, wait_until
from tests.faults.conftest import Service

pytestmark = pytest.mark.slow

SLOW = r"(?s)(?:.?){900}\pN{30}"
REGEXES = {"type": "all", "checks": [{"type": "regex", "pattern": f"{SLOW}{n}"} for n in range(50)]}
N_ATTACKS = 6


@pytest.fixture(scope="module", autouse=True)
def _three_seconds() -> Iterator[None]:
    """Let an evaluation compute for three seconds, and no lease end: it is the order of things that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "EVALSVC_COMPUTE_SECONDS", "3")
        patch.setitem(os.environ, "EVALSVC_WORK_LEASE_SECONDS", "300")
        yield


def post(service: Service, caller: Caller, body: dict[str, Any], prefer: str) -> Any:
    headers = {"X-API-KEY": caller.key, "Prefer": prefer}
    answer = httpx.post(f"{service.url}/v1/evaluate", json=body, headers=headers, timeout=120)
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


def attack(service: Service, caller: Caller, *, n_chars: int) -> Any:
    body = {"evaluators": [{"evaluator": "custom", "profile_inline": REGEXES}], "capture": "all"}
    text = ("some words of a text, " * 22_000)[:n_chars]
    return post(service, caller, body | {"evaluated_model_output": text}, "respond-async")


def judge_tone(service: Service, caller: Caller) -> str:
    body = {"evaluators": [{"evaluator": "toxicity"}], "evaluated_model_output": "You are very kind."}
    return str(post(service, caller, body, "wait=60")["results"][0]["status"])


def children_of_workers() -> list[psutil.Process]:
    """The processes of every pool that this one has started and that is still there."""
    workers = [child for child in psutil.Process().children() if {"celery", "worker"} <= set(child.cmdline())]
    return [child for worker in workers for child in worker.children()]


def rows(caller: Caller) -> Any:
    return Evaluation.objects.using("system").filter(account_id=caller.account.pk)


@pytest.mark.timeout(600)
def test_costly_patterns_of_one_account_hold_nobody_else_up(service: Service, alice: Caller, charlie: Caller) -> None:
    """Two such requests stopped the workers of all for minutes. At most what is begun, one a process, is waited for."""
    assert judge_tone(service, alice) == "success"
    answers = [attack(service, charlie, n_chars=479_000) for _ in range(N_ATTACKS)]
    for _ in range(3):
        assert judge_tone(service, alice) == "success"

    wait_until(lambda: not rows(charlie).filter(status="pending").exists(), seconds=300, pause=0.5)
    # In the order of requests each of hers would have waited for all of his.
    for hers in rows(alice):
        between = {"completed_at__gt": hers.created_at, "completed_at__lt": hers.completed_at}
        assert rows(charlie).filter(**between).count() <= 3
    ended = set(rows(charlie).values_list("status", "error_code", "n_attempts"))
    # All at the first attempt. A fast machine gets through some of them in the time that they have.
    assert ended <= {("validation_error", "input_too_long", 1), ("success", None, 1)}
    headers = {"X-API-KEY": alice.key}
    assert httpx.get(f"{service.url}/v1/evaluate/{answers[0]['id']}", headers=headers, timeout=60).status_code == 404
    assert findings(alice, charlie) == {}


@pytest.mark.timeout(600)
def test_what_a_killed_process_computed_is_computed_again_at_once(
    service: Service, alice: Caller, charlie: Caller
) -> None:
    attack(service, charlie, n_chars=479_000)
    begun = rows(charlie).filter(status="pending", n_attempts=1)
    wait_until(begun.exists)
    tone: list[str] = []
    hers = threading.Thread(target=lambda: tone.append(judge_tone(service, alice)))
    hers.start()

    # Whichever of them has it, of this worker or of the one that tests share: all are lost.
    for child in children_of_workers():
        child.kill()

    hers.join()
    assert tone == ["success"]
    wait_until(lambda: not rows(charlie).filter(status="pending").exists(), seconds=300, pause=0.5)
    # Long before its lease ends. Killed one after the other, the next may have had it from the one before.
    ((code, n_attempts),) = rows(charlie).values_list("error_code", "n_attempts")
    assert code in ("input_too_long", None) and n_attempts >= 2
    assert findings(alice, charlie) == {}
