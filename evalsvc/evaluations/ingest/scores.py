"""Keep scores that were made elsewhere: they are found, shown and remembered like our own, under `external:` names."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.evaluations.ingest.rows import ClientScore, Wish
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.round_trips import dumps, raw_connection
from evalsvc.evaluations.wire.shapes import RowError
from evalsvc.infra.locks import CLIENT_SCORES
from evalsvc.projects.services import Place, place_held, remember_app
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope

MAX_PLACES = 100


def keep_scores(
    *, account: Account, scores: Sequence[ClientScore], name: str = "evaluations"
) -> tuple[list[Evaluation], list[RowError]]:
    """Keep each score once and return its evaluation, in the order of the rows; and what could not be placed.

    A row that was kept before is not kept again: its evaluation of that time is returned. `name` is what the body
    calls its list of rows.
    """
    with account_scope(account.pk):
        take_turns(account.pk)
        placed, errors = _placed(account, scores, name)
        ids = keep_client_scores(account.pk, placed) if placed else []
        rows = Evaluation.objects.filter(account=account, id__in=ids).select_related("request").in_bulk()
    return [rows[id] for id in ids], errors


def _placed(account: Account, scores: Sequence[ClientScore], name: str) -> tuple[list[ClientScore], list[RowError]]:
    """Add to each score where it belongs; a batch has a few places, each looked up once."""
    known = _places(account, list(dict.fromkeys(score.wish for score in scores))[:MAX_PLACES])
    good: list[ClientScore] = []
    errors: list[RowError] = []
    for score in scores:
        place = known.get(score.wish, TOO_MANY)
        if isinstance(place, Place):
            columns = {"project_id": place.project_id, "app": place.app, "experiment_id": place.experiment_id}
            score.request.update(columns)
            good.append(score)
        else:
            at = f"/{name}/{score.index}"
            errors += [RowError(index=score.index, pointer=at + pointer, detail=detail) for pointer, detail in place]
    return good, errors


TOO_MANY = [("", f"A batch has at most {MAX_PLACES} different apps, projects and experiments.")]


def _places(account: Account, wishes: Sequence[Wish]) -> dict[Wish, Place | list[tuple[str, str]]]:
    """Find each place, or what is wrong with it; new names are made in the order in which calls make theirs."""
    found = {wish: _place(account, wish) for wish in sorted(wishes, key=lambda wish: wish.project_name or "")}
    for app in sorted({place.app for place in found.values() if isinstance(place, Place) and place.app}):
        remember_app(account.pk, app)
    return found


def _place(account: Account, wish: Wish) -> Place | list[tuple[str, str]]:
    try:
        return place_held(
            account_id=account.pk,
            app=wish.app,
            experiment_id=wish.experiment_id,
            project_id=wish.project_id,
            project_name=wish.project_name,
        )
    except Problem as problem:
        return [(error.pointer, error.detail) for error in problem.errors]


def take_turns(account_id: int) -> None:
    """Let one batch of the account after the other be kept, until the transaction ends, as `keep_client_scores` does.

    To be called before a batch's apps and projects are made: two with the same new ones in another order deadlock.
    """
    with connection.cursor() as cursor:
        CLIENT_SCORES.take(cursor, account_id)


def keep_client_scores(account_id: int, scores: Sequence[ClientScore]) -> list[int]:
    """Write scores that were made elsewhere, each once; return the ids of their evaluations, in the same order.

    Rows of one batch that are the same are one.
    """
    first = {score.fingerprint: place for place, score in reversed(list(enumerate(scores)))}
    rows = [
        {
            "position": place,
            "fingerprint": fingerprint,
            "since": scores[place].since,
            "request": scores[place].request,
            "evaluation": scores[place].evaluation,
        }
        for fingerprint, place in first.items()
    ]
    sql = "SELECT row_position, evaluation_id FROM keep_client_evaluations(%s, %s::jsonb)"
    with connection.wrap_database_errors:
        found = dict(raw_connection().execute(sql, [account_id, dumps(rows)], prepare=True, binary=True).fetchall())
    return [found[first[score.fingerprint]] for score in scores]
