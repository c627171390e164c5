"""The frame of a review: everything that its items are drawn from, with the scores that a draw may favour by."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import search_evaluations
from evalsvc.experiments.models import Config, Output, Score
from evalsvc.experiments.selectors import get_plan, list_configs, list_outputs
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.reviews.models import Review
from evalsvc.telemetry.filters import SPAN_FIELDS, telemetry_condition
from evalsvc.telemetry.models import Span

MAX_FRAME = 50_000
MAX_CONFIGS = 16
TIMEOUT_SECONDS = 20
Kind = Review.Kind


@dataclass(frozen=True, slots=True)
class FrameRow:
    """Something that may become an item."""

    subject_id: int
    other_id: int = 0
    config_id: int | None = None
    other_config_id: int | None = None
    example_pos: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """All candidates, in an order that a second reading repeats."""

    kind: Kind
    candidates: Sequence[FrameRow]
    config_names: Mapping[int, str] = field(default_factory=dict)
    experiment_id: int | None = None
    logs: Sequence[object] = ()
    """Of evaluations: what each candidate counts once for, its log, or itself without one."""

    @property
    def digest(self) -> str:
        """Return what the frame is known by: SHA-256 of its ids in their order."""
        ids = "\n".join(f"{row.subject_id}:{row.other_id}" for row in self.candidates)
        return hashlib.sha256(ids.encode()).hexdigest()


def read_frame(*, account: Account, source: Mapping[str, Any]) -> Frame:
    """Find everything that a source names: one of `outputs`, `pairs`, `evaluations` and `spans`.

    Raises Invalid with a pointer for what is not there and for a frame that is empty or above MAX_FRAME. Within the
    account's scope.
    """
    ((name, options),) = source.items()
    readers: dict[str, Callable[[Account, Mapping[str, Any]], Frame]]
    readers = {"outputs": _outputs, "pairs": _pairs, "spans": _spans, "evaluations": _evaluations}
    with in_time(TIMEOUT_SECONDS, what="Looking for the items of the review"):
        frame = readers[name](account, options)
    if not frame.candidates:
        raise Invalid(FieldError(f"/items/{name}", "Nothing is there to be reviewed."))
    if len(frame.candidates) > MAX_FRAME:
        raise _too_many(name)
    return frame


def read_earlier_frame(*, account: Account, source: Mapping[str, Any], before: int) -> Frame:
    """Find what is left of the evaluations that a source named at an earlier draw: those with an id below `before`.

    The frame is empty where all have been deleted, and ends after MAX_FRAME if more of them match by now. Within the
    account's scope.
    """
    with in_time(TIMEOUT_SECONDS, what="Looking for the items of the review"):
        return _evaluations(account, source["evaluations"], before=before)


def _too_many(name: str) -> Invalid:
    return Invalid(FieldError(f"/items/{name}", f"These are more than {MAX_FRAME:,}; name fewer."))


def _outputs(account: Account, asked: Mapping[str, Any]) -> Frame:
    configs = _configs(account, asked, "/items/outputs", least=1)
    rows = _query_outputs(account, asked["experiment_id"], configs)
    candidates = [FrameRow(id, 0, config, None, pos) for id, config, pos in rows[: MAX_FRAME + 1]]
    return Frame(
        Kind.OUTPUT,
        candidates,
        {experiment_config.pk: experiment_config.name for experiment_config in configs},
        asked["experiment_id"],
    )


def _pairs(account: Account, asked: Mapping[str, Any]) -> Frame:
    configs = _configs(account, asked, "/items/pairs", least=2)
    by_place: dict[int, dict[int, int]] = {}
    rows = list(_query_outputs(account, asked["experiment_id"], configs)[: MAX_FRAME + 1])
    if len(rows) > MAX_FRAME:
        # Truncated, the last examples would silently have no pairs.
        raise _too_many("pairs")
    for id, config, pos in rows:
        by_place.setdefault(pos, {})[config] = id
    # The order of arrival decides which config of a pair is the first.
    ids = [experiment_config.pk for experiment_config in configs]
    candidates = [
        FrameRow(answers[a], answers[b], a, b, pos)
        for pos, answers in by_place.items()
        for a, b in itertools.combinations(ids, 2)
        if a in answers and b in answers
    ]
    return Frame(
        Kind.PAIR,
        candidates,
        {experiment_config.pk: experiment_config.name for experiment_config in configs},
        asked["experiment_id"],
    )


def _query_outputs(account: Account, experiment_id: int, configs: Collection[Config]) -> Any:
    rows = list_outputs(account=account, experiment_id=experiment_id)
    ok_rows = rows.filter(status=Output.Status.OK, config_id__in=[config.pk for config in configs])
    return ok_rows.order_by("pos", "config_id").values_list("id", "config_id", "pos")


def _configs(account: Account, asked: Mapping[str, Any], pointer: str, *, least: int) -> list[Config]:
    try:
        get_plan(account=account, id=asked["experiment_id"])
    except NotFound:
        raise Invalid(FieldError(f"{pointer}/experiment_id", "No such experiment.")) from None
    rows = list(list_configs(account=account, experiment_id=asked["experiment_id"]))
    names = asked.get("configs")
    configs = rows if names is None else _select_configs(rows, names, f"{pointer}/configs")
    if not least <= len(configs) <= MAX_CONFIGS:
        raise Invalid(FieldError(f"{pointer}/configs", f"Name {least} to {MAX_CONFIGS} configs."))
    return configs


def _select_configs(rows: Sequence[Config], wanted: Sequence[str], pointer: str) -> list[Config]:
    configs_by_key = {config.name: config for config in rows} | {str(config.pk): config for config in rows}
    errors = [
        FieldError(f"{pointer}/{i}", f"The experiment has no config {name!r}.")
        for i, name in enumerate(wanted)
        if name not in configs_by_key
    ]
    if errors:
        raise Invalid(*errors)
    selected_ids = {configs_by_key[name].pk for name in wanted}
    return [config for config in rows if config.pk in selected_ids]


def _evaluations(account: Account, asked: Mapping[str, Any], *, before: int | None = None) -> Frame:
    condition = evaluation_condition(asked["filters"], "/items/evaluations/filters")
    columns = ("id", "log_id", "evaluation_type")
    candidates: dict[object, FrameRow] = {}
    cursor: str | None = None
    while len(candidates) <= MAX_FRAME:
        page = search_evaluations(
            account=account,
            condition=condition,
            limit=5000,
            cursor=cursor,
            columns=columns,
            shows="nothing",
            before_id=before,
        )
        for row in page.rows:
            # A label is of the log: two evaluations of one log are one question. Labels themselves are no items.
            if row.evaluation_type != Evaluation.Type.ANNOTATION:
                candidates.setdefault(row.log_id or row.id, FrameRow(row.id))
        cursor = page.next_cursor
        if cursor is None:
            break
    return Frame(Kind.EVALUATION, list(candidates.values()), logs=list(candidates))


def _spans(account: Account, asked: Mapping[str, Any]) -> Frame:
    filters = asked["filters"]
    condition = _parse_span_filters(filters)
    rows = Span.objects.filter(condition, account=account).order_by("-started_at", "-id")
    return Frame(Kind.SPAN, [FrameRow(id) for id in rows.values_list("id", flat=True)[: MAX_FRAME + 1]])


def _parse_span_filters(filters: object) -> Any:
    try:
        return telemetry_condition(filters, SPAN_FIELDS)
    except Invalid as problem:
        raise Invalid(*(FieldError(f"/items/spans{error.pointer}", error.detail) for error in problem.errors)) from None


# --- Scores ----------------------------------------------------------------------------------------------------------


def metric_scores(account: Account, frame: Frame) -> dict[tuple[int, int], dict[str, float]]:
    """Return the scores of an experiment's outputs, by (config, place) and metric."""
    configs = [*frame.config_names]
    rows = Score.objects.filter(account=account, config_id__in=configs, value__isnull=False, denominator=None)
    scores: dict[tuple[int, int], dict[str, float]] = {}
    for config, pos, metric, value in rows.values_list("config_id", "pos", "metric", "value").iterator():
        scores.setdefault((config, pos), {})[metric] = float(value or 0.0)
    return scores


def evaluation_scores(account: Account, frame: Frame) -> Iterator[tuple[float | None, list[float]]]:
    """Yield for each candidate its score, and the verdicts (1 passed, 0 failed) of all evaluators of the same log."""
    ids = [candidate.subject_id for candidate in frame.candidates]
    rows = {id: (score, log) for id, score, log in _facts(account, id__in=ids).values_list("id", "score", "log_id")}
    logs = {log for _, log in rows.values() if log is not None}
    verdicts: dict[str, list[float]] = {}
    others = _facts(account, log_id__in=list(logs), passed__isnull=False).exclude(
        evaluation_type=Evaluation.Type.ANNOTATION
    )
    for log, passed in others.values_list("log_id", "passed"):
        verdicts.setdefault(str(log), []).append(float(bool(passed)))
    for id in ids:
        score, log = rows.get(id, (None, None))
        yield score, verdicts.get(str(log), [])


def _facts(account: Account, **conditions: Any) -> Any:
    return Evaluation.objects.filter(account=account, captured=True, **conditions)
