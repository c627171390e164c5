"""All that is recounted of an installation or of one account: by `verify`, after a restore, and after a move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from evalsvc.comparisons.maintenance import recount_comparisons
from evalsvc.evaluations.maintenance.sweep import Finding, verify
from evalsvc.experiments.maintenance.recount import recount_all
from evalsvc.reviews.checks import verify_reviews

RECOUNTS = (verify, recount_all, recount_comparisons, verify_reviews)


def recount_everything(account_id: int | None = None) -> Iterator[tuple[str, Finding | None]]:
    """Yield each check with what it finds wrong, or None; of all accounts, or of one."""
    return itertools.chain.from_iterable(recount(account_id) for recount in RECOUNTS)
