"""From an output to its scores. What is not a finite number within the metric's range is an error, never a score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalsvc.catalog.resolve import NO_THRESHOLD_REMEDY
from evalsvc.evaluations.verdicts import (
    UNDECIDED_TEXTS,
    UNSTATED,
    RetryableError,
    ServiceUnavailable,
    Verdict,
    score_sample,
    validation_error,
)
from evalsvc.experiments.definition.fields.components import (
    NoPart,
    integrated_part,
    isolated_part,
    isolated_part_behind,
)
from evalsvc.experiments.definition.fields.mapper import (
    OUTPUT,
    UNMAPPED,
    MappedSample,
    is_of_answer,
    look_up_answer,
    map_sample,
    why_nothing,
)
from evalsvc.experiments.definition.fields.pointers import MISSING
from evalsvc.experiments.definition.metrics import (
    CLIENT,
    EVALUATOR_SOURCES,
    ISOLATED,
    LARGEST,
    MEASURED_SOURCES,
    Metric,
    get_number_pointers,
)
from evalsvc.experiments.models import FAILED_OUTPUT, NO_OUTPUT, OWN_FAULTS, UNDECIDED
from evalsvc.judges.gateway import gateway_for
from evalsvc.stats.estimates.bounds import is_only_bounded
from evalsvc.tenancy.outages import Outage
from evaluators.base import Family, Field, Lane, Settings
from evaluators.conversations.turns import count_passed
from evaluators.registry import find_evaluator

JUDGE_WAIT_SECONDS = 60.0
STALL_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
"""Seconds after each try to score while our own database or Redis is away."""
# PostgreSQL refuses a product that is too small to be anything but 0, so what is smaller than this is 0 from the start.
SMALLEST = 1e-100
NO_VERDICT = f"The profile has no threshold. {NO_THRESHOLD_REMEDY}"
NOT_APPLICABLE = "not_applicable"
WAITS = "waits"
"""Key of a score that its judge may still give: the seconds until it can be asked again."""
Row = dict[str, Any]
Pointers = tuple[tuple[str, str], ...]


def score_output(
    *,
    metrics: Sequence[Metric],
    example: Mapping[str, Any],
    output: Mapping[str, Any],
    pointers: Mapping[str, str],
    client_scores: Mapping[str, Any] | None = None,
    account_id: int | None = None,
    stopped: Mapping[str, str] | None = None,
) -> list[Row]:
    """Score one output with every metric.

    `example` and `output` are rows as stored (`output["output"]` by component). `pointers` is the plan's mapping, which
    the mappings of the metrics override field by field. A failed output gets an error for each metric, so that n and
    the number of failures add up; so does every output for a metric in `stopped`, which maps metrics to reasons.
    Metrics use the judges of `account_id`; without it, metrics that need a judge fail.
    """
    pos = output["pos"]
    message = output.get("error_message") or "There is no output."
    is_there = output["status"] == "ok"
    ran_alone = bool(output.get(ISOLATED) or (output.get("stages") or {}).get(ISOLATED))
    view_of = OutputView(example, output, pointers, account_id)
    return [
        # What a component made of expected inputs does not need the others to have succeeded.
        _score_failure(metric, pos, output, message, view_of)
        if not is_there and not (metric.mode == ISOLATED and ran_alone)
        else failed_score(pos, metric, UNMAPPED, stopped[metric.name])
        if stopped and metric.name in stopped
        else _score(metric, pos, output, client_scores or {}, view_of(metric))
        for metric in metrics
    ]


def _score_failure(metric: Metric, pos: int, output: Mapping[str, Any], message: str, view_of: OutputView) -> Row:
    """Return the error of an output without an answer, unless the metric does not apply to the example anyway."""
    view = view_of(metric)
    if isinstance(view, OutputVerdicts) and view.lacks_gold(metric):
        return failed_score(
            pos, metric, NOT_APPLICABLE, "The metric needs a gold answer, which the dataset lacks here."
        )
    return failed_score(pos, metric, get_failure_code(output.get("error_type")), message)


def get_failure_code(error_type: str | None) -> str:
    """Return the error of the scores of an output that failed by this error."""
    return FAILED_OUTPUT if error_type in OWN_FAULTS else NO_OUTPUT


def needs_worker(metrics: Sequence[Metric]) -> bool:
    """Return whether a metric's evaluator is too heavy for the web process."""
    return bool(_lanes(metrics) - {Lane.INLINE})


