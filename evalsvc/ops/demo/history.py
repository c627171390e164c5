"""Two weeks of made-up evaluations in a separate account, so that a new installation has data on its pages.

The account's only member has read access, and its keys are never shown: nothing can be added to it, and a user's own
first score stays out of it. `manage.py delete_account "Demo history"` removes it.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction

from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.services import add_member, create_account
from evalsvc.catalog.managed import managed_profiles
from evalsvc.evaluations.rollups.keep import apply_deltas
from evalsvc.local.supervisor.demo.accounts import HISTORY, MEMBERS
from evalsvc.tenancy.scope import SYSTEM, role_scope

NAME = HISTORY
N_CALLS = 2100
# Three apps, each answer evaluated by two evaluators: some answers only contain the right word. The last four days of
# the app `support` are worse; one call in forty lacks a gold answer, which gives an error in place of a score. Values
# are derived from digests: each installation gets the same.
DRAW = """
CREATE TEMP TABLE drawn ON COMMIT DROP AS
SELECT i, ms << 22 | (4 * i) AS request_id, to_timestamp((ms + 1767225600000) / 1000.0) AS kept_at, s.app, q.question,
  q.gold, has_gold, u < 0.9 * rate AS is_exact, u < rate AS is_contained,
  CASE WHEN u < 0.9 * rate THEN q.gold WHEN u < rate THEN q.gold || ', I think' ELSE q.wrong END AS output
FROM (
  SELECT i, abs(hashint8(i)::bigint) %% 10000 / 10000.0 AS u, abs(hashint8(i + 1000003)::bigint) %% 40 > 0 AS has_gold,
    (extract(epoch FROM now() - interval '14 days' * (1 - i::float8 / %(n)s)) * 1000)::bigint - 1767225600000 AS ms,
    i > %(n)s * 10 / 14 AS is_late
  FROM generate_series(1, %(n)s::bigint) i
) r
JOIN (VALUES (0, 'support', 0.95, 0.74), (1, 'search', 0.88, 0.89), (2, 'summaries', 0.74, 0.75)) s(k, app, early, late)
  ON s.k = r.i %% 3
JOIN (VALUES (0, 'What is the capital of France?', 'Paris', 'Lyon'),
  (1, 'How long is a refund open?', '30 days', '2 weeks'), (2, 'Which plan has single sign-on?', 'Team', 'Free'),
  (3, 'Where do I change my address?', 'Settings', 'Billing')) q(k, question, gold, wrong) ON q.k = r.i / 3 %% 4
CROSS JOIN LATERAL (SELECT CASE WHEN r.is_late THEN s.late ELSE s.early END AS rate) p
"""
JUDGED = """
FROM drawn CROSS JOIN LATERAL (VALUES
  (0, 'exact-match-2026-11-28', is_exact), (1, 'exact-match-contains-2026-11-28', is_contained)
) e(place, evaluator_id, passed)"""
ROWS = (
    """
INSERT INTO evaluations_evaluationrequest (id, account_id, capture, strategy, fingerprint, app, input, output, gold,
  created_at, completed_at, purged)
SELECT request_id, %(account)s, 'all', 'none', i, app, question, output, CASE WHEN has_gold THEN gold END, kept_at,
  kept_at, false FROM drawn""",
    f"""
INSERT INTO evaluations_evaluation (id, account_id, request_id, position, evaluator_id, family, profile_id,
  profile_name, profile_revision, explain_strategy, lane, status, error_code, error_message, score, passed, duration_us,
  captured, in_history, n_attempts, n_sweeps, app, created_at, completed_at)
SELECT request_id + 1 + place, %(account)s, request_id, place, evaluator_id, 'exact-match', %(profile)s,
  'patronus:exact-match', 1, 'never', 'inline', CASE WHEN has_gold THEN 'success' ELSE 'validation_error' END,
  CASE WHEN NOT has_gold THEN 'missing_input' END,
  CASE WHEN NOT has_gold THEN format('Evaluator %%L needs `gold_answer`.', evaluator_id) END,
  CASE WHEN has_gold THEN passed::int END, CASE WHEN has_gold THEN passed END, 12, true, has_gold, 0, 0, app, kept_at,
  kept_at {JUDGED}""",
    f"""
SELECT remember_scores(%(account)s, array_agg(ROW(request_id + 1 + place, evaluator_id, 'patronus:exact-match', 1,
  passed::int, passed, 'evaluation', request_id + 1 + place, false, app, NULL, NULL, NULL, NULL, kept_at
  )::history_entry)) {JUDGED} WHERE has_gold""",
)


def demo_account() -> Account | None:
    """Return the account, unless it was never made or is being deleted."""
    return Account.objects.using(SYSTEM).filter(name=NAME, deleted_at=None).first()


def seed_demo_history() -> int:
    """Make the account with its evaluations, unless it is there; return how many scores that is."""
    with role_scope(SYSTEM), transaction.atomic(using=SYSTEM):
        user = User.objects.filter(email=MEMBERS[0][1]).select_for_update().first()
        if user is None or Account.objects.filter(name=NAME).exists():
            return 0
        account = create_account(name=NAME)
        add_member(account=account, user=user, role=Member.Role.READER)
        n = _fill(account.pk)
    apply_deltas(seconds=None)
    return n


def _fill(account_id: int) -> int:
    values: dict[str, Any] = {"account": account_id, "profile": managed_profiles()["exact-match"].id}
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(DRAW, {"n": N_CALLS})
        for statement in ROWS:
            cursor.execute(statement, values)
        return int(cursor.fetchone()[0])
