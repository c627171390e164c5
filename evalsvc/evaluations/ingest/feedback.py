"""Verbs of people who look at results: mark one as a favourite, say whether it is right."""

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
    """Keep what a person thinks of a verdict, in place of what they thought before; None takes it back."""
    _mark(account, id, feedback=feedback)


def _mark(account: Account, id: int, **columns: Any) -> None:
    with account_scope(account.pk):
        if all_results(account).filter(id=id).update(**columns) != 1:
            raise NotFound
