"""Consistency checks of reviews: stored counts against the rows that they count."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.evaluations.maintenance.sweep import Finding, run_checks

# Each query names what is wrong and returns ids and their accounts; none of them may return a row.
REVIEW_CHECKS = {
    "an item of a review counts other answers than it has": """
        SELECT i.id, i.account_id FROM reviews_reviewitem i WHERE i.n_answered <> (
          SELECT count(*) FROM reviews_reviewanswer a WHERE a.item_id = i.id AND a.said IS NOT NULL)""",
    "a review counts other items than it has": """
        SELECT 0::bigint, r.account_id FROM reviews_review r WHERE r.n_items <> (
          SELECT count(*) FROM reviews_reviewitem i WHERE i.review_id = r.id)""",
    "an item of a review has more answers than it asks for": """
        SELECT i.id, i.account_id FROM reviews_reviewitem i JOIN reviews_review r ON r.id = i.review_id
        WHERE i.n_answered > r.n_answers OR EXISTS (
          SELECT 1 FROM reviews_reviewanswer a WHERE a.item_id = i.id AND a.slot >= r.n_answers)""",
    "an item or an answer belongs to a review of another account": """
        SELECT i.id, i.account_id FROM reviews_reviewitem i LEFT JOIN reviews_review r ON r.id = i.review_id
        WHERE r.account_id IS DISTINCT FROM i.account_id
        UNION ALL SELECT a.id, a.account_id FROM reviews_reviewanswer a
        LEFT JOIN reviews_reviewitem i ON i.id = a.item_id AND i.review_id = a.review_id
        WHERE i.account_id IS DISTINCT FROM a.account_id""",
    "a pair was judged, and nothing says which config won": """
        SELECT a.id, a.account_id FROM reviews_reviewanswer a JOIN reviews_review r ON r.id = a.review_id
        WHERE a.said IS NOT NULL AND (r.kind = 'pair') <> (a.outcome IS NOT NULL)""",
}


def verify_reviews(account_id: int | None = None) -> Iterator[tuple[str, Finding | None]]:
    """Recount all reviews, or those of one account, in one snapshot; yield each check and what it found."""
    return run_checks(REVIEW_CHECKS, account_id)
