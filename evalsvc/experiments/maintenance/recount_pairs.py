"""Recompute comparisons, evidence and interim analyses of an experiment from its scores, and report differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalsvc.experiments.inference.estimates.looks import recompute_looks
from evalsvc.experiments.inference.pairs import comparisons, evidence
from evalsvc.experiments.inference.pairs.comparisons import is_pairable, iter_pairs, read_comparisons
from evalsvc.experiments.inference.pairs.evidence import primary_metric, read_pairs, select_comparable_configs
from evalsvc.experiments.inference.pairs.sheet import Sheet
from evalsvc.experiments.models import Config, ExperimentPlan, Look

PAIRS_DIFFER = "the comparison of two configs differs from their scores"
EVIDENCE_DIFFERS = "the evidence of a pair differs from its scores"
LOOKS_DIFFER = "a look at a shard's end differs from the scores"
CHECKS = (PAIRS_DIFFER, EVIDENCE_DIFFERS, LOOKS_DIFFER)
LOOK_FIELDS = ("n", "n_error", "n_na", "value", "lower", "upper", "set_lower", "set_upper")
Ends = dict[tuple[int, int], int]


def find_pair_differences(experiment_id: int, *, is_complete: bool | None = None) -> Iterator[dict[str, object]]:
    """Yield every difference. Rows that are missing or behind count only in a closed experiment."""
    plan = ExperimentPlan.objects.filter(pk=experiment_id).first()
    if plan is None or plan.state == ExperimentPlan.State.DRAFT:
        return
    is_complete = plan.is_closed if is_complete is None else is_complete
    configs = select_comparable_configs(Config.objects.filter(experiment_id=experiment_id).order_by("arrival"))
    metric = primary_metric(plan)
    if is_pairable(metric):
        sheet = Sheet(plan, metric, [config.pk for config in configs])
        yield from _diff_comparisons(plan, configs, sheet, is_complete)
        if metric.is_comparable:
            yield from _diff_evidence(plan, configs, sheet, is_complete)
    yield from _diff_looks(plan, configs, is_complete)


def _diff_comparisons(
    plan: ExperimentPlan, configs: Sequence[Config], sheet: Sheet, is_complete: bool
) -> Iterator[dict[str, Any]]:
    stored_rows = read_comparisons(plan.pk)
    ends = {(a.pk, b.pk): min(a.watermark, b.watermark) for a, b in iter_pairs(configs)}
    if not is_complete:
        ends = {key: stored_rows[key].upto for key in ends if key in stored_rows}
    recomputed_rows = comparisons.recompute_comparisons(plan, primary_metric(plan), configs, sheet, ends)
    yield from _diff_rows(
        PAIRS_DIFFER,
        comparisons.COLUMNS,
        _make_getter(stored_rows),
        _make_getter(recomputed_rows),
        _select_pairs(ends, stored_rows),
    )


def _diff_evidence(
    plan: ExperimentPlan, configs: Sequence[Config], sheet: Sheet, is_complete: bool
) -> Iterator[dict[str, Any]]:
    stored_rows = read_pairs(plan.pk)
    ends: Ends = {}
    for a, b in iter_pairs(configs):
        for key in ((a.pk, b.pk), (b.pk, a.pk)):
            if is_complete:
                ends[key] = min(a.watermark, b.watermark)
            elif key in stored_rows:
                ends[key] = stored_rows[key].start + stored_rows[key].n
    recomputed_rows = evidence.recompute_evidence(plan, configs, sheet, ends)
    yield from _diff_rows(
        EVIDENCE_DIFFERS,
        evidence.COLUMNS,
        _make_getter(stored_rows),
        _make_getter(recomputed_rows),
        _select_pairs(ends, stored_rows),
    )


def _select_pairs(ends: Ends, stored: Mapping[tuple[int, int], Any]) -> list[tuple[int, int]]:
    """Return the pairs to check. Pairs with a deleted config are no longer updated, so they are left out."""
    config_ids = {id for key in ends for id in key}
    return [*ends, *(key for key in stored if key not in ends and config_ids.issuperset(key))]


def _make_getter(rows: Mapping[tuple[int, int], Any]) -> Callable[[tuple[int, int], str], Any]:
    return lambda key, name: getattr(rows[key], name) if key in rows else None


def _diff_rows(
    what: str,
    names: Sequence[str],
    stored: Callable[[tuple[int, int], str], Any],
    counted: Callable[[tuple[int, int], str], Any],
    keys: Sequence[tuple[int, int]],
) -> Iterator[dict[str, Any]]:
    for key in keys:
        for name in names:
            stored_value, other = stored(key, name), counted(key, name)
            if not is_same(stored_value, other):
                about = {"config_id": str(key[0]), "with": str(key[1]), "what": what}
                yield about | {"field": name, "stored": stored_value, "counted": other}
                break


def _diff_looks(plan: ExperimentPlan, configs: Sequence[Config], is_complete: bool) -> Iterator[dict[str, Any]]:
    rows = Look.objects.filter(config__in=[config.pk for config in configs])
    stored_rows = {(row.config_id, row.metric, row.shard): row for row in rows}
    recomputed_rows = {(row.config_id, row.metric, row.shard): row for row in recompute_looks(plan, configs)}
    for key in stored_rows.keys() | (recomputed_rows.keys() if is_complete else ()):
        stored_values, other = _numbers(stored_rows.get(key)), _numbers(recomputed_rows.get(key))
        if not is_same(stored_values, other):
            config_id, metric, shard = key
            about = {"config_id": str(config_id), "what": LOOKS_DIFFER, "field": f"{metric} shard {shard}"}
            yield about | {"stored": stored_values, "counted": other}


def _numbers(look: Look | None) -> list[float | None] | None:
    return [getattr(look, name) for name in LOOK_FIELDS] if look is not None else None


def is_same(one: Any, other: Any) -> bool:
    """Return whether two numbers, or rows of numbers, are equal but for the order in which they were added up."""
    if one is None or other is None:
        return one is other
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(is_same(*pair) for pair in zip(one, other, strict=True))
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