def needs_judge(metrics: Sequence[Metric]) -> bool:
    """Return whether a metric's evaluator waits for servers elsewhere."""
    return Lane.JUDGE in _lanes(metrics)


def _lanes(metrics: Sequence[Metric]) -> set[Lane]:
    runs = ((metric, find_evaluator(metric.runs)) for metric in metrics if metric.runs)
    return {evaluator[0].lane_of(metric.settings or {}) for metric, evaluator in runs if evaluator is not None}


def _score(
    metric: Metric,
    pos: int,
    output: Mapping[str, Any],
    client_scores: Mapping[str, Any],
    view: OutputVerdicts | NoPart,
) -> Row:
    if isinstance(view, NoPart):
        code = get_failure_code(view.error_type) if view.error_type else NOT_APPLICABLE
        return failed_score(pos, metric, code, view.why)
    if metric.source in EVALUATOR_SOURCES:
        return _convert_verdict(metric, pos, view(metric))
    if metric.source not in (CLIENT, *MEASURED_SOURCES):
        return _score_by_pointers(metric, pos, view.components)
    denominator: Any = None
    if metric.source == CLIENT:
        value = client_scores.get(metric.name, MISSING)
        if isinstance(value, Mapping) and value.get("verdict") == UNDECIDED:
            why = value.get("why")
            text = UNDECIDED_TEXTS.get(why if isinstance(why, str) else UNSTATED, UNDECIDED_TEXTS[UNSTATED])
            return failed_score(pos, metric, UNDECIDED, f"Undecided: {text}.")
        if isinstance(value, Mapping):
            value, denominator = value.get("numerator", MISSING), value.get("denominator", MISSING)
        if value is None:
            return failed_score(pos, metric, NOT_APPLICABLE, "The caller says that the metric does not apply here.")
        missing = "The caller sent no number for it."
    else:
        value, missing = output.get(metric.source), "It was not measured."
    if value is None or value is MISSING:
        return failed_score(pos, metric, "no_value", missing)
    return _convert_number(metric, pos, value, denominator)


def _score_by_pointers(metric: Metric, pos: int, components: Mapping[str, Any]) -> Row:
    """Score what lies in the output where the metric's pointers lead; where they lead nowhere, it is `unmapped`."""
    if components.get(OUTPUT) is None:
        return failed_score(pos, metric, FAILED_OUTPUT, "The output is null.")
    values: dict[str, Any] = {}
    for name, pointer in get_number_pointers(metric.source, metric.denominator).items():
        values[name] = look_up_answer(components, pointer)
        if values[name] is MISSING:
            return failed_score(pos, metric, UNMAPPED, why_nothing(name, components, pointer))
        if values[name] is None:
            return failed_score(pos, metric, "no_value", f"`{name}` is null at {pointer!r}.")
    return _convert_number(metric, pos, values["source"], values.get("denominator"))


class OutputView:
    """An output as a metric sees it: all of it, or the part of one component."""

    def __init__(
        self,
        example: Mapping[str, Any],
        output: Mapping[str, Any],
        pointers: Mapping[str, str],
        account_id: int | None,
    ) -> None:
        self.example = example
        self.output = output
        self.pointers = pointers
        self.account_id = account_id
        self._known: dict[tuple[str | None, str, str | None], OutputVerdicts | NoPart] = {}

    def __call__(self, metric: Metric) -> OutputVerdicts | NoPart:
        """Return where the metric reads, or why there is nothing for it to read."""
        if metric.view not in self._known:
            self._known[metric.view] = self._view(*metric.view)
        return self._known[metric.view]

    def _view(self, component: str | None, mode: str, source: str | None) -> OutputVerdicts | NoPart:
        components = self.output.get("output") or {}
        if component is None:
            return OutputVerdicts(self.example, self.example, components, self.pointers, self.account_id)
        if source is not None:
            part = isolated_part_behind(source, self.example, self.output, component)
        elif mode == ISOLATED:
            part = isolated_part(self.example, self.output.get(ISOLATED), component, self.output.get("stages"))
        else:
            part = integrated_part(self.example, components, component)
        if isinstance(part, NoPart):
            return part
        # The plan's pointers locate the final answer; within a component they would find nothing, or another value.
        pointers = {name: pointer for name, pointer in self.pointers.items() if not is_of_answer(pointer)}
        return OutputVerdicts(part.example, self.example, part.components, pointers, self.account_id)


