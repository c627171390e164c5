"""What a test leaves ends with it, is taken away where it was spoiled, and is named where `verify` finds it wrong."""

from __future__ import annotations

from evalsvc.evaluations.models import Evaluation
from evalsvc.experiments.models import Config, ExperimentPlan
from tests import leftovers
from tests.conftest import Caller, findings, new_caller, scores_of
from tests.factories import chat, make_connection, make_dataset, make_experiment
from tests.work.group_tools import KEPT
from tests.work.keeping import SUCCESS, keep, pending


def test_what_is_pending_gets_a_verdict(alice: Caller) -> None:
    mine = pending(alice)
    with leftovers.cleaned():
        caller = new_caller()
        theirs = pending(caller)

    rows = Evaluation.objects.using("system").filter(request_id__in=[mine, theirs])
    assert dict(rows.values_list("request_id", "status")) == {mine: "pending", theirs: "error"}
    assert findings(caller) == {}


def test_what_runs_is_stopped() -> None:
    with leftovers.cleaned():
        caller = new_caller()
        connection = make_connection(caller, "http://127.0.0.1:9/v1")
        made = make_experiment(caller, make_dataset(caller, n=3), [chat(connection, "stub-echo")])
        configs = Config.objects.using("system").filter(experiment_id=made["id"])
        assert configs.get().state == "running"

    assert configs.get().state == "stopped"
    assert ExperimentPlan.objects.using("system").get(experiment_id=made["id"]).state == "idle"


def test_what_was_spoiled_goes_and_nothing_else() -> None:
    with leftovers.cleaned():
        spoiled, whole = new_caller(), new_caller()
        keep(spoiled, SUCCESS)
        keep(whole, KEPT)
        leftovers.spoil(spoiled.account.pk)
        assert findings(spoiled) != {}

    assert findings(spoiled, whole) == {}
    rows = Evaluation.objects.using("system").filter(account_id__in=[spoiled.account.pk, whole.account.pk])
    assert list(rows.values_list("account_id", flat=True)) == [whole.account.pk]
    assert len(scores_of(whole, "")) == 1


def test_what_is_wrong_is_told_with_the_test_that_made_it(alice: Caller) -> None:
    keep(alice, SUCCESS)
    leftovers.spoil(alice.account.pk)

    told = "a success of a request that captures all is not in the history: "
    [line] = [line for line in leftovers.wrong() if line.startswith(told)]
    assert "test_leftovers.py::test_what_is_wrong_is_told" in line
