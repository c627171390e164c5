"""Read stored requests and their evaluations, each in one round trip to the database (sql/stored.sql).

Callers of slow judges poll for every answer, so these queries are as hot as captures. The ORM would compile each query
again and make four round trips, which costs more than the rest of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connection, connections
from django.db.models import Model

from evalsvc.catalog.resolve import find_family, may_fail
from evalsvc.evaluations.database.columns import VERDICT
from evalsvc.evaluations.database.partitions import lookups_for_requests
from evalsvc.evaluations.database.round_trips import call_function, raw_connection
from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.alongside import UnknownConfig, find_side
from evalsvc.evaluations.history.cache import Pairs
from evalsvc.evaluations.history.interval import answer_interval
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.wire.answer import EntryFacts, RequestFacts
from evalsvc.evaluations.wire.interval_request import load_interval_options
from evalsvc.evaluations.wire.scores import get_why
from evalsvc.evaluations.wire.stored import build_entry, request_facts
from evalsvc.rest.problems import Invalid, NotFound
from evalsvc.tenancy.scope import account_scope, current_role

ModelT = TypeVar("ModelT", bound=Model)


class Columns:
    """The columns of a model within a wider row: their names for a query, and how a row becomes an instance."""

    def __init__(self, model: type[Model], composite: str) -> None:
        self._fields = model._meta.concrete_fields
        self.names = ", ".join(f"({composite}).{field.column}" for field in self._fields)
        self._attnames = [field.attname for field in self._fields]
        # JSON comes as text, as for the ORM.
        self._decoded = [(i, field) for i, field in enumerate(self._fields) if hasattr(field, "from_db_value")]

    def __len__(self) -> int:
        return len(self._fields)

    def read(self, model: type[ModelT], values: tuple[object, ...]) -> ModelT:
        """Make an instance of its values."""
        row_values = list(values)
        for i, field in self._decoded:
            row_values[i] = field.from_db_value(row_values[i], None, connections[current_role()])
        return model.from_db(current_role(), self._attnames, row_values)


_request, _evaluation = Columns(EvaluationRequest, "s.request"), Columns(Evaluation, "s.evaluation")
STORED = f"SELECT {_request.names}, {_evaluation.names} FROM stored_evaluations(%s, %s) s"  # noqa: S608  names are ours
STORED_MANY = (
    f"SELECT {_request.names}, {_evaluation.names} FROM unnest(%s::bigint[]) WITH ORDINALITY i(id, n),"  # noqa: S608  names are ours
    " LATERAL stored_evaluations(%s, i.id) s ORDER BY i.n, (s.evaluation).position"
)
STAMP_MANY = "SELECT count(*) FROM unnest(%s::bigint[]) i(id), LATERAL stamp_request(%s, i.id, false)"


def read_stored(account_id: int, request_id: int) -> tuple[EvaluationRequest, list[Evaluation]] | None:
    """Return a request and its evaluations in order; None if it is missing, belongs to another account, or is purged.

    This is for the request's caller: if the caller was answered `pending` and all verdicts are there, they are marked
    as delivered.
    """
    with connection.wrap_database_errors:
        rows = raw_connection().execute(STORED, [account_id, request_id], prepare=True).fetchall()
    if not rows:
        return None
    n = len(_request)
    evaluations = [_evaluation.read(Evaluation, row[n:]) for row in rows if row[n] is not None]
    return _request.read(EvaluationRequest, rows[0][:n]), evaluations


def read_stored_many(account_id: int, request_ids: Sequence[int]) -> dict[int, StoredRequest]:
    """Return requests with their evaluations by id, as `read_stored` does, in one message."""
    if not request_ids:
        return {}
    with connection.wrap_database_errors:
        rows = raw_connection().execute(STORED_MANY, [list(request_ids), account_id], prepare=True).fetchall()
    n, requests_by_id = len(_request), dict[int, StoredRequest]()
    for row in rows:
        request = _request.read(EvaluationRequest, row[:n])
        stored_request = requests_by_id.setdefault(request.id, StoredRequest(request, []))
        if row[n] is not None:
            stored_request.evaluations.append(_evaluation.read(Evaluation, row[n:]))
    return requests_by_id


def stamp_many_pending_answered(account_id: int, request_ids: Sequence[int]) -> None:
    """Record for several requests that their callers were answered `pending`."""
    if request_ids:
        call_function(STAMP_MANY, [list(request_ids), account_id])


def stamp_pending_answered(account_id: int, request_id: int) -> None:
    """Record once that the caller was answered `pending`: a repeat of the call is then the same evaluation."""
    call_function("SELECT stamp_request(%s, %s, false)", [account_id, request_id])


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A stored request with its evaluations in order."""

    request: EvaluationRequest
    evaluations: list[Evaluation]

    @property
    def is_finished(self) -> bool:
        """Return whether every evaluation has its verdict."""
        return not self.pending

    @property
    def pending(self) -> list[Evaluation]:
        """Return the evaluations without a verdict."""
        return [evaluation for evaluation in self.evaluations if evaluation.status == Evaluation.Status.PENDING]


