"""Reads of evaluations and of the history."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.db.models import BigIntegerField, Exists, F, Func, OuterRef, Q, QuerySet, Value

from evalsvc.accounts.models import Account
from evalsvc.catalog.models import ProfileRevision
from evalsvc.catalog.resolve import family_of
from evalsvc.evaluations.evaluate.stored import Repeated, find_repeated, read_stored
from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.alongside import UnknownConfig, find_side
from evalsvc.evaluations.history.cache import HISTORY_LENGTH, History, Pairs
from evalsvc.evaluations.history.interval import interval_of
from evalsvc.evaluations.history.scope import Window, window_of
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, EvaluationTag, HistoryScore
from evalsvc.evaluations.partitions import of_requests
from evalsvc.evaluations.verdicts import Verdict
from evalsvc.evaluations.wire.answer import EntryFacts, RequestFacts
from evalsvc.evaluations.wire.inputs import as_sent, stored_sample
from evalsvc.evaluations.wire.interval_request import stored_ask
from evalsvc.rest.problems import Invalid, NotFound
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Family, Sample

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
RETRY_WINDOW_SECONDS = 600
MAX_PROFILES = 20
VERDICT_COLUMNS = (
    "position", "status", "error_code", "error_message", "score", "passed", "text_output", "explanation", "spans",
    "extra", "duration_us",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored request with its evaluations in order."""

    request: EvaluationRequest
    evaluations: list[Evaluation]

    @property
    def is_finished(self) -> bool:
        """Say whether every evaluation has its verdict."""
        return not self.pending

    @property
    def pending(self) -> list[Evaluation]:
        """Return the evaluations without a verdict."""
        return [one for one in self.evaluations if one.status == Evaluation.Status.PENDING]


