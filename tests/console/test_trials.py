"""Trials by the console alone: asked for in the form, read on the experiment's page, decided by a gate."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from evalsvc.experiments.reporting.words import format_estimate
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.experiments.conftest import by_name, live
from tests.experiments.pushing import Runner
from tests.factories import make_dataset, make_experiment, ok

OUTCOMES = ["yyyyy"] * 30 + ["nyyyy"] * 6 + ["nnnyy"] * 2 + ["nnnnn"] * 2


def form(dataset: str, **more: str) -> dict[str, str]:
    return {
        "name": "agent",
        "dataset": dataset,
        "policy": "manual",
        "n_samples": "5",
        "m0-name": "pass^3",
        "m0-evaluator": "exact-match",
        "m0-trials": "pass^k",
        "m0-k": "3",
        "m0-lost": "missing",
        "n_configs": "1",
        "n_metrics": "1",
        "c0-name": "mine",
        "c0-kind": "push",
        "start": "on",
    } | {name.replace("_", "-") if name.startswith("m0") else name: value for name, value in more.items()}


def run_trials(caller: Caller, experiment: dict[str, Any]) -> None:
    runner = Runner(caller, experiment)
    while unit := runner.lease()["unit"]:
        rows = [(example, OUTCOMES[int(example["id"][1:])]) for example in unit["examples"]]
        answers = [
            {"pos": example["pos"], "samples": [{"output": "yes" if letter == "y" else "no"} for letter in row]}
            for example, row in rows
        ]
        runner.post(unit, answers)


def test_a_person_asks_for_trials_and_decides_by_them(alice: Caller, editor: Visitor) -> None:
    examples = [{"id": f"t{i}", "input": f"task {i}", "expected": "yes"} for i in range(len(OUTCOMES))]
    assert editor.post("experiments/new", **form(make_dataset(alice, examples)), make="1").status_code == 302
    (listed,) = ok(alice.get("/v1/experiments"))["experiments"]
    experiment = ok(alice.get(f"/v1/experiments/{listed['id']}"))["experiment"]
    (metric,) = experiment["plan"]["metrics"]
    assert metric["trials"] == {"of": "pass^k", "k": 3, "lost": "missing"}
    configs = ok(alice.get(f"/v1/experiments/{experiment['id']}/configs"))["configs"]
    run_trials(alice, {**experiment, "configs": configs})

    text = html.unescape(editor.text(f"experiments/{experiment['id']}"))
    shown = by_name(live(alice, experiment["id"]))["mine"]["metrics"]["pass^3"]
    assert shown["value"] == pytest.approx((30 + 6 * 0.4) / 40)
    (row,) = [row for row in shown["trials"]["curve"] if row["k"] == 3]
    value, ends = format_estimate(row["value"], row["lower"], row["upper"])
    assert f'{value} <span class="quiet">{ends}' in text
    assert "8 flaky tests of" in text
    assert all(f"t{i} ({OUTCOMES[i].count('y')} of 5)" in text for i in range(30, 38))

    (address,) = re.findall(r'href="[^"]*(gates/new\?experiment=\d+)">Ask a gate about this experiment', text)
    rule = {"rule_metric": "pass^3", "kind": "at_least", "limit": "0.65", "level": "0.95", "looks": "one"}
    side = {"candidate_experiment": experiment["id"], "candidate_config": configs[0]["id"]}
    assert editor.post(address, **rule, **side).status_code == 302
    (listed,) = ok(alice.get("/v1/gates"))["gates"]
    gate = ok(alice.get(f"/v1/gates/{listed['id']}"))["gate"]
    assert gate["outcome"] == "pass"
    text = html.unescape(editor.text(f"experiments/{experiment['id']}"))
    assert f"gates/{gate['id']}" in text and gate["rules"][0]["says"] in text


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"m0_k": "6"}, "m0-k", "fewer than 6"),
        ({"m0_k": ""}, "m0-k", "needs a `k`"),
        ({"m0_k": "few"}, "m0-k", "Enter a number"),
        ({"m0_k": "0"}, "m0-k", "greater than or equal to 1"),
        ({"m0_trials": "mean"}, "m0-k", "leave `k` out"),
        ({"m0_trials": ""}, "m0-trials", "leave k empty"),
        ({"m0_trials": "best"}, "m0-trials", "not a valid choice"),
        ({"m0_lost": "counted"}, "m0-lost", "not a valid choice"),
        ({"m0_better": "low"}, "m0-trials", "A trial passes with 1"),
        ({"m0_evaluator": "rouge-l"}, "m0-trials", "A trial passes or fails"),
        ({"n_samples": ""}, "m0-trials", "set `n_samples` to 2 or more"),
        ({"n_samples": "99"}, "n_samples", "less than or equal to"),
    ],
)
def test_what_is_wrong_with_trials_is_said_at_its_field(
    editor: Visitor, alice: Caller, changed: dict[str, str], field: str, words: str
) -> None:
    answer = editor.post("experiments/new", **form(make_dataset(alice, n=4), **changed), make="1")
    assert answer.status_code == 422
    page = html.unescape(answer.content.decode())
    found = re.search(rf'id="e-{field}">([^<]*)<', page)
    assert found is not None and words in found[1], re.findall(r'id="e-[^<]*<', page)
    fold = page[: page.index(f'id="e-{field}"')].rpartition("<details")[2]
    assert fold.startswith(' class="data" open>')
    assert alice.get("/v1/experiments").json()["experiments"] == []


def test_metrics_without_trials_are_as_before(alice: Caller, editor: Visitor) -> None:
    sent = form(make_dataset(alice, n=4), n_samples="", m0_trials="", m0_k="")
    assert editor.post("experiments/new", **sent, make="1").status_code == 302
    (listed,) = ok(alice.get("/v1/experiments"))["experiments"]
    (metric,) = ok(alice.get(f"/v1/experiments/{listed['id']}"))["experiment"]["plan"]["metrics"]
    assert metric["trials"] is None


def test_the_compare_page_lists_the_tests_that_got_worse(alice: Caller, editor: Visitor) -> None:
    metric = {"name": "pass^2", "evaluator": "exact-match", "trials": {"of": "pass^k", "k": 2}}
    dataset = make_dataset(alice, [{"id": f"t{i}", "input": f"task {i}", "expected": "yes"} for i in range(20)])
    configs = [{"name": name, "kind": "push"} for name in ("old", "new")]
    made = make_experiment(alice, dataset, configs, metrics=[metric], n_samples=10)
    for i, worst in enumerate(("y" * 10, "n" * 9 + "y")):
        runner = Runner(alice, made, i)
        while unit := runner.lease()["unit"]:
            runner.post(
                unit,
                [
                    {
                        "pos": example["pos"],
                        "samples": [
                            {"output": "yes" if letter == "y" else "no"}
                            for letter in (worst if example["id"] == "t3" else "y" * 10)
                        ],
                    }
                    for example in unit["examples"]
                ],
            )
    ids = {config["name"]: config["id"] for config in live(alice, made["id"])["configs"]}
    page = html.unescape(editor.get(f"compare?a={ids['new']}&b={ids['old']}").content.decode())
    assert "Of 20 tests, new passes 1 less often than old and 0 more often (95 % confidence" in page
    (row,) = re.findall(r"<tr><th scope=\"row\"><bdi>(.*?)</bdi>(.*?)</tr>", page)
    assert row[0] == "t3"
    # 20 C(10, 1) / C(20, 11) = 0.0012
    assert re.findall(r">([^<>]+)</td>", row[1]) == ["1 of 10", "10 of 10", "worse", "0.001"]
