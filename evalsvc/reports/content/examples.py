"""A few examples to look at: the worst answers of one config, and those on which configs differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.failures import FAILED_OUTPUT
from evalsvc.experiments.inference.pairs.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan, Output
from evalsvc.experiments.reporting.results import FAILED, OK, OutputSelection, page_of_outputs, rows_out
from evalsvc.experiments.selectors import list_outputs
from evalsvc.rest.answering.renderers import dumps
from evalsvc.tenancy.scope import current_role

MAX_TEXT = 2000
MOST_CONFIGS = 4
FACTS = ("id", "config_id", "config", "pos", "example_id")
DISAGREEING = """
SELECT pos, max(value) - min(value) FROM experiments_score
WHERE config_id = ANY (%s) AND metric = %s AND value IS NOT NULL
GROUP BY pos HAVING max(value) > min(value) ORDER BY 2 DESC, pos LIMIT %s
"""


def worst_examples(account: Account, plan: ExperimentPlan, config: Config | None, n: int) -> list[dict[str, Any]]:
    """Return the examples on which a config has its lowest scores by the primary metric, lowest first.

    Failed outputs come before them where they count as the worst score.
    """
    if config is None or not n:
        return []
    metric = primary_metric(plan)
    order = metric.name if metric.higher_is_better else f"-{metric.name}"
    selection = OutputSelection(config_id=config.pk, status=OK, metric=metric.name, order_by=order)
    rows, _ = page_of_outputs(account, plan, selection, limit=n, cursor=None)
    failed_rows: Sequence[dict[str, Any]] = ()
    if metric.get_failure_value(plan.failures) is not None:
        failed = OutputSelection(config_id=config.pk, status=FAILED)
        failed_rows, _ = page_of_outputs(account, plan, failed, limit=n, cursor=None)
    codes = ((row, row["scores"].get(metric.name, {}).get("error_code")) for row in failed_rows)
    return [_worst_out(row) for row in [*(row for row, code in codes if code == FAILED_OUTPUT), *rows][:n]]


def instructive_examples(
    account: Account, plan: ExperimentPlan, configs: Sequence[Config], n: int
) -> list[dict[str, Any]]:
    """Return the examples on which the scores of configs lie farthest apart, with the best and the worst answers."""
    if len(configs) < 2 or not n:
        return []
    metric = primary_metric(plan)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(DISAGREEING, [[config.pk for config in configs], metric.name, n])
        spreads = dict(cursor.fetchall())
    outputs = list_outputs(account=account, experiment_id=plan.pk).filter(pos__in=spreads, status=Output.Status.OK)
    rows: dict[int, list[dict[str, Any]]] = {pos: [] for pos in spreads}
    for row in rows_out(list(outputs.order_by("pos", "config_id")[: n * len(configs)]), plan=plan):
        rows[row["pos"]].append(row)
    sign = 1.0 if metric.higher_is_better else -1.0

    def value_of(row: dict[str, Any]) -> float:
        value = (row["scores"].get(metric.name) or {}).get("value")
        return float("-inf") if value is None else sign * value

    examples = []
    for pos, score_range in spreads.items():
        sorted_rows = sorted(rows[pos], key=value_of, reverse=True)
        ends = (
            sorted_rows
            if len(sorted_rows) <= MOST_CONFIGS
            else sorted_rows[: MOST_CONFIGS // 2] + sorted_rows[-MOST_CONFIGS // 2 :]
        )
        examples.append(_instructive_out(pos, score_range, len(sorted_rows), ends))
    return examples


def _worst_out(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FACTS} | _question(row) | _answer(row)


def _instructive_out(pos: int, spread: float, n_answers: int, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0] if rows else {}
    answers = [{name: row[name] for name in ("id", "config_id", "config")} | _answer(row) for row in rows]
    facts = {"pos": pos, "example_id": first.get("example_id"), "spread": spread, "n_answers": n_answers}
    return facts | _question(first) | {"answers": answers}


def _question(row: dict[str, Any]) -> dict[str, Any]:
    return {name: shortened(row.get(name)) for name in ("input", "expected")}


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    scores = {
        name: {part: score[part] for part in ("value", "passed", "error_code")}
        | {"explanation": shortened(score["explanation"])}
        for name, score in row["scores"].items()
    }
    return {"output": shortened(row["output"]), "scores": scores}


def shortened(value: Any) -> Any:
    """Return a value as it is, or the beginning of its text where it is long: a report is a summary."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + "…"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict) and set(value) == {"output"}:
        return {"output": shortened(value["output"])}
    text = dumps(value).decode()
    return value if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
