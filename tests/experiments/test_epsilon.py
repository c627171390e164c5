"""A race with an epsilon: who is not better by what matters is stopped, and comes back when nothing speaks for that."""

from __future__ import annotations

from typing import Any

from evalsvc.experiments.decisions import step
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner, answer, decisions, mostly, states


def race(caller: Caller, names: str, *, n: int = 100, **plan: Any) -> tuple[Any, list[Runner]]:
    configs = [{"name": name, "kind": "push"} for name in names]
    made = make_experiment(caller, make_dataset(caller, n=n), configs, policy="race_default", **plan)
    return made, [Runner(caller, made, i) for i in range(len(names))]


def in_turns(runners: list[Runner], rights: list[Any], rounds: int) -> None:
    for _ in range(rounds):
        for runner, right in zip(runners, rights, strict=True):
            answer(runner, right)


def test_of_two_level_configs_the_later_is_stopped_and_the_plan_ends(alice: Caller) -> None:
    made, runners = race(alice, "ab", epsilon=0.2)
    in_turns(runners, [mostly, mostly], 10)
    assert states(alice, made) == {"a": ("completed", None), "b": ("stopped", "policy")}
    assert decisions(alice, made) == [("epsilon", "b", "a")]
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def stopped_by(alice: Caller, names: str = "abc") -> tuple[Any, list[Runner]]:
    """Return a race of which the first config has stopped the second for epsilon, and the third has just begun."""
    made, runners = race(alice, names, epsilon=0.2)
    in_turns(runners[:2], [mostly, mostly], 6)
    assert states(alice, made)["b"] == ("stopped", "policy")
    return made, runners


def run_on(alice: Caller, made: Any, runner: Runner, right: Any) -> None:
    """Let a config answer everything: when the policy stops it, a person lets it go on."""
    while answer(runner, right):
        pass
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runner.config}/resume", {}))
    while answer(runner, right):
        pass


def test_it_goes_on_when_the_config_that_stopped_it_is_stopped(alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry

    made, (a, b, c) = stopped_by(alice)
    before = by_name(live(alice, made["id"]))["b"]
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/stop", {}))
    assert answer(c, mostly)
    after = by_name(live(alice, made["id"]))["b"]
    assert (after["state"], after["stop_reason"], after["epoch"]) == ("running", None, before["epoch"] + 1)
    assert decisions(alice, made)[-1] == ("resumed", "b", "a")
    audit = AuditEntry.objects.using("system").filter(account=alice.account, action="config.resume")
    assert list(audit.values_list("actor", "target")) == [("planner", "b")]
    assert answer(b, mostly)
    assert states(alice, made)["c"] == ("running", None)


def test_it_is_tested_again_even_where_everything_would_be_over(alice: Caller) -> None:
    """The leader has completed, and whoever is stopped by hand takes the ground from another's stop."""
    made, (a, b, c) = stopped_by(alice)
    run_on(alice, made, c, lambda pos: pos % 2)
    assert states(alice, made)["c"] == ("completed", None)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/stop", {}))
    assert live(alice, made["id"])["experiment"]["state"] == "running"
    assert step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    assert states(alice, made)["b"] == ("running", None)
    while answer(b, mostly):
        pass
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_it_stays_stopped_where_the_new_leader_has_the_evidence_too(alice: Caller) -> None:
    made, (a, _b, c) = stopped_by(alice)
    run_on(alice, made, c, mostly)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/stop", {}))
    step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    found = states(alice, made)
    assert found["b"] == ("stopped", "policy")
    assert decisions(alice, made)[-1] == ("epsilon", "b", "c")
    n = len(decisions(alice, made))
    for _ in range(3):
        step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    assert len(decisions(alice, made)) == n


def test_what_a_person_stopped_or_resumed_is_left_alone(alice: Caller) -> None:
    made, (a, b, c) = stopped_by(alice)
    path = f"/v1/experiments/{made['id']}/configs"
    ok(alice.post(f"{path}/{b.config}/resume", {}))
    ok(alice.post(f"{path}/{b.config}/stop", {}))
    ok(alice.post(f"{path}/{a.config}/stop", {}))
    assert answer(c, mostly)
    assert states(alice, made)["b"] == ("stopped", "user")
    assert "resumed" not in {reason for reason, _, _ in decisions(alice, made)}


def test_a_race_of_before_goes_on(alice: Caller) -> None:
    """Stored evidence is what it was; a stop of two equals is one that the new rule would take too."""
    from evalsvc.experiments.models import Decision

    made, (a, _b, c) = stopped_by(alice)
    Decision.objects.using("system").filter(experiment_id=made["id"]).update(reason="equivalence")
    step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    assert states(alice, made)["b"] == ("stopped", "policy")
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/stop", {}))
    answer(c, mostly)
    assert states(alice, made)["b"] == ("running", None)
