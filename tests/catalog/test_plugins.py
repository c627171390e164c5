"""A family that an installed package brings, from its rows to what stays of it when the package goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import run_checks

from evalsvc.catalog import managed, resolve
from evalsvc.catalog.models import Evaluator, Profile
from evaluators import registry
from evaluators.base import EvaluatorSpec, ManagedProfile
from evaluators.families.exact_match import ExactMatch
from evaluators.plugins import BrokenPlugin
from tests.conftest import Caller, findings, scores_of

EVALUATE = {"evaluators": [{"evaluator": "acme"}], "output": "a", "label": "a", "app": "shop"}


class Acme(ExactMatch):
    """What a package might bring."""

    name = "acme"
    managed_profiles = (ManagedProfile("acme", "Compares as the evaluator's id says."),)
    evaluators: Any = (
        EvaluatorSpec("acme-2026-11-20", "Acme", "Compares.", ("acme-alias",), "acme", {"mode": "strict"}),
    )


def put_in_place(*families: Any, broken: tuple[BrokenPlugin, ...] = ()) -> None:
    """Build the registry as it would be with these families."""
    ours = registry._FAMILIES
    every = (*ours, *families)
    by_name = {family.name: family for family in every}
    registry._built = registry._Registry(every, by_name, registry._index_names(every), broken)
    managed.managed_profiles.cache_clear()
    resolve._own.clear()


@pytest.fixture
def acme() -> Iterator[None]:
    put_in_place(Acme())
    managed.sync_managed()
    yield
    put_in_place()
    for model, column in ((Evaluator, "family"), (Profile, "family")):
        model.objects.using("owner").filter(account=None, **{column: "acme"}).delete()
    registry._built = None


def error_code(caller: Caller) -> str | None:
    (result,) = caller.post("/v1/evaluate", EVALUATE).json()["results"]
    code: str | None = result["error_code"]
    return code


def test_its_managed_rows_are_written_at_migrate(acme: None, alice: Caller) -> None:
    (evaluator,) = alice.get("/v1/evaluators?by_alias_or_id=acme").json()["evaluators"]
    (profile,) = alice.get("/v1/evaluator-criteria?evaluator_family=acme").json()["evaluator_criteria"]

    assert (evaluator["id"], evaluator["default_criteria"]) == ("acme-2026-11-20", "patronus:acme")
    assert evaluator["evaluation_enabled"] is True
    assert (profile["name"], profile["is_patronus_managed"]) == ("patronus:acme", True)


def test_its_family_is_listed(acme: None, alice: Caller) -> None:
    families = alice.get("/v1/evaluator-families").json()["evaluator_families"]

    assert families[-1]["family_name"] == "acme"


def test_it_scores_and_has_a_history(acme: None, alice: Caller) -> None:
    assert error_code(alice) is None
    assert [score for _, score, _ in scores_of(alice, "acme-2026-11-20")] == [1.0]


def test_uninstalled_it_is_unknown_and_what_it_scored_stays(acme: None, alice: Caller) -> None:
    body = EVALUATE | {"confidence_interval_strategy": "full-history"}
    made = alice.post("/v1/evaluate", body).json()
    put_in_place()

    assert error_code(alice) == "unknown_evaluator"
    (evaluator,) = alice.get("/v1/evaluators?by_alias_or_id=acme").json()["evaluators"]
    assert evaluator["evaluation_enabled"] is False
    (stored,) = alice.get(f"/v1/evaluate/{made['id']}").json()["results"]
    assert stored["evaluation_result"]["score_raw"] == 1.0
    found = alice.post("/v1/evaluations/search", {"filters": [{"field": "evaluator_family", "value": "acme"}]})
    assert [row["score"] for row in found.json()["evaluations"]] == [1.0]
    assert [score for _, score, _ in scores_of(alice, "acme-2026-11-20")] == [1.0]
    assert findings(alice) == {}


def test_installed_again_its_history_goes_on(acme: None, alice: Caller) -> None:
    alice.post("/v1/evaluate", EVALUATE)
    put_in_place()
    put_in_place(Acme())
    alice.post("/v1/evaluate", EVALUATE)

    assert alice.get("/v1/history?evaluator=acme").json()["n"] == 2


def test_the_deployment_check_names_a_package_that_cannot_be_used(acme: None) -> None:
    put_in_place(broken=(BrokenPlugin("acme-evaluators", "acme = acme:Acme", "It cannot be loaded: ImportError: x"),))
    found = [error for error in run_checks(include_deployment_checks=True) if error.id == "evalsvc.E003"]

    (error,) = found
    assert "acme-evaluators" in error.msg
    assert "ImportError: x" in error.msg
    assert error.hint is not None
    assert "uninstall 'acme-evaluators'" in error.hint


def test_other_commands_run_all_the_same(acme: None) -> None:
    put_in_place(broken=(BrokenPlugin("acme-evaluators", "acme = acme:Acme", "Broken."),))

    assert [error for error in run_checks() if error.id == "evalsvc.E003"] == []


def test_the_check_is_silent_when_nothing_is_broken() -> None:
    assert [error for error in run_checks(include_deployment_checks=True) if error.id == "evalsvc.E003"] == []
