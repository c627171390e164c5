"""What was accepted and is asked for again: each question is one message to the database (sql/stored.sql).

Callers of slow judges come back for every answer, so these are as hot as the captures. The ORM would compose each query
anew and send four messages, which costs more than the rest of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connection, connections
from django.db.models import Model

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.round_trips import call, raw_connection
from evalsvc.tenancy.scope import current_role

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

    def read(self, model: type[ModelT], values: tuple[Any, ...]) -> ModelT:
        """Make an instance of its values."""
        made = list(values)
        for i, field in self._decoded:
            made[i] = field.from_db_value(made[i], None, connections[current_role()])
        return model.from_db(current_role(), self._attnames, made)


_request, _evaluation = Columns(EvaluationRequest, "s.request"), Columns(Evaluation, "s.evaluation")
STORED = f"SELECT {_request.names}, {_evaluation.names} FROM stored_evaluations(%s, %s) s"  # noqa: S608  names are ours


def read_stored(account_id: int, request_id: int) -> tuple[EvaluationRequest, list[Evaluation]] | None:
    """Return a request and its evaluations in order; None for missing, foreign and purged.

    It is for its caller: where that was told to come back, and all verdicts are there, they count as delivered.
    """
    with connection.wrap_database_errors:
        rows = raw_connection().execute(STORED, [account_id, request_id], prepare=True).fetchall()
    if not rows:
        return None
    n = len(_request)
    evaluations = [_evaluation.read(Evaluation, row[n:]) for row in rows if row[n] is not None]
    return _request.read(EvaluationRequest, rows[0][:n]), evaluations


@dataclass(frozen=True, slots=True)
class Repeated:
    """The earlier request that a call repeats, and whether what failed in it is to be tried again."""

    request_id: int
    try_again: bool


def find_repeated(
    account_id: int, fingerprint: int, *, n_results: int, sign: str | None, oldest: int
) -> Repeated | None:
    """Return the newest request that a call with this digest repeats, as `selectors.find_retried` has it, if any."""
    sql = "SELECT request_id, try_again FROM find_repeated(%s, %s, %s, %s, %s)"
    with connection.wrap_database_errors:
        values = [account_id, fingerprint, oldest, n_results, sign]
        row = raw_connection().execute(sql, values, prepare=True).fetchone()
    return Repeated(*row) if row else None


def stamp_told_pending(account_id: int, request_id: int) -> None:
    """Remember, once, that a request's caller was told to come back."""
    call("SELECT stamp_request(%s, %s, false)", [account_id, request_id])
