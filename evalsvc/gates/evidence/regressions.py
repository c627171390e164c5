"""Where the candidate got worse: the examples that it fails and the baseline passes, then the largest drops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from msgspec import structs

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Example
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.compare import build_paired_sql, hash_joins
from evalsvc.experiments.models import Output
from evalsvc.gates.answers import GatedConfig, RegressedSide, Regression
from evalsvc.gates.evidence.scores import pair_facts
from evalsvc.gates.evidence.subjects import GateSubject

MOST = 20
MOST_CHARACTERS = 500
WORST = """
SELECT p.example_id, p.pos, p.other_pos, p.value, p.other, a.passed, b.passed, p.error_code, p.other_error
FROM paired p
LEFT JOIN experiments_score a ON a.config_id = %(a)s AND a.metric = %(metric)s AND a.pos = p.pos
LEFT JOIN experiments_score b ON b.config_id = %(b)s AND b.metric = %(metric)s AND b.pos = p.other_pos
WHERE p.other IS NOT NULL AND coalesce(p.error_code, '') NOT IN ('not_applicable', 'undecided')
  AND (p.value IS NULL OR %(sign)s * (p.other - p.value) > 0)
ORDER BY coalesce(b.passed, false) AND a.passed IS NOT TRUE DESC, %(sign)s * (p.other - p.value) DESC NULLS LAST, p.pos
LIMIT %(limit)s
"""


def find_regressions(
    candidate: GateSubject, baseline: GateSubject, metrics: Mapping[str, tuple[Metric, Metric]], *, watched: bool
) -> list[Regression]:
    """Return the worst regressions of each metric, as many of each as fit."""
    regressions: list[Regression] = []
    for pair in metrics.values():
        facts = pair_facts(candidate, baseline, pair, watched=watched)
        sign = 1.0 if pair[0].higher_is_better else -1.0
        with hash_joins() as cursor:
            sql = build_paired_sql(candidate.side(pair[0]), baseline.side(pair[1])) + WORST
            cursor.execute(sql, facts | {"sign": sign, "limit": max(1, MOST // len(metrics))})
            rows = cursor.fetchall()
        keys = dict(
            Example.objects.filter(account=candidate.config.account_id, id__in=[row[0] for row in rows]).values_list(
                "id", "key"
            )
        )
        regressions += [_regression(pair[0].name, sign, (keys[row[0]], *row[1:])) for row in rows if row[0] in keys]
    return regressions


def _regression(metric: str, sign: float, row: Sequence[Any]) -> Regression:
    key, pos, other_pos, value, other, passed, other_passed, error, other_error = row
    return Regression(
        metric=metric,
        example_id=key,
        drop=None if value is None else sign * (other - value),
        candidate=RegressedSide(pos=pos, value=None if error else value, passed=passed, error_code=error),
        baseline=RegressedSide(
            pos=other_pos, value=None if other_error else other, passed=other_passed, error_code=other_error
        ),
    )


def add_outputs(
    account: Account, found: Sequence[Regression], candidate: GatedConfig | None, baseline: GatedConfig | None
) -> list[Regression]:
    """Return the regressions with the beginnings of inputs and outputs, as far as they are still there."""
    if candidate is None or baseline is None or not found:
        return list(found)
    first = _outputs(account, candidate, [regression.candidate.pos for regression in found])
    second = _outputs(account, baseline, [regression.baseline.pos for regression in found])
    inputs = dict(
        Example.objects.filter(account=account, id__in={row.example_id for row in first.values()}).values_list(
            "id", "input"
        )
    )
    return [
        structs.replace(
            regression,
            input=_input(first.get(regression.candidate.pos), inputs),
            candidate=_add_output(regression.candidate, first.get(regression.candidate.pos)),
            baseline=_add_output(regression.baseline, second.get(regression.baseline.pos)),
        )
        for regression in found
    ]


def _outputs(account: Account, config: GatedConfig, positions: list[int]) -> dict[int, Output]:
    rows = Output.objects.filter(account=account, config_id=int(config.config_id), pos__in=positions)
    rows = rows.exclude(config__state="deleted")
    return {row.pos: row for row in rows.only("pos", "example_id", "output", "error_message", "error_type")}


def _input(row: Output | None, inputs: Mapping[int, object]) -> str | None:
    return _beginning(inputs.get(row.example_id))[0] if row is not None else None


def _add_output(side: RegressedSide, row: Output | None) -> RegressedSide:
    value: object = None
    if row is not None:
        answer = row.output
        value = answer.get("output", answer) if isinstance(answer, dict) else answer
        value = row.error_message if value is None else value
    output, is_cut = _beginning(value)
    return structs.replace(side, output=output, is_cut=is_cut)


def _beginning(value: object) -> tuple[str | None, bool]:
    """Return the beginning of a text, or of a value as JSON, and whether there is more."""
    if value is None:
        return None, False
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text[:MOST_CHARACTERS], len(text) > MOST_CHARACTERS
