"""Metrics of ranks at a `k` of their own: `{"name": "recall", "k": 3}` over documents that are stored already."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalsvc.catalog.resolve import ResolvedEvaluator
from evaluators.families.metrics import RANKING_NAMES

EVALUATOR = "metrics"
NAMES = frozenset(name for name, _ in RANKING_NAMES.values())
_at = re.compile(r"(?P<name>[a-z-]+)(?:@(?P<k>[1-9][0-9]{0,4}))?")


def add_ranking_evaluator(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a requested metric with the evaluator that its name implies: `recall`, `ndcg`, or `recall@3`."""
    match = _at.fullmatch(str(row["name"]))
    has_own = row.get("evaluator") not in (None, "", row["name"]) or row.get("source")
    if has_own or match is None or match["name"] not in NAMES:
        return row
    k = row.get("k") or (int(match["k"]) if match["k"] else None)
    # All profiles of precision have a cut-off; any of them will do, since `k` replaces it.
    criteria = match["name"] if match["name"] != "precision" or k is None else "precision-at-1"
    return {**row, "evaluator": EVALUATOR, "criteria": row.get("criteria") or criteria, "k": k}


def problem_with_ranks(run: ResolvedEvaluator | None, k: int | None) -> str | None:
    """Return why a metric cannot read only the first k ranks; None when it can, or need not."""
    if k is None:
        return None
    properties = run.family.settings_schema.get("properties") if run is not None else None
    if run is None or not isinstance(properties, dict) or "k" not in properties:
        return "`k` is how many ranks a metric of retrieved documents reads, and this is none."
    wrong = run.family.check_settings({**run.profile.settings, "k": k})
    return "; ".join(f"{problem.pointer} {problem.detail}" for problem in wrong) or None


def limit_ranks(run: ResolvedEvaluator, k: int | None) -> ResolvedEvaluator:
    """Return what runs, reading only the first k ranks."""
    if k is None:
        return run
    return replace(run, profile=replace(run.profile, settings={**run.profile.settings, "k": k}))
