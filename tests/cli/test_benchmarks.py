"""`evalsvc benchmarks`: freeze a question, ask it again, and see what has changed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.cli.tools import DATA
from tests.factories import make_profile, ok


def freeze(shell: dict[str, str], *options: str) -> str:
    return str(told(invoke("benchmarks", "create", "capitals", *options, "--json", env=shell))["benchmark"]["id"])


def test_each_run_stands_against_the_last_and_the_best(shell: dict[str, str], folder: Path) -> None:
    freeze(shell, *DATA)

    first = told(
        invoke("benchmarks", "run", "capitals", "old=capitals_app:worse", "--model", "m1", "--json", env=shell)
    )["execution"]
    second = invoke(
        "benchmarks", "run", "capitals", "capitals_app:answer", "--model", "m2", "--environment", "region=eu", "--quiet",
        env=shell,
    )  # fmt: skip

    assert (first["number"], first["metrics"]["exact-match"]["value"], first["against_last"]) == (1, 0.75, None)
    head, estimate, changed, last, best = second.stdout.splitlines()
    assert head.startswith("#2 capitals_app:answer (done), ") and head.endswith(", model m2, region eu")
    assert estimate.startswith("  exact-match 1.00 [")
    assert changed == "  changed: model, environment.region"
    assert last.startswith("  against the last, #1: inconclusive (+0.25 [")
    assert best.startswith("  against the best, #1: ")


def test_the_history_is_shown_newest_first(shell: dict[str, str], folder: Path) -> None:
    id = freeze(shell, *DATA)
    for name in ("worse", "answer"):
        invoke("benchmarks", "run", id, f"{name}=capitals_app:{name}", env=shell)

    shown = told(invoke("benchmarks", "show", "capitals", "--json", env=shell))

    assert [one["config"] for one in shown["executions"]] == ["answer", "worse"]
    assert shown["benchmark"]["n_executions"] == 2
    assert invoke("benchmarks", "list", env=shell).stdout.startswith("capitals: 4 examples of dataset ")


def test_what_it_measures_by_may_not_change_unseen(shell: dict[str, str], folder: Path, alice: Caller) -> None:
    profile = make_profile(alice, "metrics", metric="bleu")
    id = freeze(shell, "--data", "capitals.jsonl", "-e", f"metrics/{profile['name']}")
    changed = {"config": {"metric": "bleu", "pass_threshold": 0.9}}
    ok(alice.post(f"/v1/evaluator-criteria/{profile['public_id']}/revision", changed))

    refused = invoke("benchmarks", "run", id, "capitals_app:answer", env=shell)
    allowed = invoke("benchmarks", "run", id, "capitals_app:answer", "--allow-drift", "--quiet", env=shell)

    assert (refused.exit_code, "Pass --allow-drift" in refused.output) == (2, True), refused.output
    assert (allowed.exit_code, "Changed since it was frozen: /" in allowed.stdout) == (0, True), allowed.output


def test_what_cannot_be_asked_says_what_to_do(shell: dict[str, str], folder: Path) -> None:
    (folder / "two.json").write_text(json.dumps([{"name": name, "kind": "push"} for name in "ab"]))
    freeze(shell, *DATA)

    two = invoke("benchmarks", "run", "capitals", "two.json", env=shell)
    unknown = invoke("benchmarks", "run", "cities", "capitals_app:answer", env=shell)

    assert (two.exit_code, "asked of one config" in two.output) == (2, True)
    assert (unknown.exit_code, "`evalsvc benchmarks create` makes one" in unknown.output) == (2, True)
