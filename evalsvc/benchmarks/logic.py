"""What a benchmark measures by, written down so that a change of it is seen: evaluators, revisions, prompts, rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.catalog.prompts import read_prompts
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.plans import PlanSpec
from evalsvc.rest.problems import Problem, escape

# `errors` is the former name of `failures`: digests of older benchmarks stay the same.
RULES = ("seed", "level", "strategy", "use_fpc", "limit", "sample", "errors", "modes", "num_shards")
# Not part of how a score is computed.
OF_THE_MOMENT = ("added_at", "addition")


@dataclass(frozen=True, slots=True)
class LogicChange:
    """One thing that differs from what was frozen."""

    pointer: str
    was: Any
    now: Any

    def to_json(self) -> dict[str, Any]:
        """Return the change as JSON."""
        return {"pointer": self.pointer, "was": self.was, "now": self.now}


def resolve_logic(account: Account, spec: PlanSpec) -> dict[str, Any]:
    """Return what a plan measures by, resolved at this moment."""
    return {
        "dataset": {"content_hash": spec.version.content_hash, "n_examples": spec.version.n_examples},
        "primary_metric": spec.primary_metric,
        "metrics": [_metric_out(account, metric) for metric in spec.metrics],
        "rules": _rules(spec),
        "comparison": {"against": ["last", "best"], "metric": spec.primary_metric, "paired_by": "example"},
        "aggregation": {metric.name: metric.kind.name for metric in spec.metrics},
    }


def _rules(spec: PlanSpec) -> dict[str, Any]:
    rules = {name: spec.fields[name] for name in RULES if name in spec.fields}
    # Omitted without clusters, so that the digests of older benchmarks stay the same.
    clusters = spec.fields.get("cluster_by")
    return rules if clusters is None else {**rules, "cluster_by": clusters}


def _metric_out(account: Account, metric: Metric) -> dict[str, Any]:
    row = {name: value for name, value in metric.to_json().items() if name not in OF_THE_MOMENT}
    return row | {"prompts": _prompts(account, metric)}


def _prompts(account: Account, metric: Metric) -> dict[str, list[str]]:
    """Return the digests of the prompts of the metric's judge; none without a judge."""
    if metric.evaluator_id is None:
        return {}
    try:
        evaluator_prompts = read_prompts(account=account, evaluator=metric.evaluator_id, profile=metric.profile_name)
    except Problem:
        return {}
    digests: dict[str, list[str]] = {}
    for digest, question in evaluator_prompts.prompts:
        digests.setdefault(question.prompt_id, []).append(digest)
    # A prompt can have several variants, depending on the fields of a sample.
    return {name: sorted(variants) for name, variants in sorted(digests.items())}


def digest_of_logic(logic: Mapping[str, Any]) -> str:
    """Return the digest of what a benchmark measures by."""
    return hashlib.sha256(orjson.dumps(logic, option=orjson.OPT_SORT_KEYS)).hexdigest()


def changes_between(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[LogicChange]:
    """Return what differs, by JSON pointer, each at the deepest place where it does."""
    return list(_changes("", was, orjson.loads(orjson.dumps(now))))


def _changes(pointer: str, was: Any, now: Any) -> Iterator[LogicChange]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in {**was, **now}:
            yield from _changes(f"{pointer}/{escape(name)}", was.get(name), now.get(name))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, (previous, other) in enumerate(zip(was, now, strict=True)):
            yield from _changes(f"{pointer}/{i}", previous, other)
    elif was != now:
        yield LogicChange(pointer, was, now)
