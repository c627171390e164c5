"""One verdict on a pair of configs, with one interval, on every surface; a tie has no leader on any."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalsvc.cli.looking.follower import format_status_lines
from evalsvc.client import Comparison, Live
from evalsvc.digits import estimate_texts
from evalsvc.experiments.reporting.words import interval, number
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.experiments.conftest import by_name, live
from tests.experiments.pushing import Runner, add, post_next
from tests.experiments.surfaces import assert_surfaces_agree, check_pair, compare_pair
from tests.factories import make_dataset, make_experiment, ok
from tests.reports.shapes import page, report

NEW, OLD = (config["name"] for config in TWO)


def keys(*ranges: range) -> set[str]:
    """Return the ids of examples."""
    return {f"e{i}" for part in ranges for i in part}


def forty_against_eighteen(caller: Caller) -> Any:
    """200 examples: the new prompt has 0.88, the old one 0.77; 40 wins and 18 losses."""
    both = range(58, 64)
    return answered(caller, keys(range(40, 58), both), keys(range(40), both), n=200)


def test_forty_wins_against_eighteen_are_better_on_every_surface(alice: Caller, reader: Visitor) -> None:
    made = forty_against_eighteen(alice)
    new, old = ids(made)
    answer = assert_surfaces_agree(alice, made["id"])[new, old]

    assert (answer.word, answer.label, answer.n_comparisons) == ("better", "planned_end", 1)
    assert (answer.delta, answer.lower, answer.upper) == (
        0.11,
        pytest.approx(0.033, abs=0.001),
        pytest.approx(0.185, abs=0.001),
    )
    view = live(alice, made["id"])
    assert (view["leader"], view["leader_settled"]) == (new, True)
    mirrored = answer.mirror()
    shown = f"{number(mirrored.delta, signed=True)} {interval(mirrored.lower, mirrored.upper, signed=True)}"
    board = reader.text(f"experiments/{made['id']}")
    assert f"worse: {shown} on new data" in board and "at the planned end" in board
    said = f"{NEW} is better than {OLD} by 0.110 {interval(answer.lower, answer.upper)}."
    assert said in reader.text("compare", a=new, b=old) and said in reader.text("compare", a=old, b=new)
    for format in ("html", "md"):
        text = page(alice, made["id"], format)
        assert f"{NEW} leads with accuracy 0.88" in text.replace("\\", "")
        assert "It is better on new data than every other config." in text
        assert re.search(r"(>|\| )worse(<| \|)", text) and not re.search(r"(>|\| )inconclusive(<| \|)", text)
    seen = Live.read(view)
    ends = estimate_texts(None, mirrored.lower, mirrored.upper, signed=True)[1]
    line = f"worse (-0.110 {ends} new data, -0.11 exactly on this set)"
    assert (seen.config(OLD).word, seen.config(OLD).versus) == ("worse", line)
    assert f"  against {NEW}: {line}" in list(format_status_lines(seen))
    body = compare_pair(alice, new, old)
    assert Comparison.read(body, lambda cursor: body).word == "better"


def test_before_the_end_the_same_counts_are_inconclusive(alice: Caller) -> None:
    """The first 200 of 400 examples: 40 wins and 18 losses are for the planned end to decide."""
    runs = [{"id": f"e{i}", "input": i, "expected": f"right {i}"} for i in range(400)]
    made = make_experiment(alice, make_dataset(alice, runs), list(TWO), num_shards=2)
    wrong = (set(range(40, 64)), {*range(40), *range(58, 64)})
    for i in range(2):
        runner = Runner(alice, made, i)
        for _ in range(20):
            post_next(runner, lambda e, i=i: "wrong" if e["pos"] in wrong[i] else e["expected"])
    answer = assert_surfaces_agree(alice, made["id"])[tuple(ids(made))]  # type: ignore[index]

    assert (answer.word, answer.label, answer.n) == ("inconclusive", "monitoring", 200)
    assert (answer.delta, answer.lower) == (0.11, 0.0)


def test_a_config_added_after_the_end_is_worse_post_hoc_on_every_surface(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, keys(range(15)), n=300, configs=TWO[:1])
    late = add(alice, made, "late")
    late.run(lambda e: "wrong" if e["id"] in keys(range(151)) else e["expected"])
    new = ids(made)[0]
    answer = assert_surfaces_agree(alice, made["id"])[late.config, new]

    assert (answer.word, answer.label, answer.n) == ("worse", "post_hoc", 300)
    assert answer.delta == pytest.approx(-136 / 300)
    assert -0.53 < answer.lower < answer.upper < -0.38  # type: ignore[operator]
    assert by_name(live(alice, made["id"]))["late"]["versus_leader"]["rests_on"]["n_fresh"] == 0
    board = reader.text(f"experiments/{made['id']}")
    assert f"worse: {number(answer.delta, signed=True)} " in board and "post hoc, 1 comparison" in board
    text = reader.text("compare", a=late.config, b=new)
    assert f"{NEW} is better than late by 0.453 [" in text and "Analysis post hoc" in text
    assert "| worse |" in page(alice, made["id"], "md")


@pytest.mark.parametrize("n_wrong", [15, 151])
def test_two_runs_on_one_dataset_are_compared_post_hoc(alice: Caller, reader: Visitor, n_wrong: int) -> None:
    rows = [{"id": f"e{i}", "input": i, "expected": f"right {i}"} for i in range(300)]
    dataset = make_dataset(alice, rows)
    configs = []
    for wrong in (15, n_wrong):
        made = make_experiment(alice, dataset, [{"name": f"wrong {wrong}", "kind": "push"}], seed=wrong)
        Runner(alice, made).run(lambda e, wrong=wrong: "wrong" if int(e["id"][1:]) < wrong else e["expected"])
        configs.append(made["configs"][0]["id"])
    answer = check_pair(alice, configs[1], configs[0])

    assert (answer.word, answer.label) == ("worse" if n_wrong > 15 else "inconclusive", "post_hoc")
    comparison = compare_pair(alice, *configs)["comparison"]
    # Nobody monitored them together: all of the error belongs to this analysis.
    assert (comparison["joint_level"], comparison["rests_on"]) == (0.95, None)
    said = "wrong 15 is better than wrong 151 by 0.453 [" if n_wrong > 15 else "inconclusive"
    assert said in reader.text("compare", a=configs[0], b=configs[1])


def test_without_a_range_there_is_no_verdict_even_at_the_end(alice: Caller, reader: Visitor) -> None:
    """One score that is yet to come may outweigh all that are in."""
    metric = {"name": "ms", "source": "client", "higher_is_better": False}
    made = make_experiment(alice, make_dataset(alice, n=40), list(TWO), metrics=[metric])
    runners = [Runner(alice, made, i) for i in range(2)]
    answers = []
    for _ in range(4):
        for level, runner in zip((5, 46), runners, strict=True):
            unit = runner.lease()["unit"]
            rows = [
                {"pos": e["pos"], "output": "x", "scores": {"ms": level + e["pos"] % level}} for e in unit["examples"]
            ]
            runner.post(unit, rows)
        answers.append(assert_surfaces_agree(alice, made["id"])[tuple(ids(made))])  # type: ignore[index]
        assert by_name(live(alice, made["id"]))[OLD]["versus_leader"]["reason"] == "no_range"

    assert [(answer.word, answer.label) for answer in answers] == [("inconclusive", "monitoring")] * 3 + [
        ("inconclusive", "planned_end")
    ]
    assert [answer.lower for answer in answers] == [0.0] * 4
    assert "has no declared range" in reader.text("compare", a=ids(made)[0], b=ids(made)[1])


@pytest.mark.parametrize(("cluster_by", "levels"), [(None, (0.6, 0.4)), ("metadata.topic", (0.8, 0.2))])
def test_a_bounded_metric_has_its_verdict_at_the_planned_end(
    alice: Caller, cluster_by: str | None, levels: tuple[float, float]
) -> None:
    """Clusters are not monitored, so theirs comes then and not before."""
    metric = {"name": "grade", "source": "client", "value_range": [0, 1]}
    rows = [{"id": f"e{i}", "input": i, "expected": "x", "metadata": {"topic": f"t{i // 2}"}} for i in range(40)]
    plan = {"metrics": [metric], "num_shards": 4} | ({"cluster_by": cluster_by} if cluster_by else {})
    made = make_experiment(alice, make_dataset(alice, rows), list(TWO), **plan)
    runners = [Runner(alice, made, i) for i in range(2)]
    answers = []
    for _ in range(4):
        for level, runner in zip(levels, runners, strict=True):
            unit = runner.lease()["unit"]
            outputs = [
                {"pos": e["pos"], "output": "x", "scores": {"grade": level + 0.01 * (e["pos"] * round(10 * level) % 7)}}
                for e in unit["examples"]
            ]
            runner.post(unit, outputs)
        answers.append(assert_surfaces_agree(alice, made["id"])[tuple(ids(made))])  # type: ignore[index]

    assert [(answer.word, answer.label) for answer in answers] == [("inconclusive", "monitoring")] * 3 + [
        ("better", "planned_end")
    ]
    reason = ok(alice.get(f"/v1/compare?a={ids(made)[0]}&b={ids(made)[1]}"))["comparison"]["reason"]
    assert reason is None


def test_a_tie_has_no_leader_on_any_surface(alice: Caller, reader: Visitor) -> None:
    made = answered(
        alice, {"e1", "e2"}, {"e3", "e4"}, {"e1", "e2", "e5"}, configs=[*TWO, {"name": "third", "kind": "push"}]
    )
    assert_surfaces_agree(alice, made["id"])
    view, (new, old, _) = live(alice, made["id"]), ids(made)

    assert (view["leader"], view["tied"], view["leader_settled"]) == (None, [new, old], False)
    assert {config["versus_leader"] and config["versus_leader"]["config_id"] for config in view["configs"]} == {
        None,
        new,
    }
    text = reader.text(f"experiments/{made['id']}")
    assert f"level at the end: <strong><bdi>{NEW} and {OLD}</bdi></strong>" in text and '"badge">leader' not in text
    assert f"level: {NEW} and {OLD}" in reader.text("experiments")
    summary = report(alice, made["id"])["summary"]
    assert (summary["leader"], summary["leader_id"], summary["tied"], summary["estimate"]) == (
        None,
        None,
        [NEW, OLD],
        None,
    )
    for format in ("html", "md"):
        text = page(alice, made["id"], format)
        assert f"Tie on accuracy: {NEW}, {OLD}." in text.replace("\\", "") and " leads" not in text
    seen = Live.read(view)
    assert (seen.leader, seen.tied) == (None, (new, old))
    assert f"tied: {NEW}, {OLD}" in seen._repr_html_()


def test_home_shows_a_tie_while_it_runs(alice: Caller, reader: Visitor) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO), num_shards=2)
    for i in range(2):
        post_next(Runner(alice, made, i), lambda e: e["expected"])

    assert_surfaces_agree(alice, made["id"])
    assert f"tie of {NEW} and {OLD}" in reader.text()