def finished_verdicts(*, account_id: int, request_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the verdicts that requests have so far, as a worker's replies would carry them; none for those without."""
    with account_scope(account_id):
        rows = Evaluation.objects.filter(account_id=account_id, **of_requests(request_ids))
        found: dict[int, list[dict[str, Any]]] = {}
        for row in rows.exclude(status=Evaluation.Status.PENDING).values("request_id", *VERDICT_COLUMNS):
            found.setdefault(row.pop("request_id"), []).append(row)
        return found


def get_stored(*, account_id: int, request_id: int) -> Stored:
    """Return a stored request; NotFound for missing, foreign and purged."""
    found = read_stored(account_id, request_id)
    if found is None:
        raise NotFound
    return Stored(*found)


def facts_of_stored(stored: Stored) -> tuple[RequestFacts, list[EntryFacts]]:
    """Return what the answer is written from; intervals are of the history as it was before the request."""
    request = stored.request
    entries = [entry_of(evaluation) for evaluation in stored.evaluations]
    pairs = [
        (row.evaluator_id, row.profile_name) if row.family and row.profile_name and request.strategy != "none" else None
        for row in stored.evaluations
    ]
    if any(pairs):
        _add_intervals(request, entries, pairs)
    return request_facts(request, stored.evaluations[0].log_id if stored.evaluations else None), entries


def _add_intervals(request: EvaluationRequest, entries: list[EntryFacts], pairs: Pairs) -> None:
    """Compute the intervals that a stored request asked for, of the history before it."""
    asked = request.extras or {}
    ask, side = stored_ask(request.strategy, asked.get("interval")), None
    with suppress(UnknownConfig):
        side = find_side(account_id=request.account_id, experiment_id=request.experiment_id, config=asked.get("config"))
    if side is None and ask.is_plain:
        histories = store.read_histories(request.account_id, pairs, before=request.id)
    else:
        without = request.experiment_id if side is not None else None
        try:
            window = window_of(request.account_id, ask, pointer="", without_experiment=without)
        except Invalid:
            # The project or experiment of its scope has been deleted since.
            return
        histories = store.read_scoped(request.account_id, pairs, window, before=request.id)
    for entry, history in zip(entries, histories, strict=True):
        if entry.family is not None:
            entry.interval = interval_of(ask, family_of(entry.family), history)
            if side is not None:
                entry.experiment_interval = side.interval_of(entry.evaluator_id, entry.profile_name)


def request_facts(request: EvaluationRequest, log_id: str | None) -> RequestFacts:
    """Return the request's part of an answer; its log is known by its evaluations."""
    return RequestFacts(
        sample=stored_sample(request),
        strategy=request.strategy,
        id=request.id,
        created_at=request.created_at,
        project_id=request.project_id,
        app=request.app,
        experiment_id=request.experiment_id,
        extras=as_sent(request.extras) if request.extras else None,
        tags=request.tags,
        dataset_id=request.dataset_id,
        dataset_sample_id=request.dataset_sample_id,
        log_id=log_id,
    )


def entry_of(row: Evaluation) -> EntryFacts:
    """Return one stored evaluation's part of an answer."""
    return EntryFacts(
        evaluator_id=row.evaluator_id,
        profile_name=row.profile_name or "",
        # Each by its name: a page makes thousands of them.
        verdict=Verdict(
            row.status,
            row.error_code,
            row.error_message,
            row.score,
            row.passed,
            row.text_output,
            row.explanation,
            row.spans,
            row.extra,
            row.duration_us,
        ),
        explain_strategy=row.explain_strategy,
        family=row.family,
        profile_id=row.profile_id,
        profile_revision=row.profile_revision,
        evaluation_id=row.id,
        captured=bool(row.captured),
        evaluation_type=row.evaluation_type,
        details=as_sent(row.details) if row.details else None,
        favorite=row.favorite,
        feedback=row.feedback,
    )


class Sign(StrEnum):
    """What tells that a call repeats one before it."""

    HEADER = "header"
    """The client counts its retries."""
    NAME = "name"
    """The call names the log or the span that it is about."""


def find_retried(
    *, account_id: int, fingerprint: int, n_results: int, sign: Sign | None, now: datetime
) -> Repeated | None:
    """Return the earlier request that this one repeats, if any of the last ten minutes does.

    A call repeats an earlier one with the same body when the client says that it retries, when both name the same log
    or span, or when the earlier caller was told `pending` and has not come back. Other equal calls are two evaluations.
    What ended in an error is no answer for a name's sake: whoever saw it asks for another try, and the verdicts beside
    it stand. Nor does an answer count of which capture has kept only some results.
    """
    oldest = id_at(now, back_seconds=RETRY_WINDOW_SECONDS)
    return find_repeated(account_id, fingerprint, n_results=n_results, sign=sign, oldest=oldest)


def id_at(moment: datetime, *, back_seconds: int = 0) -> int:
    """Return the lowest id that the database could have given at a moment."""
    milliseconds = int((moment - EPOCH).total_seconds() * 1000) - back_seconds * 1000
    return max(0, milliseconds) << 22


def get_evaluation(*, account: Account, id: int) -> Evaluation:
    """Return one captured evaluation with its request; NotFound for missing, foreign and uncaptured."""
    rows = Evaluation.objects.filter(account=account, id=id, captured=True).select_related("request")
    row = rows.first()
    if row is None:
        raise NotFound
    return row


def list_history(
    *, account: Account, evaluator_id: str, profile_name: str, window: Window | None = None
) -> QuerySet[HistoryScore]:
    """Return the scores of one history within a window (of `windows.window_of`), newest first."""
    rows = HistoryScore.objects.filter(account=account, evaluator_id=evaluator_id, profile_name=profile_name)
    return within(rows, window or {"include": "promoted"}).order_by("-id")


def within(rows: QuerySet[HistoryScore], window: Window) -> QuerySet[HistoryScore]:
    """Narrow a history to a window: as `scoped_scores` in sql/functions.sql."""
    include = window["include"]
    rows = rows if include == "all" else rows.filter(trial=False)
    rows = rows.exclude(source=HistoryScore.Source.EXPERIMENT) if include == "none" or "tags" in window else rows
    lookups = {"app": "app", "project": "project_id", "experiment": "experiment_id"}
    lookups |= {"from_id": "id__gte", "revision": "revision__gte"}
    rows = rows.filter(**{lookups[name]: value for name, value in window.items() if name in lookups})
    for key, value in window.get("tags", {}).items():
        digest = Func(F("account_id"), Value(key), Value(value), function="tag_digest", output_field=BigIntegerField())
        tagged = EvaluationTag.objects.filter(account_id=OuterRef("account_id"), evaluation_id=OuterRef("source_id"))
        rows = rows.filter(Exists(tagged.filter(digest=digest)))
    return rows


def history_summary(
    rows: QuerySet[HistoryScore], history: History, most: int | None = None
) -> dict[str, float | int | None]:
    """Return n, mean and pass rate of the newest scores of a history, and how many `rows` there are in all."""
    scores = history.scores[:most].tolist()
    judged = [verdict == 2 for verdict in (history.facts[:most] & 3).tolist() if verdict]
    return {
        "n": len(scores),
        "n_total": rows.count() if len(scores) == (most or HISTORY_LENGTH) else len(scores),
        "mean": sum(scores) / len(scores) if scores else None,
        "pass_rate": sum(judged) / len(judged) if judged else None,
    }


def profiles_with_scores(*, account: Account, evaluator_id: str) -> list[str]:
    """Return the profiles under which an evaluator has scores, the first MAX_PROFILES by name."""
    rows = HistoryScore.objects.filter(account=account, evaluator_id=evaluator_id).order_by("profile_name")
    names = rows.values_list("profile_name", flat=True)
    # From one name to the next: a history may have a million rows.
    found = list(names[:1])
    while found and len(found) < MAX_PROFILES and (more := list(names.filter(profile_name__gt=found[-1])[:1])):
        found += more
    return found


def thresholds_of(
    *, account: Account, profile_name: str, family: Family | None, rows: Iterable[HistoryScore]
) -> dict[int | None, float | None]:
    """Return the line at which each revision of a profile tells pass from fail; nothing for those that draw none."""
    numbers = {row.revision for row in rows if row.revision is not None}
    if family is None or not numbers:
        return {}
    revisions = ProfileRevision.objects.filter(
        Q(profile__account=account) | Q(profile__account=None),
        profile__family=family.name, profile__name=profile_name, number__in=numbers,
    )  # fmt: skip
    settings_of = dict(revisions.values_list("number", "settings"))
    return {number: family.threshold_for(Sample(), settings) for number, settings in settings_of.items()}
