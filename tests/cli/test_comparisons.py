"""`evalsvc comparisons`: from stored outputs to a ranking with intervals."""

from __future__ import annotations

import pytest

from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.comparisons.shapes import answered, compare, work_off


def test_it_ranks_and_says_how_sure_that_is(shell: dict[str, str], judging: None, alice: Caller) -> None:
    made = answered(alice, n=40, right={"bad": 10, "good": 38})

    done = invoke("comparisons", "create", made["id"], "--metric", "accuracy", "--name", "monday", env=shell)

    assert done.exit_code == 0, done.output
    head, first, second, rests = done.stdout.splitlines()[:4]
    assert head.startswith("monday: finished (all), 40 judged; comparison ")
    assert first.startswith("  good: place 1, strength +") and "28 won, 12 tied, 0 lost, win rate 85.0 % [" in first
    assert second.startswith("  bad: place 2, strength -")
    assert rests.startswith("40 judgements of 40 examples; level 0.95, new data, ")


def test_one_that_is_there_is_shown_by_name(shell: dict[str, str], alice: Caller) -> None:
    made = answered(alice, right={"a": 9, "b": 6, "c": 3})
    work_off(alice, compare(alice, made, name="three"))

    shown = invoke("comparisons", "show", "three", "--pairs", "--elo", env=shell).stdout
    listed = told(invoke("comparisons", "list", "--experiment", made["id"], "--json", env=shell))

    assert "a against b: undecided, difference [" in shown and "Elo of a: " in shown
    assert "Note: few examples: fewer than 30." in shown
    assert [one["name"] for one in listed["comparisons"]] == ["three"]


def test_only_new_pairs_are_judged(shell: dict[str, str], judging: None, alice: Caller) -> None:
    made = answered(alice, right={"a": 9, "b": 6, "c": 3})
    work_off(alice, compare(alice, made, configs=["a", "b"], name="two"))

    found = told(
        invoke("comparisons", "create", made["id"], "--metric", "accuracy", "--previous", "two", "--json", env=shell)
    )

    head = found["comparison"]
    assert head["n_reused"] >= 12
    assert head["n_reused"] + head["n_judged"] == 36


def test_one_that_waits_can_be_stopped(shell: dict[str, str], alice: Caller) -> None:
    made = answered(alice)

    begun = told(invoke("comparisons", "create", made["id"], "--metric", "accuracy", "--no-wait", "--json", env=shell))[
        "comparison"
    ]
    stopped = invoke("comparisons", "stop", begun["id"], env=shell)

    assert (begun["state"], begun["n_open"]) == ("running", 12)
    assert stopped.stdout.startswith(
        "capitals: stopped" if begun["name"] == "capitals" else f"{begun['name']}: stopped"
    )
    assert invoke("comparisons", "show", begun["id"], "--wait", env=shell).exit_code == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Who judges? Pass one of --metric NAME"),
        (["--metric", "accuracy", "--evaluator", "exact-match"], "Who judges? Pass one of --metric NAME"),
        (["--metric", "nothing"], "No metric is named 'nothing'"),
        (["--metric", "accuracy", "--previous", "last week"], "There is no comparison named 'last week'"),
        (["--review", "last week"], "`evalsvc reviews list` shows those that there are."),
    ],
)
def test_what_cannot_be_compared_says_what_to_do(
    shell: dict[str, str], alice: Caller, options: list[str], words: str
) -> None:
    made = answered(alice)

    done = invoke("comparisons", "create", made["id"], *options, env=shell)

    assert (done.exit_code, words in done.output) == (2, True), done.output


def test_a_stranger_finds_nothing(shell: dict[str, str], alice: Caller, charlie: Caller) -> None:
    comparison = compare(alice, answered(alice), name="mine")
    env = shell | {"EVALSVC_API_KEY": charlie.key}

    by_id = invoke("comparisons", "show", comparison["id"], env=env)

    assert (by_id.exit_code, "not_found" in by_id.output) == (2, True)
    assert invoke("comparisons", "show", "mine", env=env).exit_code == 2
    assert told(invoke("comparisons", "list", "--json", env=env)) == {"comparisons": []}
