"""What people try first: a copy with "not" put in, a polite frame, other languages, few rows, many equals, a slow judge."""

from __future__ import annotations

import unicodedata
import uuid
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller, scores_of, wait_until
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment, ok, recounted, scheduling
from tests.experiments.pushing import PUSH, Runner
from tests.ways.conftest import make_judges

CAPITAL = {
    "evaluated_model_input": "What is the capital of France?",
    "evaluated_model_gold_answer": "Paris",
    "evaluated_model_retrieved_context": ["Paris is the capital and largest city of France."],
}


def scored(caller: Caller, *evaluators: str, **fields: Any) -> dict[str, float]:
    """The scores on the wire, by evaluator or profile."""
    results = ok(caller.evaluate(*evaluators, **fields))["results"]
    assert {result["status"] for result in results} == {"success"}, results
    told = [float(result["evaluation_result"]["score_raw"]) for result in results]
    return dict(zip([name.split("/compute-")[-1] for name in evaluators], told, strict=True))


@pytest.mark.parametrize(
    ("output", "supported"),
    [
        ("Paris is the capital and largest city of France.", 1),
        ("Paris is not the capital and largest city of France.", 0),
        ("Paris isn't the capital of France.", 0),
        ("Sure! The answer is Paris.", 1),
        ("The answer is not Paris.", 0),
        ("I'd be happy to help! The answer is Paris. Let me know if you have any other questions.", 1),
        ("I'd be happy to help! The answer is Lyon. Let me know if you have any other questions.", 0),
    ],
)
def test_one_word_turns_a_copy_round_and_politeness_turns_nothing(alice: Caller, output: str, supported: int) -> None:
    found = scored(alice, "hallucination", evaluated_model_output=output, **CAPITAL)
    assert found == {"hallucination": supported}


def test_a_polite_frame_is_no_exact_match_and_holds_the_answer(alice: Caller) -> None:
    names = ("exact-match", "exact-match-normalised", "exact-match-contains", "metrics/compute-squad-f1")
    found = scored(alice, *names, evaluated_model_output="Sure! The answer is Paris.", **CAPITAL)
    assert found == {
        "exact-match": 0,
        "exact-match-normalised": 0,
        "exact-match-contains": 1,
        "squad-f1": pytest.approx(2 / 5),
    }
    plain = scored(alice, *names, evaluated_model_output="**Paris.**", **CAPITAL)
    assert plain == {"exact-match": 0, "exact-match-normalised": 1, "exact-match-contains": 1, "squad-f1": 1}


@pytest.mark.parametrize(
    ("evaluator", "output", "gold", "expected"),
    [
        ("exact-match-contains", "The answer is (A).", "A", 1),
        ("exact-match-contains", "A cat is not it.", "A", 0),
        ("exact-match-normalised", "10:30", "1030", 0),
        ("exact-match-numeric", "1\u202f234", "1234", 1),
        ("exact-match-numeric", r"$\frac{1}{2}$", "2", 0),
        ("exact-match-numeric", "2.2e-10", "2.2e-11", 0),
        ("custom/mentions-gold-answer", "In 2012 it was.", "12", 0),
        ("custom/mentions-gold-answer", "共12个", "12", 1),
    ],
)
def test_answers_of_a_letter_a_number_and_a_mark(
    alice: Caller, evaluator: str, output: str, gold: str, expected: int
) -> None:
    found = scored(alice, evaluator, evaluated_model_output=output, evaluated_model_gold_answer=gold)
    assert list(found.values()) == [expected]


def test_a_gold_answer_without_a_number_is_an_error_of_the_row(alice: Caller) -> None:
    body = {"evaluated_model_output": "42", "evaluated_model_gold_answer": "forty-two"}
    answer = alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "exact-match-numeric"}], **body})
    (result,) = answer.json()["results"]
    assert (result["status"], result["error_code"]) == ("validation_error", "wrong_type")
    assert result["evaluation_result"] is None
    assert "holds no number" in result["error_message"]


@pytest.mark.parametrize(
    ("output", "gold", "expected"),
    [
        # exact match, normalised, contained, SQuAD EM, SQuAD F1, ROUGE-L
        ("À l'École.", "à l'école", (0, 1, 1, 1, 1, 1)),
        ("L\u2019été", "l'été", (0, 1, 1, 0, 0, 1)),
        (unicodedata.normalize("NFD", "à l'école"), "à l'école", (0, 1, 1, 0, 0, 1)),
        ("IN DER STRASSE", "in der Straße", (0, 1, 1, 0, 2 / 3, 2 / 3)),
        ("Der Hund bellt.", "der Hund bellt", (0, 1, 1, 1, 1, 1)),
        ("Der Hund", "Hund", (0, 0, 1, 0, 2 / 3, 2 / 3)),
        ("C'est la tour Eiffel", "la tour Eiffel", (0, 0, 1, 0, 6 / 7, 3 / 4)),
    ],
)
def test_french_and_german_answers(alice: Caller, output: str, gold: str, expected: tuple[float, ...]) -> None:
    names = ("exact-match", "exact-match-normalised", "exact-match-contains")
    metrics = tuple(f"metrics/compute-{name}" for name in ("squad-em", "squad-f1", "rouge"))
    found = scored(alice, *names, *metrics, evaluated_model_output=output, evaluated_model_gold_answer=gold)
    assert tuple(found.values()) == pytest.approx(expected)


