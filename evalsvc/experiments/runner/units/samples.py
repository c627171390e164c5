"""An example that is sampled several times: its answers in one row, and one score made of theirs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from evalsvc.experiments.definition.metrics import LOST_MISSING, Metric
from evalsvc.experiments.models import FAILED_OUTPUT, NO_OUTPUT, UNDECIDED, Output
from evalsvc.experiments.runner.generate import GeneratedOutput, MustStop, RetryLater
from evalsvc.experiments.runner.score import NOT_APPLICABLE, WAITS, Row, failed_score, score_output
from evalsvc.experiments.runner.store import Unit
from evalsvc.experiments.runner.units.stages import MEASURED, build_answer_key, load_answers, store_answers
from evalsvc.judges.calls.endings import ERROR

OF_SAMPLE = ("status", "output", "error_type", "error_message", "ending", *MEASURED, "trace_id", "span_id")
OF_SCORE = (
    *("value", "denominator", "passed", "error_code", "error_message"),
    *("explanation", "spans", "extra", "judge_cost"),
)
PAID = ("n_asked", "n_saved", "input_tokens", "output_tokens", "cost")
SAMPLE = "sample"


class SampleKeeper:
    """Requests several samples of each example of a unit, and stores those of a unit that is postponed.

    Otherwise, with a limit of fewer queries than an example takes, no example would ever finish.
    """

    def __init__(self, unit: Unit, n_samples: int) -> None:
        self.unit = unit
        self.n_samples = n_samples
        self.n_fresh = 0
        """How many samples of the last example were asked for here."""
        positions = range(unit.from_pos, unit.to_pos)
        stored_answers = load_answers(
            unit, [self._key(pos, sample) for pos in positions for sample in range(n_samples)]
        )
        self._kept = {key: GeneratedOutput(**(answer.output or {})) for key, answer in stored_answers.items()}

    def _key(self, pos: int, sample: int) -> str:
        return build_answer_key(self.unit.id, pos, sample, SAMPLE, "")

    def ask(self, pos: int, ask: Callable[[int], GeneratedOutput]) -> Row:
        """Return the row of an example from all its samples; on an error of a request, store the samples so far."""
        answers: dict[str, GeneratedOutput] = {}
        self.n_fresh = 0
        try:
            for sample in range(self.n_samples):
                key = self._key(pos, sample)
                answers[key] = self._kept[key] if key in self._kept else self._request_sample(ask, sample)
        except (RetryLater, MustStop):
            self._keep(pos, answers)
            raise
        return build_sample_row(pos, [asdict(produced) for produced in answers.values()])

    def _request_sample(self, ask: Callable[[int], GeneratedOutput], sample: int) -> GeneratedOutput:
        produced = ask(sample)
        self.n_fresh += 1
        return produced

    def _keep(self, pos: int, answers: Mapping[str, GeneratedOutput]) -> None:
        fresh = {key: produced for key, produced in answers.items() if key not in self._kept}
        if fresh:
            store_answers(
                self.unit, {(key, pos): GeneratedOutput(output=asdict(produced)) for key, produced in fresh.items()}
            )


def build_sample_row(pos: int, rows: Sequence[Mapping[str, Any]]) -> Row:
    """Return the row of an example: the first answer that there is, what all took, and each by itself.

    Where none has answered it is the error of the first.
    """
    primary_row = next((row for row in rows if row["status"] == Output.Status.OK), rows[0])
    return {
        "pos": pos,
        **{name: primary_row.get(name) for name in ("status", "output", "error_type", "error_message")},
        # Each sample has its own; the row has one where any ended otherwise than by a stop.
        "ending": next(filter(None, map(_get_ending, rows)), None),
        **{name: _total(row.get(name) for row in rows) for name in MEASURED},
        **{name: rows[0].get(name) for name in ("trace_id", "span_id")},
        "attempt": max(row.get("attempt") or 1 for row in rows),
        "stages": _stages([row.get("stages") for row in rows]),
        "samples": [{name: row.get(name) for name in OF_SAMPLE} for row in rows],
        "client_scores": _if_any([row.get("client_scores") for row in rows]),
    }


def _get_ending(row: Mapping[str, Any]) -> str | None:
    ending: str | None = row.get("ending")
    return ending or (None if row["status"] == Output.Status.OK else ERROR)


def _if_any(values: list[Any]) -> list[Any] | None:
    return values if any(value is not None for value in values) else None


def _stages(told: Sequence[Mapping[str, Any] | None]) -> Row | None:
    """Return what the samples of a pipeline tell of its nodes, and what they have paid together."""
    if _if_any(list(told)) is None:
        return None
    bills = [(stages or {}).get("paid") or {} for stages in told]
    return {"samples": list(told), "paid": {name: _total(bill.get(name) for bill in bills) for name in PAID}}


def _total(values: Iterator[Any]) -> Any:
    """Add up what is known; None where nothing is."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def sample_scores(
    *,
    metrics: Sequence[Metric],
    output: Mapping[str, Any],
    client_scores: Sequence[Mapping[str, Any] | None] | Mapping[str, Any] | None = None,
    failures: str,
    **facts: Any,
) -> list[Row]:
    """Score an output as `score_output` does; of several samples each by itself, and return what they make together.

    The caller's numbers are then a list, one for each sample. `failures` is the plan's option: with `worst` a sample
    that failed by the config's own fault counts as the worst score in the mean of its example.
    """
    samples = output.get("samples")
    if not samples:
        scores = client_scores if isinstance(client_scores, Mapping) else None
        return score_output(metrics=metrics, output=output, client_scores=scores, **facts)
    scores_by_sample = client_scores if isinstance(client_scores, Sequence) else [None] * len(samples)
    by_sample = [
        score_output(metrics=metrics, output={"pos": output["pos"], **sample}, client_scores=scores, **facts)
        for sample, scores in zip(samples, scores_by_sample, strict=True)
    ]
    return [
        score_example(metric, output["pos"], rows, metric.get_failure_value(failures))
        for metric, *rows in zip(metrics, *by_sample, strict=True)
    ]


