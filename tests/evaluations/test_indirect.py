"""Searches by family and by a profile's id go by evaluators and names, and find exactly the rows that have them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Q

from evalsvc.catalog.models import Evaluator
from evalsvc.catalog.services import save_evaluator, switch_evaluator
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.results import result_condition
from evalsvc.rest.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.factories import make_profile

BLEU = {"metric": "bleu"}
METRICS = "metrics-2026-11-28"


def own_profile(caller: Caller, name: str) -> str:
    return str(make_profile(caller, "metrics", name, **BLEU)["public_id"])


def own_evaluator(caller: Caller, name: str, base: str = "exact-match-2026-11-28") -> Evaluator:
    row = Evaluator(evaluator_id=name, base=base, name=name)
    return save_evaluator(account=caller.account, evaluator=row, actor="test")


def run(caller: Caller, *names: str) -> None:
    for name in names:
        assert caller.evaluate(name, output="one two", label="one", capture="all").status_code == 200


@pytest.fixture
def filled(alice: Caller, charlie: Caller) -> dict[str, str]:
    """Evaluations of the same names in all ways in which they come about, beside a stranger's."""
    profiles: dict[str, Any] = {}
    for caller in (alice, charlie):
        profiles = {name: own_profile(caller, name) for name in ("close", "far")} if caller is alice else profiles
        if caller is charlie:
            own_profile(caller, "close")
        own_evaluator(caller, "ours")
        other = own_evaluator(caller, "theirs", METRICS)
        run(
            caller,
            "metrics/close",
            "metrics/far",
            "exact-match",
            "exact-match-normalised-2026-11-01",
            "ours",
            "theirs/close",
        )
        # What cannot run keeps the names that were asked for, and has neither family nor profile.
        run(caller, "nobody/close", "exact-match/close", "metrics/none")
        switch_evaluator(account=caller.account, evaluator=other, is_enabled=False, actor="test")
        run(caller, "theirs/close")
        scored = {"evaluator_id": "mine", "criteria": "close", "score": 1, "log_id": "l"}
        assert caller.post("/v1/evaluations/batch", {"evaluations": [scored]}).json()["errors"] == []
    assert alice.patch(f"/v1/evaluator-criteria/{profiles['far']}/archive", {}).status_code == 200
    return profiles


def ids(caller: Caller, *conditions: Any) -> list[int]:
    with account_scope(caller.account.pk):
        wanted = [one() if callable(one) else one for one in conditions]
        rows = Evaluation.objects.filter(*wanted, account=caller.account, captured=True)
        return sorted(rows.values_list("id", flat=True))


def part(field: str, operation: str, value: Any) -> Any:
    return lambda: evaluation_condition([{"field": field, "operation": operation, "value": value}])


@pytest.mark.parametrize("families", [["exact-match"], ["metrics"], ["exact-match", "metrics", "none"], ["none"], []])
def test_a_family_is_found_by_its_evaluators(alice: Caller, filled: Any, families: list[str]) -> None:
    expected = ids(alice, Q(family__in=families))

    assert ids(alice, part("evaluator_family", "in", families)) == expected
    assert len(expected) == 3 * len({"exact-match", "metrics"}.intersection(families))
    for family in families:
        assert ids(alice, part("evaluator_family", "eq", family)) == ids(alice, Q(family=family))
        wanted = {"evaluator_family": family}
        found = ids(alice, lambda wanted=wanted: result_condition(alice.account, wanted))
        assert found == ids(alice, Q(family=family))
        others = ids(alice, ~Q(family=family) | Q(family=None))
        assert ids(alice, part("evaluator_family", "ne", family)) == others


@pytest.mark.parametrize("names", [["close"], ["far"], ["close", "far"]], ids=",".join)
def test_a_profile_is_found_by_its_name(alice: Caller, filled: dict[str, str], names: list[str]) -> None:
    profiles = [filled[name] for name in names]
    expected = ids(alice, Q(profile_id__in=profiles))

    assert len(expected) == {"close": 2, "far": 1, "close,far": 3}[",".join(names)]
    assert ids(alice, part("criteria_id", "in", profiles)) == expected
    for id in profiles:
        assert ids(alice, part("criteria_id", "eq", id)) == ids(alice, Q(profile_id=id))
        wanted = {"evaluator_profile_public_id": id}
        found = ids(alice, lambda wanted=wanted: result_condition(alice.account, wanted))
        assert found == ids(alice, Q(profile_id=id))
        others = ids(alice, ~Q(profile_id=id) | Q(profile_id=None))
        assert ids(alice, part("criteria_id", "ne", id)) == others


def test_a_strangers_profile_is_nobodys(alice: Caller, charlie: Caller, filled: dict[str, str]) -> None:
    """They have one of the same name, and nothing of theirs is found by the id of alice's."""
    assert ids(charlie, part("criteria_id", "eq", filled["close"])) == []
    assert ids(charlie, part("evaluator_family", "eq", "metrics")) == ids(charlie, Q(family="metrics"))
    assert not set(ids(charlie)) & set(ids(alice))


def test_a_bulk_delete_takes_the_same_rows(alice: Caller, charlie: Caller, filled: dict[str, str]) -> None:
    theirs, all_of_mine = ids(charlie), ids(alice)
    by_profile, by_family = ids(alice, Q(profile_id=filled["close"])), ids(alice, Q(family="exact-match"))

    for query in (f"evaluator_criteria_id={filled['close']}", "evaluator_family=exact-match", "evaluator_family=none"):
        assert alice.call("DELETE", f"/v1/evaluations?{query}").json()["done"] is True

    assert ids(alice) == sorted(set(all_of_mine) - {*by_profile, *by_family})
    assert (len(by_profile), len(by_family)) == (2, 3)
    assert ids(charlie) == theirs


@pytest.mark.parametrize("field", ["base", "evaluator_id"])
def test_what_scores_know_an_evaluator_by_is_fixed(alice: Caller, field: str) -> None:
    row = own_evaluator(alice, "ours")
    setattr(row, field, "pii-2026-11-01")
    with pytest.raises(Invalid) as caught:
        save_evaluator(account=alice.account, evaluator=row, actor="test")

    assert "/base" in {error.pointer for error in caught.value.errors}
    assert Evaluator.objects.using("system").get(pk=row.pk).base == "exact-match-2026-11-28"
