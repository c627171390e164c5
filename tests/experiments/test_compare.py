"""Two configs of any runs, example by example."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evalsvc.client import Comparison, Live
from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.reporting.words import format_comparison
from tests.conftest import Caller
from tests.experiments.conftest import EXACT, live, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner, add, answering, post_next

ONE = [{"name": "mine", "kind": "push"}]
TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


def examples(n: int) -> list[dict[str, Any]]:
    return [{"id": f"e{i}", "input": f"question {i}", "expected": f"answer {i}"} for i in range(n)]


def wrong_on(ids: set[str]) -> Any:
    return lambda e: "wrong" if e["id"] in ids else e["expected"]


def compared(caller: Caller, a: str, b: str, **more: Any) -> Any:
    query = "&".join(f"{name}={value}" for name, value in more.items())
    return ok(caller.get(f"/v1/compare?a={a}&b={b}&{query}"))


def run(caller: Caller, dataset: str, wrong: set[str], **plan: Any) -> Any:
    made = make_experiment(caller, dataset, ONE, **plan)
    Runner(caller, made).run(wrong_on(wrong))
    return made


def test_two_runs_of_one_version_are_paired_by_example(alice: Caller) -> None:
    """Each has an order of its own."""
    dataset = make_dataset(alice, examples(30))
    one = run(alice, dataset, {"e1", "e2"}, seed=1)
    other = run(alice, dataset, {"e2", "e3", "e4", "e5", "e6"}, seed=2)
    found = compared(alice, one["id"], other["configs"][0]["id"])
    assert (found["n_common"], found["share"], found["matched_by"], found["warnings"]) == (30, 1.0, "example", [])
    comparison = found["comparison"]
    assert (comparison["n"], comparison["delta"]) == (30, pytest.approx(3 / 30))
    assert comparison["this_set"]["exact"] is True
    assert comparison["lower"] <= 0 <= comparison["upper"]
    assert (comparison["word"], comparison["label"]) == ("inconclusive", "post_hoc")
    differing = {row["example_id"]: row["difference"] for row in found["examples"][:5]}
    assert differing == {"e1": -1.0, "e3": 1.0, "e4": 1.0, "e5": 1.0, "e6": 1.0}
    assert all(row["difference"] == 0 for row in found["examples"][5:])
    (first,) = [row for row in found["examples"] if row["example_id"] == "e1"]
    assert (first["input"], first["expected"]) == ("question 1", "answer 1")


def test_pages_lead_through_all_examples_once(alice: Caller) -> None:
    dataset = make_dataset(alice, examples(12))
    one, other = run(alice, dataset, {"e1"}), run(alice, dataset, {"e2"}, seed=5)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = compared(alice, one["id"], other["id"], limit=5, **({"cursor": cursor} if cursor else {}))
        seen += [row["example_id"] for row in page["examples"]]
        cursor = page["next_cursor"]
    assert set(seen[:2]) == {"e1", "e2"}
    assert sorted(seen) == sorted(f"e{i}" for i in range(12))
    assert alice.get(f"/v1/compare?a={one['id']}&b={other['id']}&cursor=x").status_code == 422


def test_two_versions_are_paired_by_id_and_content(alice: Caller) -> None:
    name = f"d-{uuid.uuid4().hex[:8]}"
    rows = examples(10)
    first = ok(alice.post("/v1/datasets", {"dataset_name": name, "examples": rows}))
    changed = [*rows[:7], {**rows[7], "expected": "another answer"}, *examples(12)[10:]]
    second = ok(alice.post("/v1/datasets", {"dataset_name": f"{name}-2", "examples": changed}))
    one, other = run(alice, first["dataset_id"], {"e0"}), run(alice, second["dataset_id"], {"e7"}, seed=3)
    found = compared(alice, one["id"], other["id"])
    assert (found["matched_by"], found["n_common"]) == ("example id and content", 7)
    assert found["share"] == pytest.approx(7 / 13)
    assert found["warnings"] == ["partly_paired"]
    assert (found["comparison"]["n"], found["comparison"]["delta"]) == (7, pytest.approx(-1 / 7))
    assert {row["example_id"] for row in found["examples"]} == {f"e{i}" for i in range(7)}


def test_within_a_run_all_its_comparisons_count_and_clones_are_fresh_late(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    for runner in (a, b):
        post_next(runner, answering(set()))
    late = add(alice, made, "late")
    for runner in (a, b):
        runner.run()
    late.run(answering(set(range(0, 40, 2))))
    found = compared(alice, late.config, b.config)["comparison"]
    assert (found["n_comparisons"], found["rests_on"]["n_fresh"], found["label"]) == (3, 30, "post_hoc")
    assert (found["word"], found["delta"]) == ("worse", -0.5)
    shown = {c["name"]: c for c in live(alice, made["id"])["configs"]}["late"]["versus_leader"]
    if shown["config_id"] == b.config:
        assert {name: shown[name] for name in ("word", "delta", "lower", "upper", "rests_on")} == pytest.approx(
            {name: found[name] for name in ("word", "delta", "lower", "upper", "rests_on")}
        )


def test_without_a_range_there_is_no_verdict_before_the_planned_end(alice: Caller) -> None:
    metric = {"name": "ms", "source": "client", "higher_is_better": False}
    made = make_experiment(alice, make_dataset(alice, n=40), TWO, metrics=[metric], num_shards=4)
    for i, level in enumerate((46, 5)):
        runner = Runner(alice, made, i)
        unit = runner.lease(n=30)["unit"]
        rows = [
            {"pos": e["pos"], "output": "x", "scores": {"ms": level + e["pos"] % (7 - 4 * i)}} for e in unit["examples"]
        ]
        runner.post(unit, rows)
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)
    view = live(alice, made["id"])
    slow = next(one for one in view["configs"] if one["id"] != view["leader"])
    found = slow["versus_leader"]
    assert found["n"] and found["delta"] < -40
    assert (found["upper"], found["label"]) == (0.0, "monitoring")
    assert (found["word"], found["reason"], found["rests_on"]) == ("inconclusive", "no_range", None)
    # As many more as are left: then the planned end comes.
    assert (found["about_n_more"], found["can_be_settled"]) == (10, True)
    assert view["leader_settled"] is False
    versus, asides = format_comparison(found, {})
    assert versus.startswith("inconclusive: \N{MINUS SIGN}4")
    assert asides[-1] == "no verdict before the planned end: the metric has no declared range"
    standing = Live.read(view).config(slow["id"])
    assert (standing.word, standing.versus.split(" (")[0]) == ("inconclusive", "inconclusive")
    a, b = (config["id"] for config in made["configs"])
    body = compared(alice, a, b, metric="ms")
    assert (body["comparison"]["word"], body["comparison"]["reason"]) == ("inconclusive", "no_range")
    assert "inconclusive" in str(Comparison.read(body, lambda cursor: body))


def test_a_metric_where_lower_is_better_and_missing_halves(alice: Caller) -> None:
    metric = {"name": "ms", "source": "client", "higher_is_better": False}
    dataset = make_dataset(alice, examples(4))
    runs = []
    for shift in (0, 2):
        made = make_experiment(alice, dataset, ONE, metrics=[metric])
        runner = Runner(alice, made)
        unit = runner.lease()["unit"]
        rows = [{"pos": e["pos"], "output": "x", "scores": {"ms": 10 + shift}} for e in unit["examples"]]
        if shift:
            rows[0] = {"pos": rows[0]["pos"], "error": {"type": "bug"}}
        runner.post(unit, rows)
        runs.append(made)
    found = compared(alice, runs[0]["id"], runs[1]["id"])
    assert (found["comparison"]["delta"], found["comparison"]["n_missing"]) == (2.0, 1)
    assert found["comparison"]["this_set"]["exact"] is False
    assert [row["difference"] for row in found["examples"]] == [2.0, 2.0, 2.0, None]
    assert found["examples"][3]["b"]["error_code"] == "no_output"


def test_it_says_what_cannot_be_compared(alice: Caller, charlie: Caller) -> None:
    dataset = make_dataset(alice, examples(4))
    one = run(alice, dataset, set())
    two = make_experiment(alice, dataset, TWO)
    ratio = make_experiment(alice, dataset, ONE, metrics=[{"name": "accuracy", "source": "client", "type": "ratio"}])
    mine = one["configs"][0]["id"]
    for query, pointer in (
        (f"a={two['id']}&b={mine}", "/a"),
        (f"a={mine}&b={one['id']}", "/b"),
        (f"a={mine}&b=x", "/b"),
        (f"a={mine}", "/b"),
        (f"a={mine}&b={two['configs'][0]['id']}&metric=nope", "/metric"),
        (f"a={mine}&b={ratio['id']}", "/metric"),
        (f"a={ratio['id']}&b={mine}", "/metric"),
        (f"a={mine}&b={two['configs'][0]['id']}&surprise=1", "/surprise"),
        (f"a={mine}&b={two['configs'][0]['id']}&limit=0", "/limit"),
    ):
        answer = ok(alice.get(f"/v1/compare?{query}"), 422)
        assert answer["errors"][0]["pointer"] == pointer, answer
    theirs = run(charlie, make_dataset(charlie, examples(4)), set())
    missing = alice.get(f"/v1/compare?a={mine}&b=123456789")
    for id in (theirs["id"], theirs["configs"][0]["id"]):
        for query in (f"a={mine}&b={id}", f"a={id}&b={mine}"):
            answer = alice.get(f"/v1/compare?{query}")
            assert answer.status_code == missing.status_code == 404
            assert {**answer.json(), "request_id": ""} == {**missing.json(), "request_id": ""}


def test_other_settings_of_the_same_name_are_warned_of(alice: Caller) -> None:
    dataset = make_dataset(alice, examples(4))
    one = run(alice, dataset, set())
    other = run(alice, dataset, set(), metrics=[{**EXACT, "evaluator": "exact-match-contains"}])
    assert "other_evaluator" in compared(alice, one["id"], other["id"])["warnings"]
