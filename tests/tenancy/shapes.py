"""An account that has something everywhere, and the list of where that is."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone

from evalsvc.tenancy.scope import account_scope
from tests.annotations.shapes import new_criteria
from tests.comparisons.shapes import answered, compare, work_off
from tests.conftest import Caller, new_caller
from tests.datasets.shapes import new_version
from tests.events.shapes import new_endpoint, send_test_event
from tests.experiments.shapes import filled_experiment
from tests.factories import make_connection, make_profile, new_experiment
from tests.gates.shapes import history_gate
from tests.monitors.shapes import new_alarm
from tests.nightly.shapes import new_benchmark, note_execution
from tests.openai_evals.rows import new_graded_rows
from tests.prompts.shapes import revise, set_labels
from tests.reviews.shapes import review_of_outputs, say_pass
from tests.rules.shapes import new_rule_with_spans
from tests.telemetry.otlp import log, logs, new_id, span, traces

TABLES = """
SELECT c.relname, a.attname, a.attnotnull
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'socialaccount_socialtoken'  -- of accounts at a provider of single sign-on
  AND (a.attname = 'account_id' OR (c.relname = 'accounts_account' AND a.attname = 'id'))
ORDER BY 1
"""


def new_filled_account(name: str) -> Caller:
    """Make an account with at least one row in every tenant table."""
    from evalsvc.accounts.invitations import invite
    from evalsvc.accounts.models import Member, User
    from evalsvc.accounts.services import add_member
    from evalsvc.catalog.models import Evaluator
    from evalsvc.evaluations.models import Pruned
    from evalsvc.evaluations.rollups.keep import apply_deltas
    from evalsvc.reviews.models import ReviewLink

    caller = new_caller(name=name)
    sample: dict[str, Any] = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "app": "shop"}
    sample["tags"] = {"env": "prod"}
    assert caller.post("/v1/evaluate", sample | {"project_name": "p"}, Idempotency_Key="k").status_code == 200
    apply_deltas(seconds=None)
    assert caller.post("/v1/saved-searches", {"name": "mine", "query": {"app": "shop"}}).status_code == 201
    make_profile(caller, "metrics", "mine", metric="bleu")
    new_graded_rows(caller)
    new_experiment(caller)
    new_version(caller)
    new_criteria(caller)
    set_labels(caller, revise(caller), "production")
    review, criteria = review_of_outputs(caller)
    say_pass(caller, review, criteria, True)
    work_off(caller, compare(caller, answered(caller, n=3)))
    filled_experiment(caller)
    new_rule_with_spans(caller)
    history_gate(caller)
    new_alarm(caller)
    note_execution(caller, new_benchmark(caller, n=3), new_experiment(caller))
    assert caller.post("/v1/traces", traces(span(new_id()))).status_code == 200
    assert caller.post("/v1/logs", logs(log())).status_code == 200
    make_connection(caller, "https://llm.example.com/v1")
    assert caller.post("/v1/webhook-secret/rotate").status_code == 201
    send_test_event(caller, new_endpoint(caller)["id"])
    with account_scope(caller.account.pk):
        own = {"base": "pii-2026-11-01", "family": "pii", "name": "own"}
        Evaluator.objects.create(account=caller.account, evaluator_id="own-pii", **own)
        ReviewLink.objects.create(
            account=caller.account,
            review_id=review["id"],
            name="ann",
            public=uuid.uuid4().hex[:16],
            secret_hash=b"x" * 32,
            expires_at=timezone.now(),
        )
        Pruned.objects.using("system").create(account_id=caller.account.pk)
    assert caller.post("/v1/evaluate", sample | {"tags": {}}).status_code == 200  # after the fold
    user = User.objects.db_manager("system").create_user(f"{uuid.uuid4().hex}@example.com")
    add_member(account=caller.account, user=user, role=Member.Role.READER)
    invite(
        account=caller.account, email="a@example.com", role=Member.Role.READER, expires_at=timezone.now(), actor="test"
    )
    return caller
