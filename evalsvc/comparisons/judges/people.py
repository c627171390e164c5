"""People as judges: what they answer in a review of pairs becomes judgements."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import connections

from evalsvc.accounts.models import Account
from evalsvc.comparisons.judgements.schedule import Pick
from evalsvc.comparisons.models import OutputComparison
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.reviews.models import Review, ReviewItem
from evalsvc.reviews.selectors import get_review
from evalsvc.tenancy.scope import current_role

PEOPLE = "people"
NOT_ANSWERED = "not_answered"
# An item is settled once it has all its answers or can receive no more. If an answer is withdrawn before the comparison
# ends, the item is judged again.
JUDGE = """
WITH said AS (
  SELECT i.config_id, i.other_config_id, i.example_pos AS pos, count(*) AS n,
    count(*) FILTER (WHERE a.outcome = 'first') AS n_first, count(*) FILTER (WHERE a.outcome = 'second') AS n_second
  FROM reviews_review r JOIN reviews_reviewitem i ON i.review_id = r.id
  JOIN reviews_reviewanswer a ON a.item_id = i.id AND a.outcome IS NOT NULL
  WHERE r.id = %(review)s AND (r.closed_at IS NOT NULL OR i.n_answered >= r.n_answers)
  GROUP BY i.id
), turned AS (
  SELECT config_id AS first_id, other_config_id AS second_id, pos, n, n_first, n_second FROM said
  UNION ALL SELECT other_config_id, config_id, pos, n, n_second, n_first FROM said
), judged AS (
  SELECT first_id, second_id, pos,
    CASE WHEN 2 * n_first > n THEN 'first' WHEN 2 * n_second > n THEN 'second' ELSE 'tie' END AS winner,
    format('%%s of %%s for the first, %%s for the second, %%s for neither.',
      n_first, n, n_second, n - n_first - n_second) AS explanation
  FROM turned
)
UPDATE comparisons_judgement j SET state = 'done', winner = t.winner, explanation = t.explanation,
  judged_at = clock_timestamp()
FROM judged t
WHERE j.comparison_id = %(comparison)s AND j.first_id = t.first_id AND j.second_id = t.second_id AND j.pos = t.pos
  AND j.error_code IS NULL AND j.reused_from IS NULL AND j.explanation IS DISTINCT FROM t.explanation
"""
REOPEN = """
UPDATE comparisons_judgement j SET state = 'open', winner = NULL, explanation = NULL, judged_at = NULL
FROM reviews_review r JOIN reviews_reviewitem i ON i.review_id = r.id
WHERE r.id = %(review)s AND j.comparison_id = %(comparison)s AND j.winner IS NOT NULL AND j.reused_from IS NULL
  AND i.example_pos = j.pos
  AND (i.config_id, i.other_config_id) IN ((j.first_id, j.second_id), (j.second_id, j.first_id))
  AND i.n_answered < CASE WHEN r.closed_at IS NULL THEN r.n_answers ELSE 1 END
"""
GIVE_UP = """
UPDATE comparisons_judgement j SET state = 'done', error_code = %(code)s, judged_at = clock_timestamp(),
  error_message = 'The review has ended, and nobody has answered this pair.'
WHERE j.comparison_id = %(comparison)s AND j.state = 'open'
  AND NOT EXISTS (SELECT 1 FROM reviews_review r WHERE r.id = %(review)s AND r.closed_at IS NULL)
"""


def resolve_review(account: Account, plan: ExperimentPlan, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the judge that the people of a review are. Raises Invalid with pointers into `/judge`."""
    for name in ("criteria", "model", "allow_tie", "tie_width"):
        if wanted.get(name) is not None:
            raise Invalid(FieldError(f"/judge/{name}", "People decide here, by what the review tells them."))
    review = _review(account, wanted["review_id"])
    pairs = review.source.get("pairs") or {}
    if review.kind != Review.Kind.PAIR or str(pairs.get("experiment_id")) != str(plan.pk):
        raise Invalid(FieldError("/judge/review_id", "It is no review of pairs of this experiment."))
    return {
        "kind": PEOPLE,
        "review": str(review.pk),
        "instructions": review.instructions,
        "n_answers": review.n_answers,
    }


def _review(account: Account, id: uuid.UUID) -> Review:
    try:
        return get_review(account=account, id=id)
    except NotFound:
        raise Invalid(FieldError("/judge/review_id", "There is no such review.")) from None


def list_review_picks(comparison: OutputComparison) -> list[Pick]:
    """Return the pairs of a review in its order, each oriented as the comparison stores it."""
    place = {config: i for i, config in enumerate(comparison.configs)}
    rows = ReviewItem.objects.filter(review_id=comparison.judge["review"], example_pos__isnull=False)
    pairs = rows.order_by("position").values_list("config_id", "other_config_id", "example_pos")
    picks = []
    for first_config, other, pos in pairs:
        if first_config not in place or other not in place or pos is None:
            continue
        first, second = sorted((first_config, other), key=place.__getitem__)
        if comparison.design != OutputComparison.Design.BASELINE or first == comparison.configs[0]:
            picks.append((first, second, pos))
    return picks


def judge_by_people(comparison: OutputComparison) -> None:
    """Apply the answers given so far; once the review has ended, unanswered pairs become errors."""
    values = {"comparison": comparison.pk, "review": comparison.judge["review"], "code": NOT_ANSWERED}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(REOPEN, values)
        cursor.execute(JUDGE, values)
        cursor.execute(GIVE_UP, values)
