"""A name stands for one evaluator: ids and aliases of an account's own evaluators do not collide."""

from __future__ import annotations

import pytest

from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.services import save_evaluator
from evalsvc.rest.problems import Invalid
from tests.conftest import Caller


def own(name: str, base: str, *aliases: str) -> Evaluator:
    return Evaluator(evaluator_id=name, base=base, name=name, aliases=list(aliases))


@pytest.mark.parametrize(
    "second", [own("two", "pii-2026-11-01"), own("x", "pii-2026-11-01", "two"), own("x", "pii-2026-11-01", "one")]
)
def test_no_two_own_evaluators_answer_to_one_name(alice: Caller, charlie: Caller, second: Evaluator) -> None:
    save_evaluator(account=alice.account, evaluator=own("one", "exact-match-2026-11-28", "two"), actor="test")

    with pytest.raises(Invalid):
        save_evaluator(account=alice.account, evaluator=second, actor="test")
    saved = save_evaluator(account=charlie.account, evaluator=own("two", "pii-2026-11-01"), actor="test")
    assert saved.account_id == charlie.account.pk
