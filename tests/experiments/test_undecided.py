"""Outputs that an evaluator has not decided: neither passed nor failed, and counted apart on every surface."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evalsvc.client.results.metrics import Metric
from evaluators.base import NOTHING_CHECKED, Sample, Score, Settings, UndecidedReason
from evaluators.families.exact_match import ExactMatch
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, ok, recounted
from tests.experiments.pushing import PUSH, Runner, results
from tests.experiments.surfaces import read_board
from tests.factories import EXACT, make_dataset, make_experiment, make_profile

PASSES = EXACT | {"name": "passes", "source": "pass"}
ANSWERS: dict[str, dict[str, Any]] = {
    "p": {"output": "yes"},
    "f": {"output": "no"},
    "u": {"output": "?"},
    "c": {"output": "Thanks!"},
    "l": {"error": {"type": "rate_limited"}},
    "b": {"error": {"type": "bug"}},
}
"""By letter: passes, fails, is undecided, is courtesy, is lost, breaks."""
NEAR = 1e-9


@pytest.fixture(autouse=True)
def question_marks_are_undecided(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the exact match of a question mark or of thanks be undecided, as that of some families is."""
    reasons: dict[str | None, UndecidedReason] = {"?": "low_support", "Thanks!": NOTHING_CHECKED}
    score_text = ExactMatch.score

    def score(self: ExactMatch, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        found = score_text(self, sample, settings, explain=explain)
        return replace(found, undecided=reasons.get(sample.output))

    monkeypatch.setattr(ExactMatch, "score", score)
    monkeypatch.setattr(ExactMatch, "can_be_undecided", True)
    yield


def examples(n: int) -> list[dict[str, Any]]:
    return [{"id": f"t{i}", "input": f"{i}?", "expected": "yes"} for i in range(n)]


def finished(caller: Caller, *outcomes: str, metrics: Sequence[Any] = (PASSES, EXACT), **plan: Any) -> Any:
    configs = [PUSH | {"name": name} for name in ("old", "new")[: len(outcomes)]]
    made = make_experiment(
        caller, make_dataset(caller, examples(len(outcomes[0]))), configs, metrics=[*metrics], **plan
    )
    for i, letters in enumerate(outcomes):
        runner = Runner(caller, made, i)
        while unit := runner.lease()["unit"]:
            rows = [{"pos": e["pos"], **ANSWERS[letters[int(e["id"][1:])]]} for e in unit["examples"]]
            runner.post(unit, rows)
    return made


def figures(caller: Caller, made: Any, metric: str = "passes", config: str = "old") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"][metric]


def ask(caller: Caller, made: Any, *rules: dict[str, Any], **body: Any) -> Any:
    side = {"experiment_id": made["id"], "config": "old"}
    return ok(caller.post("/v1/gates", {"candidate": side, "rules": [*rules]} | body))["gate"]


@pytest.mark.parametrize("seed", range(6))
def test_random_mixes_agree_on_every_surface(alice: Caller, seed: int) -> None:
    rng = random.Random(seed)
    n = 40
    weights = [rng.random(), rng.random(), rng.choice([0, 0.1, 1]), rng.choice([0, 0.1]), rng.choice([0, 0.1])]
    letters = "".join(rng.choices("pfulb", weights, k=n - 1)) + "p"
    count = Counter(letters)
    counts = {"n_failed": count["b"], "n_missing": count["l"], "n_undecided": count["u"]}
    made = finished(alice, letters)

    found = figures(alice, made)
    rows = found["rows"]
    assert rows["n"] == found["n"] == count["p"] + count["f"]
    assert {name: rows[name] for name in counts} == counts
    assert found["n_error"] == count["u"] + count["l"] + count["b"]
    n_open, n_known = count["u"] + count["l"], n - count["u"] - count["l"]
    if n_open >= 0.1 * n:
        assert found["value"] is None
    else:
        assert found["value"] == pytest.approx(count["p"] / n_known)
    # Whatever the undecided ones are, their share lies within the ends.
    assert found["lower"] <= count["p"] / n + NEAR and (count["p"] + n_open) / n - NEAR <= found["upper"]
    assert ("undecided" in found["warnings"]) == (count["u"] > 0)
    assert ("missing" in found["warnings"]) == (count["l"] > 0)
    scores = figures(alice, made, "accuracy")
    assert (scores["n"], scores["rows"]["n_undecided"]) == (n - count["l"] - count["b"], 0)

    listed = results(alice, made, "metric=passes&status=undecided&limit=100")
    assert len(listed) == count["u"]
    for row in listed:
        score = row["scores"]["passes"]
        assert (score["value"], score["passed"], score["error_code"]) == (None, None, "undecided")
        assert score["extra"]["undecided"] == "low_support"
        assert row["scores"]["accuracy"]["value"] == 0.0
    assert results(alice, made, "metric=passes&status=error&limit=100") == []
    assert len(results(alice, made, "metric=passes&status=ok&limit=100")) == count["p"] + count["f"]

    (sliced,) = ok(alice.get(f"/v1/experiments/{made['id']}/aggregates?by=metadata.none&metric=passes"))["rows"]
    assert (sliced["n"], sliced["rows"]["n_undecided"]) == (rows["n"], count["u"])

    gate = ask(alice, made, {"metric": "passes", "at_least": 0.0})
    (rule,) = gate["rules"]
    assert (rule["rows"]["n"], rule["rows"]["n_undecided"]) == (count["p"] + count["f"] + count["b"], count["u"])
    assert gate["outcome"] == ("undecided" if count["u"] >= 0.1 * n else "pass")

    report = ok(alice.get(f"/v1/experiments/{made['id']}/report"))
    assert report["live"]["configs"][0]["metrics"]["passes"]["rows"] == rows
    assert not [row for row in report["errors"] if row["error_type"] == "undecided"]
    _, board = read_board(alice, made["id"])
    words = f"{count['u']} undecided"
    texts = [board.rows[0].shown.note, Metric.read("passes", found).without_scores, rule["says"]]
    texts += [read_markdown(alice, made)]
    for text in texts:
        assert (words in text) == (count["u"] > 0), text
    assert recounted(alice, made["id"]) == []


def read_markdown(caller: Caller, made: Any) -> str:
    answer = caller.get(f"/v1/experiments/{made['id']}/report?format=md")
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_gate_cannot_tell_where_a_tenth_is_undecided(alice: Caller) -> None:
    rule = {"metric": "passes", "at_least": 0.5}
    some, many = finished(alice, "p" * 95 + "u" * 5), finished(alice, "p" * 90 + "u" * 10)
    assert ask(alice, some, rule)["outcome"] == "pass"
    gate = ask(alice, many, rule)
    (found,) = gate["rules"]
    assert (gate["outcome"], found["reason"], found["about_n_more"]) == ("undecided", "much_undecided", None)
    assert found["says"].endswith("Nothing is shown: a tenth of the examples or more are undecided.")
    assert ask(alice, many, {"metric": "passes", "at_least": 0.99999})["outcome"] == "undecided"
    assert ask(alice, finished(alice, "f" * 80 + "u" * 20), rule)["outcome"] == "fail"
    assert ask(alice, many, {"metric": "accuracy", "at_least": 0.5})["outcome"] == "pass"


def test_a_pair_with_an_undecided_side_is_undecided(alice: Caller) -> None:
    made = finished(alice, "p" * 30 + "u" * 4 + "f" * 26, "p" * 40 + "f" * 10 + "u" * 10)
    baseline = {"experiment_id": made["id"], "config": "new"}
    gate = ask(alice, made, {"metric": "passes", "not_worse_by": 1.0}, baseline=baseline)
    (rule,) = gate["rules"]
    assert (rule["rows"]["n"], rule["rows"]["n_undecided"], rule["n_missing"]) == (46, 14, 14)
    assert gate["outcome"] == "undecided"
    # An undecided answer is no regression.
    assert len(gate["regressions"]) == 6
    assert {row["candidate"]["error_code"] for row in gate["regressions"]} == {None}


def test_one_that_the_profile_decides_counts_so(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.verdicts.decide_undecided", lambda settings: False)
    found = figures(alice, finished(alice, "p" * 15 + "u" * 5))
    assert (found["value"], found["n"], found["rows"]["n_undecided"]) == (0.75, 20, 0)


def test_samples_that_are_undecided_are_left_out(alice: Caller) -> None:
    outcomes = ["ppu", "uuu", "pfu", "ppp"]
    metrics = [PASSES, PASSES | {"name": "all", "trials": {"of": "pass^k", "k": 3}}]
    dataset = make_dataset(alice, examples(len(outcomes)))
    made = make_experiment(alice, dataset, [PUSH | {"name": "old"}], metrics=metrics, n_samples=3)
    runner = Runner(alice, made)
    while unit := runner.lease()["unit"]:
        rows = [
            {"pos": e["pos"], "samples": [ANSWERS[letter] for letter in outcomes[int(e["id"][1:])]]}
            for e in unit["examples"]
        ]
        runner.post(unit, rows)
    scores = {row["example_id"]: row["scores"] for row in results(alice, made)}
    assert [scores[f"t{i}"]["passes"]["value"] for i in range(4)] == [1.0, None, 0.5, 1.0]
    assert [scores[f"t{i}"]["all"]["value"] for i in range(4)] == [None, None, None, 1.0]
    assert figures(alice, made)["rows"]["n_undecided"] == 1
    assert figures(alice, made, "all")["rows"]["n_undecided"] == 3
    assert figures(alice, made, "all")["trials"]["n_incomplete"] == 3
    assert recounted(alice, made["id"]) == []


def converse(letters: str) -> dict[str, Any]:
    """A conversation with a turn for each letter: p answers right, f wrong, u with a question mark, c with thanks."""
    messages = []
    for number, letter in enumerate(letters):
        messages.append({"role": "user", "content": f"{number}?"})
        messages.append({"role": "assistant", "content": ANSWERS[letter]["output"]})
    return {"messages": messages}


def converse_all(caller: Caller, outcomes: Sequence[str], source: str = "pass") -> Any:
    profile = make_profile(caller, "exact-match", unit="turn")["name"]
    metrics = [{"name": "passes", "evaluator": "exact-match", "criteria": profile, "source": source}]
    dataset = make_dataset(caller, examples(len(outcomes)))
    made = make_experiment(caller, dataset, [PUSH | {"name": "old"}], metrics=metrics)
    Runner(caller, made).run(lambda example: converse(outcomes[int(example["id"][1:])]))
    return figures(caller, made)


def test_undecided_turns_are_no_turns(alice: Caller) -> None:
    outcomes = ["p" * 20, "p" * 15 + "f" * 5, "p" * 19 + "u", "p" * 18 + "fu"] * 5
    found = converse_all(alice, outcomes)
    turns = found["turns"]
    # Less than a tenth of each conversation is undecided: the mean is of the turns with a verdict.
    assert found["value"] == pytest.approx((1 + 0.75 + 1 + 18 / 19) / 4)
    assert (turns["n_turns"], turns["n_undecided"], turns["n_conversations"]) == (390, 10, 20)
    assert turns["per_turn"]["value"] == pytest.approx(360 / 390)
    assert turns["per_turn"]["method"].endswith("missing worst and best")
    assert turns["per_turn"]["lower"] <= 360 / 400 and turns["per_turn"]["upper"] >= 370 / 400
    # A conversation in which a turn fails is known not to pass; one with an undecided turn may.
    assert turns["all_turns"]["value"] is None
    assert turns["all_turns"]["lower"] <= 5 / 20 and turns["all_turns"]["upper"] >= 10 / 20
    assert Metric.read("passes", found).turns_text.endswith("390 turns of 20 conversations, 10 undecided")


def test_a_conversation_is_undecided_where_a_tenth_of_its_turns_is(alice: Caller) -> None:
    found = converse_all(alice, ["pp", "pf", "pu", "fu", "uu"] * 4)
    assert (found["value"], found["n"], found["rows"]["n_undecided"]) == (None, 8, 12)
    assert found["lower"] <= 6 / 20 and found["upper"] >= 18 / 20
    turns = found["turns"]
    assert (turns["n_turns"], turns["n_undecided"]) == (24, 16)
    assert turns["per_turn"]["value"] is None and turns["per_conversation"]["value"] is None
    assert turns["per_turn"]["lower"] <= 16 / 40 and turns["per_turn"]["upper"] >= 32 / 40


def test_turns_without_a_sentence_to_check_decide_nothing_beside_others(alice: Caller) -> None:
    found = converse_all(alice, ["pc", "fc", "pcp", "cpc"] * 5)
    turns = found["turns"]
    assert (found["value"], found["rows"]["n_undecided"]) == (0.75, 0)
    assert (turns["n_turns"], turns["n_undecided"]) == (25, 0)
    assert (turns["per_turn"]["value"], turns["all_turns"]["value"]) == (20 / 25, 0.75)

    only_thanks = converse_all(alice, ["p"] * 38 + ["cc"] * 2)
    assert (only_thanks["n"], only_thanks["rows"]["n_undecided"], only_thanks["turns"]["n_undecided"]) == (38, 2, 4)

    scores = converse_all(alice, ["pc", "fc", "pcp", "cpc"] * 5, source="score")
    assert scores["turns"]["all_turns"]["value"] == 0.75


def test_scores_of_undecided_turns_count(alice: Caller) -> None:
    found = converse_all(alice, ["pp", "pf", "pu", "fu"] * 5, source="score")
    assert (found["value"], found["rows"]["n_undecided"]) == (0.5, 0)
    turns = found["turns"]
    assert (turns["n_turns"], turns["n_undecided"], turns["per_turn"]["value"]) == (40, 0, 0.5)
    # "fu" fails whatever the other turn is, and "pu" is not known.
    assert turns["all_turns"]["value"] is None
    assert turns["all_turns"]["lower"] <= 5 / 20 and turns["all_turns"]["upper"] >= 10 / 20


def test_the_history_has_the_score_and_no_pass(alice: Caller) -> None:
    profile = make_profile(alice, "exact-match", unit="last")["name"]
    finished(alice, "p" * 12 + "f" * 4 + "u" * 4, metrics=[PASSES | {"criteria": profile}])
    found = ok(alice.get(f"/v1/history?evaluator=exact-match&profile={profile}&of=pass&include_experiments=all"))
    assert (found["n_total"], found["pass_rate"], found["n_undecided"]) == (20, 0.75, 4)
    rows = found["confidence_interval"]["rows"]
    assert (rows["n"], rows["n_missing"], rows["n_undecided"]) == (16, 0, 4)