class OutputVerdicts:
    """The verdicts on one output: `score` and `pass` of one evaluator on one sample are one run of it."""

    def __init__(
        self,
        example: Mapping[str, Any],
        pointed: Mapping[str, Any],
        components: Mapping[str, Any],
        pointers: Mapping[str, str],
        account_id: int | None,
    ) -> None:
        self.example = example
        self.pointed = pointed
        self.components = components
        self.pointers = pointers
        self.account_id = account_id
        self._mapped: dict[Pointers, MappedSample] = {}
        self._known: dict[tuple[str, str, int | None, str, Pointers], Verdict] = {}

    def __call__(self, metric: Metric) -> Verdict:
        """Return the verdict of the metric's evaluator."""
        mapping = tuple(sorted({**self.pointers, **(metric.sample or {})}.items()))
        revision = f"{metric.profile_name}:{metric.profile_revision}"
        key = (metric.evaluator_id or "", revision, metric.k, metric.explain_strategy, mapping)
        if key in self._known:
            # The first metric that needed it has paid.
            return replace(self._known[key], extra=clear_judge_cost(self._known[key].extra))
        self._known[key] = self._run(metric, mapping)
        return self._known[key]

    def lacks_gold(self, metric: Metric) -> bool:
        """Return whether the metric's evaluator needs a gold answer or gold contexts that the example lacks."""
        evaluator = find_evaluator(metric.runs or "")
        if evaluator is None:
            return False
        mapped = self._map(tuple(sorted({**self.pointers, **(metric.sample or {})}.items())))
        lacking = evaluator[0].missing_fields(mapped.sample, metric.settings or {})
        return any(name in lacking and name not in mapped.lost for name in (Field.GOLD, Field.GOLD_CONTEXT))

    def _map(self, mapping: Pointers) -> MappedSample:
        if mapping not in self._mapped:
            self._mapped[mapping] = map_sample(self.example, self.components, dict(mapping), pointed=self.pointed)
        return self._mapped[mapping]

    def _run(self, metric: Metric, mapping: Pointers) -> Verdict:
        evaluator = find_evaluator(metric.runs or "")
        if evaluator is None:
            return validation_error("evaluator_failed", f"Evaluator {metric.runs!r} is not installed on this worker.")
        mapped = self._map(mapping)
        if refusal := _unfit(evaluator[0], metric.settings or {}, mapped):
            return refusal
        gateway = None
        if self.account_id is not None:
            # The output has been paid for, so a runner rather waits for the judge's turn than lose its score.
            gateway = gateway_for(self.account_id, patience_seconds=JUDGE_WAIT_SECONDS)
        return _outlasting(
            lambda: score_sample(*evaluator, metric.settings or {}, mapped.sample, metric.explain_strategy, gateway)
        )


def _outlasting(score: Callable[[], Verdict]) -> Verdict:
    """Score again while our own servers are away: the output is paid for, and nothing could be recorded meanwhile.

    Raises Outage when that takes too long.
    """
    for seconds in STALL_PAUSES:
        verdict = score()
        if not isinstance(verdict, ServiceUnavailable):
            return verdict
        time.sleep(seconds)
    raise Outage("The service's own database did not answer while an output was scored.")


def _unfit(family: Family, settings: Settings, mapped: MappedSample) -> Verdict | None:
    """Refuse a sample for what its answer lacks, or tell apart that the dataset lacks it."""
    if messages := [mapped.lost[name] for name in dict.fromkeys(family.reads(settings)) if name in mapped.lost]:
        return validation_error(UNMAPPED, " ".join(dict.fromkeys(messages)))
    if family.find_unread_fields(mapped.sample, settings):
        return None  # reported with the same message as elsewhere
    missing = family.missing_fields(mapped.sample, settings)
    lacking = [name for name in missing if name != Field.OUTPUT]
    if missing == [Field.OUTPUT]:
        return validation_error(FAILED_OUTPUT, "The output is empty, and the metric needs one.")
    if not lacking or Field.OUTPUT in missing:
        return None
    names = ", ".join(f"`{name}`" for name in lacking)
    return validation_error(NOT_APPLICABLE, f"The metric needs {names}, which the dataset does not have here.")


