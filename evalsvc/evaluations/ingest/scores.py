"""Store scores made elsewhere: under `external:` names, they are searched and displayed like the service's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import F

from evalsvc.accounts.models import Account
from evalsvc.evaluations.database.lookups import AnyOf
from evalsvc.evaluations.database.round_trips import dump_jsonb, raw_connection
from evalsvc.evaluations.ingest.rows import ClientScore, PlacementRequest
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.wire.shapes import RowError
from evalsvc.infra.locks import CLIENT_SCORES
from evalsvc.projects.services import Placement, lock_placement, remember_app
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope

MAX_PLACEMENTS = 100


@dataclass(frozen=True, slots=True)
class KeptScores:
    """The evaluations of rows in their order, how many of them are new, and the errors of rows without a place."""

    evaluations: list[Evaluation]
    n_new: int
    errors: list[RowError]


def keep_scores(*, account: Account, scores: Sequence[ClientScore], name: str = "evaluations") -> KeptScores:
    """Store each score once.

    A row that was stored before is not stored again: its existing evaluation is returned. `name` is the name of the
    list of rows in the body.
    """
    with account_scope(account.pk):
        start = take_turns(account.pk)
        placed_scores, errors = _assign_placements(account, scores, name)
        ids = keep_client_scores(account.pk, placed_scores) if placed_scores else []
        rows = _read_with_requests(account, ids)
    n_new = sum(row.completed_at is not None and row.completed_at >= start for row in rows.values())
    return KeptScores([rows[id] for id in ids], n_new, errors)


def _read_with_requests(account: Account, ids: Sequence[int]) -> dict[int, Evaluation]:
    """Read evaluations and their requests, each by its ids: a join would read whole tables by stale statistics."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_seqscan', 'off', true)")
    evaluations = Evaluation.objects.filter(AnyOf(F("id"), ids), account=account).in_bulk()
    request_ids = [evaluation.request_id for evaluation in evaluations.values()]
    requests = EvaluationRequest.objects.filter(AnyOf(F("id"), request_ids), account=account).in_bulk()
    for evaluation in evaluations.values():
        evaluation.request = requests[evaluation.request_id]
    return evaluations


def _assign_placements(
    account: Account, scores: Sequence[ClientScore], name: str
) -> tuple[list[ClientScore], list[RowError]]:
    """Add to each score where it belongs; a batch has a few placements, each looked up once."""
    placements = _placements(account, list(dict.fromkeys(score.placement for score in scores))[:MAX_PLACEMENTS])
    good: list[ClientScore] = []
    errors: list[RowError] = []
    for score in scores:
        placement = placements.get(score.placement, TOO_MANY)
        if isinstance(placement, Placement):
            names = ("project_id", "app", "experiment_id")
            score.request.update({name: getattr(placement, name) for name in names})
            good.append(score)
        else:
            at = f"/{name}/{score.index}"
            errors += [
                RowError(index=score.index, pointer=at + pointer, detail=detail) for pointer, detail in placement
            ]
    return good, errors


TOO_MANY = [("", f"A batch has at most {MAX_PLACEMENTS} different apps, projects and experiments.")]


def _placements(
    account: Account, asked: Sequence[PlacementRequest]
) -> dict[PlacementRequest, Placement | list[tuple[str, str]]]:
    """Find each placement, or what is wrong with it; new names are made in the order in which calls make theirs."""
    placements = {
        request: _placement(account, request) for request in sorted(asked, key=lambda one: one.project_name or "")
    }
    for app in sorted(
        {placement.app for placement in placements.values() if isinstance(placement, Placement) and placement.app}
    ):
        remember_app(account.pk, app)
    return placements


def _placement(account: Account, asked: PlacementRequest) -> Placement | list[tuple[str, str]]:
    try:
        return lock_placement(
            account_id=account.pk,
            app=asked.app,
            experiment_id=asked.experiment_id,
            project_id=asked.project_id,
            project_name=asked.project_name,
        )
    except Problem as problem:
        return [(error.pointer, error.detail) for error in problem.errors]


def take_turns(account_id: int) -> datetime:
    """Serialize the batches of an account until the transaction ends, as `keep_client_scores` does.

    Return the time since when no other batch can write. Call it before creating a batch's apps and projects: two
    batches with the same new ones in different order deadlock.
    """
    with connection.cursor() as cursor:
        CLIENT_SCORES.take(cursor, account_id)
        cursor.execute("SELECT clock_timestamp()")
        (start,) = cursor.fetchone() or ()
    return start


def keep_client_scores(account_id: int, scores: Sequence[ClientScore]) -> list[int]:
    """Write scores that were made elsewhere, each once; return the ids of their evaluations, in the same order.

    Rows of one batch that are the same are one.
    """
    first = {score.fingerprint: position for position, score in reversed(list(enumerate(scores)))}
    rows = [
        {
            "position": position,
            "fingerprint": fingerprint,
            "since": scores[position].since,
            "request": scores[position].request,
            "evaluation": scores[position].evaluation,
        }
        for fingerprint, position in first.items()
    ]
    sql = "SELECT row_position, evaluation_id FROM keep_client_evaluations(%s, %s::jsonb)"
    with connection.wrap_database_errors:
        ids_by_position = dict(
            raw_connection().execute(sql, [account_id, dump_jsonb(rows)], prepare=True, binary=True).fetchall()
        )
    return [ids_by_position[first[score.fingerprint]] for score in scores]
