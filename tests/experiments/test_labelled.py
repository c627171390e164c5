"""The winner of an experiment becomes a label of its prompt in one act, and the label keeps what it rests on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from benchmarks.stub_llm import RunningStub
from evalsvc.accounts.models import AuditEntry
from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    chat,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    run_units,
)
from tests.prompts.shapes import REVISIONS, revise, revisions, set_labels
from tests.rest.shapes import assert_problem

GOOD, BAD = "stub-accuracy-0.95-c", "stub-accuracy-0.30-a"
TEXTS = {BAD: "{{input}}", GOOD: "Answer: {{input}}"}


def planned(
    caller: Caller, stub: RunningStub, *, dataset: str | None = None, **plan: Any
) -> tuple[Any, dict[str, Any]]:
    """An experiment of two revisions of a prompt, asked of models of different accuracy."""
    connection = make_connection(caller, stub.base_url)
    made = {model: revise(caller, body=text) for model, text in TEXTS.items()}
    configs = []
    for model, row in made.items():
        one = chat(connection, model)
        del one["parameters"]["prompt"]
        one["parameters"]["prompt_from"] = {"name": "greeting", "revision": row["revision"]}
        configs.append(one)
    return make_experiment(caller, dataset or make_dataset(caller), configs, **plan), made


def run(caller: Caller, stub: RunningStub, **plan: Any) -> tuple[Any, dict[str, Any]]:
    experiment, made = planned(caller, stub, **plan)
    run_units()
    finish(caller, experiment["id"])
    return experiment, made


def address(experiment: Any, name: str) -> str:
    id = next(row["id"] for row in experiment["configs"] if row["name"] == name)
    return f"/v1/experiments/{experiment['id']}/configs/{id}/label"


def labels(caller: Caller) -> dict[str, list[str]]:
    return {row["id"]: row["labels"] for row in revisions(caller)}


def test_the_winner_is_labelled_with_its_evidence(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    set_labels(alice, made[BAD], "production")

    answer = ok(alice.post(address(experiment, GOOD), {"label": "production"}))

    shown = by_name(live(alice, experiment["id"]))[GOOD]["metrics"]["accuracy"]
    evidence = answer["evidence"]
    assert (answer["label"], answer["prompt_name"], answer["project_name"]) == ("production", "greeting", "bot")
    assert (answer["prompt_revision_id"], answer["revision"]) == (made[GOOD]["id"], 2)
    assert (evidence["experiment_id"], evidence["experiment"]) == (experiment["id"], experiment["name"])
    assert (evidence["config"], evidence["is_winner"], evidence["winner"], evidence["state"]) == (
        GOOD,
        True,
        GOOD,
        "done",
    )
    same = ("n", "N", "value", "lower", "upper", "level", "covers", "method")
    assert {name: evidence[name] for name in same} == {name: shown[name] for name in same}
    assert (evidence["metric"], evidence["n"], evidence["n_configs"]) == ("accuracy", 40, 2)
    (rival,) = evidence["rivals"]
    assert (rival["config"], rival["n"]) == (BAD, 40)
    assert rival["delta"] > 0
    assert rival["lower"] < rival["delta"] < rival["upper"]
    assert evidence["by"].startswith("key")
    (labelled,) = revisions(alice, "label=production")
    assert labelled["id"] == made[GOOD]["id"]
    assert labelled["label_evidence"] == {"production": evidence}
    assert labels(alice) == {made[GOOD]["id"]: ["production"], made[BAD]["id"]: []}


def test_what_stopped_the_others_is_kept_after_the_experiment_has_gone(alice: Caller, stub: RunningStub) -> None:
    experiment, _ = planned(alice, stub, policy="race_fast", num_shards=8)
    run_units()
    finish(alice, experiment["id"])
    stops = ok(alice.get(f"/v1/experiments/{experiment['id']}/decisions"))["decisions"]
    winner = live(alice, experiment["id"])["leader"]
    name = next(row["name"] for row in experiment["configs"] if row["id"] == winner)

    ok(alice.post(address(experiment, name), {"label": "production"}))
    ok(alice.call("DELETE", f"/v1/experiments/{experiment['id']}"), 204)

    (row,) = revisions(alice, "label=production")
    kept = row["label_evidence"]["production"]["decisions"]
    assert [(one["config"], one["reason"], one["evidence"]) for one in kept] == [
        (one["config"], one["reason"], one["evidence"]) for one in stops
    ]


def test_said_again_it_changes_nothing(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    first = ok(alice.post(address(experiment, GOOD), {"label": "production"}))

    assert ok(alice.post(address(experiment, GOOD), {"label": "production"})) == first
    set_labels(alice, made[GOOD], "production")
    (row,) = revisions(alice, "label=production")
    assert row["label_evidence"] == {"production": first["evidence"]}
    audit = AuditEntry.objects.using("system").filter(account=alice.account, action="prompt.labelled")
    assert [entry.detail.get("experiment") for entry in audit.order_by("id")] == [experiment["id"], None]


def test_a_label_that_moves_on_leaves_its_evidence(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    ok(alice.post(address(experiment, GOOD), {"label": "production"}))
    for row in (made[BAD], made[GOOD]):
        set_labels(alice, row, "production")
        assert not any("label_evidence" in found for found in revisions(alice))


def test_one_that_has_not_won_needs_force_and_is_told_apart(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    refused = alice.post(address(experiment, BAD), {"label": "production"})
    assert_problem(refused, "validation_failed", "/force")
    assert f"{GOOD!r} leads" in refused.json()["errors"][0]["detail"]
    assert labels(alice)[made[BAD]["id"]] == []

    evidence = ok(alice.post(address(experiment, BAD), {"label": "production", "force": True}))["evidence"]
    assert (evidence["is_winner"], evidence["winner"], evidence["config"]) == (False, GOOD, BAD)
    assert evidence["rivals"][0]["delta"] < 0


def test_one_of_a_run_that_goes_on_needs_force(alice: Caller, stub: RunningStub) -> None:
    experiment, _ = planned(alice, stub, start=False)
    refused = alice.post(address(experiment, GOOD), {"label": "production"})
    assert_problem(refused, "validation_failed", "/force")
    assert "draft" in refused.json()["errors"][0]["detail"]

    evidence = ok(alice.post(address(experiment, GOOD), {"label": "production", "force": True}))["evidence"]
    assert (evidence["state"], evidence["is_winner"], evidence["n"], evidence["value"]) == ("draft", False, 0, None)


def test_a_lead_that_is_not_significant_is_no_win(alice: Caller, stub: RunningStub) -> None:
    """Three examples never tell two configs apart."""
    experiment, _ = planned(alice, stub, dataset=make_dataset(alice, n=3))
    run_units()
    finish(alice, experiment["id"])
    leader = live(alice, experiment["id"])["leader"]
    name = next(row["name"] for row in experiment["configs"] if row["id"] == leader)

    refused = alice.post(address(experiment, name), {"label": "production"})
    assert_problem(refused, "validation_failed", "/force")
    assert "not significantly" in refused.json()["errors"][0]["detail"]
    assert not any(labels(alice).values())

    evidence = ok(alice.post(address(experiment, name), {"label": "production", "force": True}))["evidence"]
    assert (evidence["is_winner"], evidence["winner"], evidence["settled"]) == (False, name, False)


def test_a_tie_has_no_winner_to_label(alice: Caller, stub: RunningStub) -> None:
    experiment, _ = planned(alice, stub, dataset=make_dataset(alice, [{"input": "7", "expected": "no such answer"}]))
    run_units()
    finish(alice, experiment["id"])
    view = live(alice, experiment["id"])
    assert (view["leader"], len(view["tied"])) == (None, 2)

    refused = alice.post(address(experiment, GOOD), {"label": "production"})
    assert_problem(refused, "validation_failed", "/force")
    assert refused.json()["errors"][0]["detail"].startswith(f"{BAD} and {GOOD} are tied: none leads.")
    assert not any(labels(alice).values())


def test_a_config_without_a_prompt_of_ours_is_refused(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    push = {"name": "mine", "kind": "push", "parameters": {"prompt_from": {"name": "greeting"}}}
    experiment = make_experiment(alice, make_dataset(alice, n=4), [chat(connection, GOOD), push], start=False)
    for name in (GOOD, "mine"):
        refused = alice.post(address(experiment, name), {"label": "production", "force": True})
        assert_problem(refused, "validation_failed", "/config_id")
        assert "prompt_from" in refused.json()["errors"][0]["detail"]


def test_a_revision_that_has_gone_is_refused(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    alice.call("DELETE", f"/v1/prompt-definitions?prompt_id={made[GOOD]['prompt_definition_id']}")
    assert_problem(alice.post(address(experiment, GOOD), {"label": "production"}), "validation_failed", "/config_id")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/label"),
        ({"label": ""}, "/label"),
        ({"label": "x" * 101}, "/label"),
        ({"label": "x", "force": "perhaps"}, "/force"),
        ({"label": "x", "forced": True}, "/forced"),
    ],
)
def test_it_points_to_what_it_refuses(alice: Caller, stub: RunningStub, body: dict[str, Any], pointer: str) -> None:
    experiment, _ = planned(alice, stub, start=False)
    assert_problem(alice.post(address(experiment, GOOD), body), "validation_failed", pointer)


def test_readers_and_strangers_label_nothing(alice: Caller, bob: Caller, charlie: Caller, stub: RunningStub) -> None:
    experiment, _ = planned(alice, stub, start=False)
    where = address(experiment, GOOD)
    assert_problem(bob.post(where, {"label": "x", "force": True}), "read_only_key")
    for body in ({"label": "x", "force": True}, {}):
        assert_problem(charlie.post(where, body), "not_found")
    own, _ = planned(charlie, stub, start=False)
    mixed = address(own, GOOD).replace(own["id"], experiment["id"])
    assert_problem(charlie.post(mixed, {"label": "x", "force": True}), "not_found")
    assert {label for found in labels(alice).values() for label in found} == set()


def test_twenty_at_once_leave_each_label_at_one_revision(alice: Caller, stub: RunningStub) -> None:
    experiment, made = run(alice, stub)
    names = [GOOD, BAD]

    def put(n: int) -> int:
        name = names[n % 2]
        try:
            if n % 4 < 2:
                body = {"label": "ab"[n % 3 % 2], "force": True}
                return int(alice.post(address(experiment, name), body).status_code)
            wanted = ["a", "b"] if n % 3 else ["b", "a"]
            return int(alice.post(f"{REVISIONS}/{made[name]['id']}/set-labels", {"labels": wanted}).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(put, range(80)))

    assert {*answers} == {200, 204}
    assert sorted(label for found in labels(alice).values() for label in found) == ["a", "b"]
    for row in revisions(alice):
        for evidence in row.get("label_evidence", {}).values():
            config = next(one for one in experiment["configs"] if one["id"] == evidence["config_id"])
            assert config["parameters"]["prompt_from"]["revision_id"] == row["id"]