def late(caller: Caller, stub: RunningStub, model: str, rows: list[dict[str, Any]]) -> Any:
    """A finished run of the caller's own code, to which a judge's metric has just been added."""
    make_judges(caller, stub, model)
    made = make_experiment(caller, make_dataset(caller, rows), [PUSH])
    Runner(caller, made).run()
    return made


JUDGED = {"name": "judged", "evaluator": "judge", "criteria": "judged judge"}


def add_judged(caller: Caller, made: Any) -> Any:
    return ok(caller.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [JUDGED]}))["metrics"][-1]


def test_a_judge_reads_other_languages_as_they_were_written(alice: Caller, stub: RunningStub) -> None:
    said = ("Die Größe der Straße ist unbekannt.", "L\u2019élève est allé à l'école où il a reçu son diplôme.")
    rows = [{"id": f"e{i}", "input": "Was? Où?", "expected": text} for i, text in enumerate(said)]
    model = f"stub-judge-pass:unless-{uuid.uuid4().hex}"
    made = late(alice, stub, model, rows)
    add_judged(alice, made)
    with scheduling():
        wait_until(lambda: by_name(live(alice, made["id"]))["mine"]["metrics"]["judged"]["n"] == 2)
    asked = [each["prompt"] for each in stub.calls()["prompts"] if each["model"] == model]
    assert [sum(text in prompt for prompt in asked) for text in said] == [1, 1]


def test_a_run_stays_readable_while_a_slow_judge_scores_it_and_nothing_counts_twice(
    alice: Caller, stub: RunningStub
) -> None:
    model = f"stub-judge-pass:unless-{uuid.uuid4().hex}@300"
    made = late(alice, stub, model, [{"id": f"e{i}", "input": f"q{i}", "expected": f"a{i}"} for i in range(12)])
    before = by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]
    seen: list[int] = []
    with scheduling():
        add_judged(alice, made)
        while not seen or seen[-1] < 12:
            add_judged(alice, made)
            view = live(alice, made["id"])
            metrics = by_name(view)["mine"]["metrics"]
            assert (view["experiment"]["state"], metrics["accuracy"]) == ("done", before)
            judged = metrics["judged"]
            assert (judged["n"] + judged["n_pending"], judged["n_error"], judged["n_na"]) == (12, 0, 0)
            seen.append(judged["n"])
    assert seen == sorted(seen)
    assert by_name(live(alice, made["id"]))["mine"]["metrics"]["judged"]["value"] == 1.0
    assert stub.calls()["by_model"][model] == len(scores_of(alice, "judge")) == 12
    assert len(scores_of(alice, "exact-match")) == 12
    assert recounted(alice, made["id"]) == []


def test_three_rows_promise_little(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [PUSH])
    Runner(alice, made).run(lambda e: e["expected"] if e["pos"] else "wrong")
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]
    assert (found["n"], found["value"]) == (3, pytest.approx(2 / 3))
    assert found["lower"] < 0.25
    assert found["upper"] > 0.9
    assert "n<30" in found["warnings"]
    assert (found["this_set"]["lower"], found["this_set"]["exact"]) == (pytest.approx(2 / 3), True)


def test_sixteen_equal_candidates_have_no_winner(alice: Caller) -> None:
    configs = [{"name": f"c{i}", "kind": "push"} for i in range(16)]
    made = make_experiment(alice, make_dataset(alice, n=20), configs)
    for i in range(16):
        # Each is wrong about two other examples, so all are worth the same.
        Runner(alice, made, i).run(lambda e, own=i: "wrong" if (e["pos"] - own) % 10 == 0 else e["expected"])
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["leader_settled"]) == ("done", False)
    assert {config["metrics"]["accuracy"]["value"] for config in view["configs"]} == {0.9}
    assert (view["leader"], view["tied"]) == (None, [config["id"] for config in view["configs"]])
    assert view["configs"][0]["versus_leader"] is None
    others = [config["versus_leader"] for config in view["configs"][1:]]
    assert [(versus["n"], versus["delta"], versus["word"]) for versus in others] == [(20, 0.0, "inconclusive")] * 15
    assert all(versus["lower"] < 0 < versus["upper"] for versus in others)
    assert recounted(alice, made["id"]) == []
