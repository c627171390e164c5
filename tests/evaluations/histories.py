"""Histories as they are asked for."""

from __future__ import annotations

import itertools
from typing import Any

from evalsvc.evaluations.models import HistoryScore
from tests import leftovers
from tests.conftest import Caller
from tests.experiments.conftest import ok

NAMES = {"evaluator_id": "exact-match-2026-11-28", "profile_name": "patronus:exact-match"}
PATH = "/v1/history?evaluator=exact-match"
FULL = "full-history"
_ids = itertools.count(1)


def insert(caller: Caller, scores: list[float], **columns: Any) -> None:
    leftovers.spoil(caller.account.pk)
    HistoryScore.objects.using("system").bulk_create(
        HistoryScore(
            **{"account_id": caller.account.pk, "score": score, "passed": score >= 0.5, "source": "evaluation"}
            | {"source_id": next(_ids), **NAMES, **columns}
        )
        for score in scores
    )


def asked(caller: Caller, strategy: Any, evaluator: str = "exact-match", **fields: Any) -> dict[str, Any]:
    """The interval of a call that captures nothing."""
    body = {"output": "x", "label": "x", "confidence_interval_strategy": strategy} | fields
    (result,) = ok(caller.evaluate(evaluator, **body))["results"]
    return result["evaluation_result"]["additional_info"]["confidence_interval"]


def of_history(caller: Caller, query: str = "", path: str = PATH) -> dict[str, Any]:
    return ok(caller.get(path + query))["confidence_interval"]


def n_of(interval: dict[str, Any]) -> int:
    return sum(part["n"] for part in interval["sources"].values())