def score_example(metric: Metric, pos: int, rows: Sequence[Row], failure_value: float | None) -> Row:
    """Return the score of an example from those of its samples, the only value that anything reads of them.

    It is the mean over the samples that have a score, or what the metric's `trials` make of them; an error where there
    are too few. Beside samples with a score, failed ones have the value that they count as. While the judge of one
    sample is away the score waits for it.
    """
    if (waiting := max((row for row in rows if WAITS in row), key=itemgetter(WAITS), default=None)) is not None:
        return waiting
    if failure_value is not None and any(row.get("value") is not None for row in rows):
        rows = [row | {"value": failure_value} if row.get("error_code") == FAILED_OUTPUT else row for row in rows]
    scored_rows = [row for row in rows if row.get("value") is not None]
    values = [row["value"] for row in scored_rows]
    details: Row = {
        "samples": [{name: row[name] for name in OF_SCORE if row.get(name) is not None} for row in rows],
        "n_scored": len(scored_rows),
        "within": statistics.variance(values) if len(values) > 1 else None,
        "judge_cost": _total(row.get("judge_cost") for row in rows),
    }
    value = _combine(metric, values)
    if value is None:
        code, message = _pick_error(metric, rows)
        return failed_score(pos, metric, code, message) | details
    return details | {
        "pos": pos,
        "metric": metric.name,
        "value": value,
        "denominator": _mean([row["denominator"] for row in scored_rows]) if metric.kind.takes_denominator else None,
    }


def _combine(metric: Metric, values: Sequence[float]) -> float | None:
    """Return the value of an example from those of its samples; None where there are too few."""
    if metric.trials is not None:
        return metric.trials.score(values)
    return _mean(values) if values else None


def _pick_error(metric: Metric, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the error of an example of which too few samples have a score.

    What failed may pass another time; what does not apply never will. As trials, samples that failed make the example
    fail where they are enough for its number; else it is missing, as the samples are that did not run.
    """
    errors = [(row["error_code"], row["error_message"]) for row in rows if row.get("value") is None]
    n_failed = sum(code == FAILED_OUTPUT for code, _ in errors)
    if metric.trials is not None and (metric.trials.lost == LOST_MISSING or n_failed < metric.trials.size):
        errors = [(NO_OUTPUT if code == FAILED_OUTPUT else code, message) for code, message in errors]
    order = {FAILED_OUTPUT: 0, UNDECIDED: 2, NOT_APPLICABLE: 3}
    return min(errors, key=lambda error: order.get(error[0], 1))


def _mean(values: Sequence[float]) -> float:
    # Rounding must not leave a metric's range.
    return min(max(statistics.fmean(values), min(values)), max(values))