def _convert_verdict(metric: Metric, pos: int, verdict: Verdict) -> Row:
    if isinstance(verdict, RetryableError) and verdict.fallback is not None:
        return _convert_verdict(metric, pos, verdict.fallback) | {WAITS: verdict.retry_after_seconds}
    if verdict.status != "success" or verdict.score is None:
        message = verdict.error_message or "No score."
        failed = failed_score(pos, metric, verdict.error_code or "evaluator_failed", message) | _build_details(verdict)
        return failed | {WAITS: verdict.retry_after_seconds} if isinstance(verdict, RetryableError) else failed
    value = _count_pass(verdict) if metric.source == "pass" else verdict.score
    if value is not None:
        row = _convert_number(metric, pos, value, None)
    elif (why := find_undecided(verdict.extra)) is not None:
        row = failed_score(pos, metric, UNDECIDED, f"Undecided: {why}.")
    else:
        return failed_score(pos, metric, "no_value", NO_VERDICT) | _build_details(verdict)
    row |= {"passed": verdict.passed, "explanation": verdict.explanation, **_build_details(verdict)}
    if not metric.in_history:
        return row
    # The history stores the evaluator's own result, not the value that the metric derives from it.
    evaluator_facts = {name: getattr(metric, name) for name in ("evaluator_id", "profile_name", "profile_revision")}
    return row | evaluator_facts | {"ranking": verdict.score}


def _count_pass(verdict: Verdict) -> float | None:
    """Return 1 for pass, 0 for fail, and None without a verdict.

    Of a conversation whose turns were judged it is the share of those with a verdict that pass; None where a tenth of
    the turns or more have none.
    """
    if (counts := count_passed(verdict.extra)) is None:
        return None if verdict.passed is None else float(verdict.passed)
    n_passed, n_failed, n_undecided = counts
    n_decided = n_passed + n_failed
    return None if not n_decided or is_only_bounded(n_decided, n_undecided) else n_passed / n_decided


def find_undecided(extra: Mapping[str, Any] | None) -> str | None:
    """Return why there is no verdict, of a conversation why its first undecided turn has none; None for other ones."""
    found = extra or {}
    turns = found.get("turns")
    reasons = [found.get(UNDECIDED), *(turn.get("why") for turn in (turns if isinstance(turns, list) else ()))]
    return next((str(why) for why in reasons if why is not None), None)


def _build_details(verdict: Verdict) -> Row:
    """Return the evaluator's results other than its number: spans, extra data and the cost of its judge."""
    cost = judge_cost(verdict.extra)
    extra = dict(verdict.extra) if verdict.extra else None
    return {"spans": verdict.spans, "extra": extra, "judge_cost": cost if cost is None else _plain(cost)}


def judge_cost(extra: Mapping[str, object] | None) -> float | None:
    """Return the cost of the judge; None if none was used, or its prices are unknown."""
    judge = (extra or {}).get("judge")
    cost = judge.get("cost") if isinstance(judge, Mapping) else None
    return float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else None


def clear_judge_cost(extra: Mapping[str, Any] | None) -> Mapping[str, object] | None:
    """Return the extra data of a reused run without its judge cost: the judge was queried once."""
    if judge_cost(extra) is None:
        return extra
    return {**(extra or {}), "judge": {**(extra or {})["judge"], "cost": 0.0}}


def _convert_number(metric: Metric, pos: int, value: Any, denominator: Any) -> Row:
    for number in (value, denominator) if metric.kind.takes_denominator else (value,):
        if not isinstance(number, int | float) or not abs(number) <= LARGEST:
            return failed_score(
                pos, metric, "not_a_number", f"Metric {metric.name!r} got {_format_value(number)}, not a finite number."
            )
    value = _plain(value)
    if metric.value_range is not None and not metric.value_range[0] <= value <= metric.value_range[1]:
        low, high = metric.value_range
        message = f"Metric {metric.name!r} got {value:g}, outside its range {low:g} to {high:g}."
        return failed_score(pos, metric, "out_of_range", message)
    if (metric.binary or metric.binary_samples) and value not in (0.0, 1.0):
        return failed_score(pos, metric, "out_of_range", f"Metric {metric.name!r} is binary and got {value:g}.")
    return {
        "pos": pos,
        "metric": metric.name,
        "value": value,
        "denominator": _plain(denominator) if metric.kind.takes_denominator else None,
    }


def _plain(number: float) -> float:
    return float(number) if abs(number) >= SMALLEST else 0.0


def _format_value(value: Any) -> str:
    return "nothing" if value is MISSING or value is None else repr(value)[:60]


def failed_score(pos: int, metric: Metric, code: str, message: str) -> Row:
    """Return the row of a score that could not be made: an error, and no number."""
    return {"pos": pos, "metric": metric.name, "error_code": code, "error_message": message[:1000]}
