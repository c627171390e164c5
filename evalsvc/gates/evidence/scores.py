"""The scores that a gate rests on, in stored order: of one config, of pairs, or of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.db import connections
from numpy.typing import NDArray

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.clusters.cluster_sums import Clusters
from evalsvc.experiments.inference.estimates.trials import bound_trials
from evalsvc.experiments.inference.failures import build_counted_value_sql, get_worst_value
from evalsvc.experiments.inference.firsts import FIRST_ERROR
from evalsvc.experiments.inference.pairs.compare import build_pair_params, build_paired_sql, hash_joins
from evalsvc.experiments.models import UNDECIDED
from evalsvc.gates.evidence.subjects import GateSubject
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.tenancy.scope import current_role

NOT_APPLICABLE = "not_applicable"
Ends: TypeAlias = tuple[FloatArray, FloatArray]
SINGLE = """
SELECT {value} AS value, {error} AS error_code, i.pos FROM experiments_experimentitem i
LEFT JOIN experiments_score s ON s.config_id = %(config)s AND s.metric = %(metric)s AND s.pos = i.pos
WHERE i.experiment_id = %(experiment)s AND i.pos < %(upto)s ORDER BY i.pos
"""
PAIRS = "SELECT value, error_code, other, other_error, pos, other_pos FROM paired ORDER BY pos"


@dataclass(frozen=True, slots=True)
class GateScores:
    """Scores of the candidate, and of the baseline where there is one: NaN where a score is missing.

    Examples to which the metric does not apply are not among them, and are counted.
    """

    candidate: FloatArray
    baseline: FloatArray | None
    n_not_applicable: int
    population: int
    """How many examples there are in the set, but for those that the metric is known not to apply to."""
    clusters: NDArray[np.int_] | None = None
    """The cluster of each example, where the gate minds clusters."""
    is_one_run: bool = False
    """Whether candidate and baseline ran in one experiment."""
    candidate_ends: Ends | None = None
    baseline_ends: Ends | None = None
    """The least and the most that each score can be, where trials of its example are lost; None where none are."""
    n_undecided: int = 0
    """Of the examples with a missing score, those that the evaluator has not decided."""


def read_gate_scores(
    subject: GateSubject, metric: Metric, *, watched: bool, clusters: Clusters | None = None
) -> GateScores:
    """Return the scores of one config.

    In a fixed-sample gate, an example without an answer is missing; in an anytime-valid gate it is left out.
    Anytime-valid gates use first answers: a failure that was counted once cannot be retried until it comes out better.
    """
    end = _find_scored_end(subject, metric, watched)
    upto = end if watched else subject.plan.run_length
    values: dict[str, Any] = {
        "config": subject.config.pk,
        "experiment": subject.plan.experiment_id,
        "metric": metric.name,
        "upto": upto,
    }
    value = build_counted_value_sql(get_worst_value(subject.plan, metric), firsts=watched)
    error = FIRST_ERROR if watched else "s.error_code"
    with connections[current_role()].cursor() as cursor:
        cursor.execute(SINGLE.format(value=value, error=error), values)
        rows = [row for row in cursor.fetchall() if row[1] != NOT_APPLICABLE]
    n_na = upto - len(rows)
    scores = _column(rows, 0)
    ends = _find_ends(subject, metric, scores, [row[2] for row in rows], watched)
    n_applicable = subject.plan.n_examples - n_na
    return GateScores(
        scores,
        None,
        n_na,
        n_applicable,
        _clusters_at(rows, 2, clusters),
        candidate_ends=ends,
        n_undecided=sum(row[1] == UNDECIDED for row in rows),
    )


def read_gate_pairs(
    candidate: GateSubject,
    baseline: GateSubject,
    metrics: tuple[Metric, Metric],
    *,
    watched: bool,
    n_common: int,
    clusters: Clusters | None = None,
) -> GateScores:
    """Return the scores of both on the examples that both have, in the candidate's order; higher is better.

    In one experiment a pair is there, while watched, once both are; of two, once the candidate's score is.
    """
    facts = pair_facts(candidate, baseline, metrics, watched=watched)
    sql = build_paired_sql(candidate.side(metrics[0]), baseline.side(metrics[1]), firsts=watched)
    with hash_joins() as cursor:
        cursor.execute(sql + PAIRS, facts)
        records = cursor.fetchall()
    rows = [row for row in records if NOT_APPLICABLE not in (row[1], row[3])]
    sign = 1.0 if metrics[0].higher_is_better else -1.0
    n_na = len(records) - len(rows)
    # -0.0 would be written as such.
    first, second = (sign * _column(rows, i) + 0.0 for i in (0, 2))
    is_one_run = candidate.plan.pk == baseline.plan.pk
    ends = [
        _find_ends(subject, metric, scores, [row[at] for row in rows], watched)
        for subject, metric, scores, at in ((candidate, metrics[0], first, 4), (baseline, metrics[1], second, 5))
    ]
    n_undecided = sum(UNDECIDED in (row[1], row[3]) for row in rows)
    return GateScores(
        first,
        second,
        n_na,
        n_common - n_na,
        _clusters_at(rows, 4, clusters),
        is_one_run,
        candidate_ends=ends[0],
        baseline_ends=ends[1],
        n_undecided=n_undecided,
    )


def pair_facts(
    candidate: GateSubject, baseline: GateSubject, metrics: tuple[Metric, Metric], *, watched: bool
) -> dict[str, Any]:
    """Return the parameters of statements about the pairs that count."""
    is_one_run = candidate.plan.pk == baseline.plan.pk
    scored_ends = [_find_scored_end(*pair, watched) for pair in zip((candidate, baseline), metrics, strict=True)]
    is_behind = baseline.is_going or scored_ends[1] < baseline.config.watermark
    if watched and is_behind and not is_one_run:
        raise Invalid(FieldError("/looks", "The baseline is still being scored: pairs would come in no fixed order."))
    # Examples that the baseline will not answer any more count as missing, and do not end the pairs.
    ends = [
        scored_ends[0] if watched else candidate.plan.run_length,
        scored_ends[1] if is_behind else baseline.plan.run_length,
    ]
    facts = build_pair_params(candidate.side(metrics[0]), baseline.side(metrics[1]))
    first, second = [min(ends)] * 2 if is_one_run else ends
    return facts | {"watermark_a": first, "watermark_b": second}


def _find_ends(
    subject: GateSubject, metric: Metric, scores: FloatArray, positions: Sequence[int], watched: bool
) -> Ends | None:
    """Return the scores with lost trials as failed, and as passed; None where no trial is lost."""
    bounds = bound_trials(subject.plan, subject.config, metric)
    low, high = scores.copy(), scores.copy()
    for i, pos in enumerate(positions):
        # What is missing while watched may have been retried since: then its trials are others than those that count.
        if pos in bounds and not (watched and np.isnan(scores[i])):
            low[i], high[i] = bounds[pos]
    return (low, high) if bounds else None


def _find_scored_end(subject: GateSubject, metric: Metric, watched: bool) -> int:
    """Return the position before which all is scored. Raises Invalid at one look for what is still being scored."""
    end = subject.get_scored_end(metric)
    if not watched and end < subject.config.watermark:
        n_unscored = subject.config.watermark - end
        detail = (
            f"{metric.name!r} was added later, and {n_unscored} examples of {subject.pointer[1:]} are not scored yet."
        )
        raise Invalid(FieldError("/looks", detail))
    return end


def _clusters_at(rows: Sequence[Sequence[Any]], at: int, clusters: Clusters | None) -> NDArray[np.int_] | None:
    """Return the cluster of each row; column `at` contains its position in the candidate's order."""
    return None if clusters is None else clusters.of[np.array([row[at] for row in rows], dtype=np.int_)]


def _column(rows: Sequence[Sequence[Any]], at: int) -> FloatArray:
    return np.array([np.nan if row[at] is None else row[at] for row in rows], dtype=np.float64)
