"""Scores of outputs that are there already: by a function here, or by an evaluator of the service."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from evalsvc.client.coroutines import Loop, wait_if_awaitable
from evalsvc.client.errors import ConfigurationError
from evalsvc.client.results.metrics import Metric
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.client.scoring.batches import compute_for_example
from evalsvc.client.scoring.estimates import estimate_mean
from evalsvc.client.scoring.scorers import CustomMetric, PostedScore, Scorer, build_scorer, check_score
from evalsvc.client.service.evaluators import build_evaluator_entry, evaluator_label
from evalsvc.client.service.service import Service
from evalsvc.client.shapes import read_body, split_answer
from evalsvc.client.values import to_evaluator_text, to_wire

NO_SCORE = RowScore(error_code="not_applicable", error_message="The metric returned None.")
NAME_IS_TAKEN = "This result has a metric {0!r} already, and its scores stay. Give another `name`."


def score_rows(
    rows: Sequence[Row],
    wanted: str | Mapping[str, object] | Scorer | CustomMetric,
    *,
    name: str | None,
    component: str | None,
    client: Service | None,
    level: float,
    threads: int,
    taken: Container[str] = (),
) -> Metric:
    """Score every row that has an output, store the scores in the rows, and estimate their mean.

    Raises ValueError, before any row is changed, if the name is taken.
    """
    if isinstance(wanted, (str, Mapping)):
        label, scores = _score_by_evaluator(rows, wanted, component, client, threads)
    else:
        label, scores = _score_by_function(rows, build_scorer(wanted), component)
    label = name or (f"{component}.{label}" if component else label)
    refuse_taken_names([label], taken)
    for row, score in zip(rows, scores, strict=True):
        if score is not None:
            row.scores[label] = score
    values = [score.value for score in scores if score is not None and score.value is not None]
    n_na = sum(score is not None and score.error_code == "not_applicable" for score in scores)
    return estimate_mean(label, values, n_total=len(rows), n_na=n_na, level=level)


def refuse_taken_names(names: Iterable[str], taken: Container[str]) -> None:
    """Refuse to write over an estimate that is there. ValueError."""
    for name in names:
        if name in taken:
            raise ValueError(NAME_IS_TAKEN.format(name))


def compute_score(metric: CustomMetric, value: object, output: object, expected: object, loop: Loop) -> PostedScore:
    """Call a scorer and return what goes on the wire; raises whatever it raises, or ValueError for no number."""
    if metric.compute is not None:
        return compute_for_example(metric, value, output, expected)
    return check_score(wait_if_awaitable(metric.score(value, output, expected), loop), ratio=metric.ratio)


def _score_by_function(
    rows: Sequence[Row], metric: CustomMetric, component: str | None
) -> tuple[str, list[RowScore | None]]:
    if metric.ratio:
        raise ValueError("A ratio is estimated by the service only; return one number a row here.")
    loop = Loop()
    try:
        scores = [_score_one(row, metric, component, loop) if row.is_ok else None for row in rows]
    finally:
        loop.close()
    return getattr(metric.score, "__name__", "score"), scores


def _score_one(row: Row, metric: CustomMetric, component: str | None, loop: Loop) -> RowScore:
    try:
        output, expected = get_component(row.output, component), get_component(row.expected, component)
        # A ratio, the only score that is no number, was rejected before.
        value = cast("float | None", compute_score(metric, row.input, output, expected, loop))
        return RowScore(value) if value is not None else NO_SCORE
    except Exception as exc:
        # The caller's own code: what it raises belongs to this row, and the other rows are still worth scoring.
        return RowScore(error_code="bug", error_message=f"{type(exc).__name__}: {exc}")


def _score_by_evaluator(
    rows: Sequence[Row],
    wanted: str | Mapping[str, object],
    component: str | None,
    client: Service | None,
    threads: int,
) -> tuple[str, list[RowScore | None]]:
    if client is None:
        raise ConfigurationError(
            "An evaluator runs in the service, and this result knows no client.",
            code="no_client",
            remedy="Pass `client=Client(...)`, or load the result with `EvaluationResult.load(path, client=...)`.",
        )
    entry = build_evaluator_entry(wanted)
    label = evaluator_label(entry)
    entry.pop("name", None)

    def ask(row: Row) -> RowScore | None:
        if not row.is_ok:
            return None
        output, contexts = split_answer(read_body(to_wire(get_component(row.output, component))))
        verdict = client.evaluate(
            [entry],
            input=to_evaluator_text(row.input),
            output=output,
            gold=split_answer(to_wire(get_component(row.expected, component)))[0],
            contexts=row.contexts if contexts is None else cast("list[str]", contexts),
            capture="none",
        )[0]
        # As in an experiment: where the row lacks what the evaluator needs, nothing has failed.
        code = "not_applicable" if verdict.error_code == "missing_input" else verdict.error_code
        return RowScore(verdict.score, verdict.passed, code, verdict.error_message)

    with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="evalsvc-rescore") as pool:
        return label, list(pool.map(ask, rows))


def get_component(value: object, component: str | None) -> object:
    """Return one component's part of an output or expectation; None when it has none."""
    if component is None:
        return value
    return value.get(component) if isinstance(value, Mapping) else None
