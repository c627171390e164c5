"""Metrics that are added to an experiment which the service has: scored there, once, with the run's own estimates."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.client.coroutines import Loop
from evalsvc.client.results.live import Standing
from evalsvc.client.results.metrics import Metric
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.client.scoring.row_scores import compute_score, get_component
from evalsvc.client.scoring.scorers import CustomMetric, Scorer, build_scorer
from evalsvc.client.service.bodies import OutputBody
from evalsvc.client.service.evaluators import build_evaluator_entry, evaluator_label
from evalsvc.client.service.experiments_api import ExperimentsApi

SCORES_A_REQUEST = 500
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One config of an experiment that the service has."""

    api: ExperimentsApi
    experiment_id: str
    config_id: str

    def outputs(self) -> Iterator[OutputBody]:
        """Yield its outputs with their scores."""
        return self.api.results(self.experiment_id, self.config_id)


def add_metric(
    run: StoredRun,
    rows: Sequence[Row],
    wanted: str | Mapping[str, object] | Scorer | CustomMetric,
    *,
    taken: Container[str],
    name: str | None,
    component: str | None,
) -> Metric:
    """Add a metric to the run's experiment, wait until it is scored, and store its scores and estimate here.

    An evaluator runs in the service, over the outputs of all configs. A function runs here, over these rows, and its
    numbers are sent. Raises InvalidError (`already_exists`) if the name belongs to another metric, ValueError if it has
    the numbers of another function, and TimeoutError when nothing has been scored for five minutes.
    """
    entry = _build_entry(rows, wanted, name, component)
    label = entry["name"]
    if label in taken and label not in {row["name"] for row in run.api.metrics(run.experiment_id)}:
        raise ValueError(f"This result has a metric {label!r} of its own. Give another `name`.")
    run.api.add_metrics(run.experiment_id, [entry])
    posted: Mapping[int, Any] = {}
    if entry.get("source") == "client":
        posted = _send_scores(run, rows, label, build_scorer(wanted), component)  # type: ignore[arg-type]
    status = wait_until_scored(run.api, run.experiment_id, run.config_id, [label])
    stored_scores = _read_stored_scores(run, label)
    _refuse_other_numbers(label, posted, stored_scores)
    for row in rows:
        if row.pos in stored_scores:
            row.scores[label] = stored_scores[row.pos]
    return status.metrics[label]


def _build_entry(
    rows: Sequence[Row],
    wanted: str | Mapping[str, object] | Scorer | CustomMetric,
    name: str | None,
    component: str | None,
) -> dict[str, Any]:
    """Return the metric in the words of a plan."""
    if not isinstance(wanted, str) and (not isinstance(wanted, Mapping) or "value" in wanted):
        metric = build_scorer(wanted)
        return metric.as_wire(_build_label(name, getattr(metric.score, "__name__", "score"), component))
    entry = build_evaluator_entry(wanted)
    own_name = evaluator_label(entry)
    entry.pop("name", None)
    entry = {**entry, "name": _build_label(name, own_name, component)}
    return entry if component is None else {**entry, "sample": _build_sample(rows, component)}


def _build_label(name: str | None, own_name: str, component: str | None) -> str:
    return name or (f"{component}.{own_name}" if component else own_name)


def _build_sample(rows: Sequence[Row], component: str) -> dict[str, str]:
    """Return where the service finds a component's part of outputs, and of expectations where they have one."""
    outputs = [get_component(row.output, component) for row in rows if row.is_ok]
    expected = [part for row in rows if (part := get_component(row.expected, component)) is not None]
    gold = {"gold": f"/expected{_pointer_step(component)}{_only_key_step(expected)}"} if expected else {}
    return {"output": f"/output{_pointer_step(component)}{_only_key_step(outputs)}"} | gold


def _pointer_step(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _only_key_step(parts: Sequence[Any]) -> str:
    """Return the pointer step to the only value of these objects, if all have the same single key."""
    keys = {tuple(part) if isinstance(part, Mapping) else () for part in parts}
    only = keys.pop() if len(keys) == 1 else ()
    return _pointer_step(str(only[0])) if len(only) == 1 else ""


def _send_scores(
    run: StoredRun, rows: Sequence[Row], label: str, metric: CustomMetric, component: str | None
) -> Mapping[int, Any]:
    """Compute the numbers of these rows' outputs here and send them; one that is there already stays.

    Returned are, by position, those of a call that brought nothing new: they should be what is there.
    """
    ids = {output["pos"]: output["id"] for output in run.outputs() if output["status"] == "ok"}
    ok_rows = [row for row in rows if row.is_ok and row.pos in ids]
    loop = Loop()
    try:
        scores = [{"output_id": ids[row.pos], **_score_row(row, metric, component, loop)} for row in ok_rows]
    finally:
        loop.close()
    n_new = sum(
        run.api.post_scores(run.experiment_id, label, scores[start : start + SCORES_A_REQUEST])
        for start in range(0, len(scores), SCORES_A_REQUEST)
    )
    return {} if n_new else {row.pos: score.get("value") for row, score in zip(ok_rows, scores, strict=True)}


def _refuse_other_numbers(label: str, sent: Mapping[int, Any], stored: Mapping[int, RowScore]) -> None:
    """Raise ValueError where a function gives other numbers than those that have its name: they are another's."""
    for pos, value in sent.items():
        existing = stored[pos].value if pos in stored else None
        if existing is not None and not isinstance(value, Mapping) and value != existing:
            raise ValueError(
                f"The experiment has a metric {label!r} with other numbers: {existing:g}, where this function gives"
                f" {'none' if value is None else format(value, 'g')}. What is scored stays; give another `name`."
            )


def _score_row(row: Row, metric: CustomMetric, component: str | None, loop: Loop) -> dict[str, Any]:
    try:
        output, expected = get_component(row.output, component), get_component(row.expected, component)
        return {"value": compute_score(metric, row.input, output, expected, loop)}
    except Exception as exc:
        # The caller's own code: what it raises belongs to this row, and the other rows are still worth scoring.
        return {"error": f"{type(exc).__name__}: {exc}"[:1000]}


def wait_until_scored(
    api: ExperimentsApi, experiment_id: str, config_id: str, labels: Sequence[str], *, n_wanted: int | None = None
) -> Standing:
    """Wait until enough answers of the config are scored or known to have no score, and return the status.

    The default is to wait for all answers that are visible.
    """
    pause, previous_total, deadline = FIRST_PAUSE_SECONDS, -1, 0.0
    while True:
        live, _ = api.live(experiment_id)
        assert live is not None  # noqa: S101  only a request with an ETag is answered with 304
        status = live.config(config_id)
        counts = [_count_tried(status.metrics[label]) for label in labels]
        if min(counts) >= (status.raw.get("watermark", 0) if n_wanted is None else n_wanted):
            return status
        if sum(counts) != previous_total:
            previous_total, deadline = sum(counts), time.monotonic() + PATIENCE_SECONDS
        elif time.monotonic() > deadline:
            raise TimeoutError(
                f"{labels[counts.index(min(counts))]!r} is known of {min(counts)} outputs, and no more came for"
                f" {PATIENCE_SECONDS:.0f} s. The service goes on with it; ask again later, or look whether its workers"
                " run."
            )
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _count_tried(metric: Metric) -> int:
    return metric.n + metric.n_error + metric.n_na


def _read_stored_scores(run: StoredRun, label: str) -> dict[int, RowScore]:
    """Return what the service has of a metric, by position."""
    scores = ((output["pos"], (output.get("scores") or {}).get(label)) for output in run.outputs())
    return {pos: RowScore.read(score) for pos, score in scores if score is not None}
