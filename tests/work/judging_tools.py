"""Evaluations that wait for a judge, and their claims, for tests."""

from __future__ import annotations

from typing import Any

from evalsvc.catalog.models import Profile
from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.workers.judging import store
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation
from tests.conftest import Caller
from tests.factories import make_profile

RUNS = "judge-2026-11-20"


def profile(caller: Caller, connection: str | None = None) -> Profile:
    """Make a profile that names a connection; nobody is asked."""
    config = {"pass_criteria": "It is polite."} | ({"connection": connection} if connection else {})
    name = make_profile(caller, "judge", **config)["name"]
    return Profile.objects.using("system").get(account_id=caller.account.pk, name=name)


def waits(caller: Caller, of: Profile, n: int = 1, **request: Any) -> list[int]:
    """Keep n requests whose one evaluation waits for a judge; nobody is told."""
    row = {"position": 0, "evaluator_id": RUNS, "runs": RUNS, "profile_id": str(of.pk), "profile_name": of.name}
    row |= {"profile_revision": 1, "family": "judge", "explain_strategy": "always", "lane": "judge"}
    row |= {"status": "pending", "in_history": False}
    base = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": "Good morning."} | request
    account_id = caller.account.pk
    kept = [captures.capture(account_id, base, [row], [None], epoch=None, lease_seconds=600) for _ in range(n)]
    return [one.request_id for one in kept]


def claim(
    limit: int = 100, *, slots: int = 100, held: dict[tuple[int, str], int] | None = None
) -> list[ClaimedEvaluation]:
    held = held or {}
    return store.claim_judging(limit=limit, slots=slots, lends=sum(held.values()) >= slots, held=held)