def finished_verdicts(*, account_id: int, request_ids: list[int]) -> dict[int, list[dict[str, object]]]:
    """Return the verdicts that requests have so far, as a worker's replies would carry them; none for those without."""
    with account_scope(account_id):
        rows = Evaluation.objects.filter(account_id=account_id, **lookups_for_requests(request_ids))
        verdicts_by_request: dict[int, list[dict[str, Any]]] = {}
        for row in rows.exclude(status=Evaluation.Status.PENDING).values("request_id", "position", *VERDICT):
            verdicts_by_request.setdefault(row.pop("request_id"), []).append(row)
        return verdicts_by_request


def get_stored(*, account_id: int, request_id: int) -> StoredRequest:
    """Return a stored request; NotFound for missing, foreign and purged."""
    parts = read_stored(account_id, request_id)
    if parts is None:
        raise NotFound
    return StoredRequest(*parts)


def facts_of_stored(stored: StoredRequest) -> tuple[RequestFacts, list[EntryFacts]]:
    """Return what the answer is written from; intervals are of the history as it was before the request."""
    request = stored.request
    entries = [build_entry(evaluation) for evaluation in stored.evaluations]
    pairs = [
        (row.evaluator_id, row.profile_name) if row.family and row.profile_name and request.strategy != "none" else None
        for row in stored.evaluations
    ]
    if any(pairs):
        _add_intervals(request, entries, pairs)
    return request_facts(request, stored.evaluations[0].log_id if stored.evaluations else None), entries


def _add_intervals(request: EvaluationRequest, entries: list[EntryFacts], pairs: Pairs) -> None:
    """Compute the intervals that a stored request specified, over the history before it."""
    extras = request.extras or {}
    ask, side = load_interval_options(request.strategy, extras.get("interval")), None
    with suppress(UnknownConfig):
        side = find_side(
            account_id=request.account_id, experiment_id=request.experiment_id, config=extras.get("config")
        )
    if side is None and ask.is_plain:
        histories = store.read_histories(request.account_id, pairs, before=request.id)
    else:
        without = request.experiment_id if side is not None else None
        try:
            window = scope_window(request.account_id, ask, pointer="", without_experiment=without)
        except Invalid:
            # The project or experiment of its scope has been deleted since.
            return
        histories = store.read_scoped(request.account_id, pairs, window, before=request.id)
    for entry, history in zip(entries, histories, strict=True):
        if entry.family is not None:
            profile = f"{entry.profile_name}:{entry.profile_revision}"
            is_decided = entry.verdict.passed is not None or get_why(entry.verdict) is not None
            has_verdict = is_decided or may_fail(request.account_id, profile)
            entry.interval = answer_interval(ask, find_family(entry.family), history, has_verdict=has_verdict)
            if side is not None:
                entry.experiment_interval = side.interval_of(entry.evaluator_id, entry.profile_name)
