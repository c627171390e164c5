"""Services for people who review results: mark a result as a favourite, or rate its verdict as right or wrong."""

from __future__ import annotations

from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.results import all_results
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import account_scope


def set_favorite(*, account: Account, id: int, is_favorite: bool) -> None:
    """Mark a result, or take the mark away; twice is as once. NotFound as for reading it."""
    _mark(account, id, favorite=is_favorite)


def set_feedback(*, account: Account, id: int, feedback: Evaluation.Feedback | None) -> None:
    """Set a person's feedback on a verdict, replacing earlier feedback; None removes it."""
    _mark(account, id, feedback=feedback)


def _mark(account: Account, id: int, **columns: Any) -> None:
    with account_scope(account.pk):
        if all_results(account).filter(id=id).update(**columns) != 1:
            raise NotFound
