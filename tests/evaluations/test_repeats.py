"""Samples that are scored repeatedly: counted, clustered by and warned of; and batches, in which order means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import HistoryScore
from evalsvc.evaluations.wire.inputs import hash_sample
from evaluators.samples import build_sample
from tests.conftest import Caller
from tests.evaluations.histories import FULL, asked, of_history
from tests.experiments.conftest import ok

AUTO = {"strategy": "auto"}
QUERY = "/v1/history?evaluator=exact-match&strategy="


def sample(i: int, *, right: bool, **fields: Any) -> dict[str, Any]:
    """A sample known by its number; its evaluation passes if `right`."""
    return {"task_input": f"question {i}", "output": "a" if right else "b", "gold_answer": "a"} | fields


def send(caller: Caller, samples: list[dict[str, Any]], **shared: Any) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", "samples": samples} | shared
    response = caller.post("/v1/evaluate/batch", body)
    assert {row["status"] for row in ok(response)["rows"]} == {200}


def test_twenty_samples_ten_times_are_twenty_samples(alice: Caller) -> None:
    for _ in range(10):
        send(alice, [sample(i, right=i >= 4) for i in range(20)])

    found = asked(alice, AUTO)
    assert (found["n"], found["n_distinct"], found["rows"]["n"], found["rows"]["n_distinct"]) == (200, 20, 200, 20)
    assert "repeated_samples" in found["warnings"]
    # Of twenty samples: with two hundred it would be [0.739, 0.850].
    assert 0.5 < found["lower"] < 0.62
    assert 0.9 < found["upper"] <= 1.0
    assert found["median"] == pytest.approx(0.8)
    plain = asked(alice, FULL)
    assert plain["method"] != found["method"]
    # What names a strategy keeps its definition, with the warning.
    assert (plain["lower"], plain["upper"]) == (pytest.approx(0.74, abs=0.01), pytest.approx(0.85, abs=0.01))
    assert "repeated_samples" in plain["warnings"]
    assert of_history(alice, path=QUERY + "auto") == found


def test_golden_questions_on_twenty_nights_are_clustered(alice: Caller) -> None:
    for night in range(20):
        send(alice, [sample(i, right=i >= 10 and (i + night) % 25 > 0) for i in range(50)])

    found, plain = asked(alice, AUTO), asked(alice, FULL)
    assert (found["n"], found["n_distinct"]) == (1000, 50)
    assert "repeated_samples" in found["warnings"]
    assert found["method"] != plain["method"]
    assert found["upper"] - found["lower"] > 3 * (plain["upper"] - plain["lower"])


def test_a_few_repeats_change_nothing(alice: Caller) -> None:
    send(alice, [sample(i, right=i % 3 > 0) for i in range(39)] + [sample(0, right=True)])

    found = asked(alice, FULL)
    assert (found["n"], found["n_distinct"]) == (40, 39)
    assert "repeated_samples" not in found["warnings"]


def test_scores_cluster_by_a_tag(alice: Caller) -> None:
    for session in range(12):
        turns = [sample(100 * session + i, right=session % 4 > 0 or i == 0) for i in range(5)]
        send(alice, turns, tags={"session": f"s{session}"})
    send(alice, [sample(-1, right=True)])

    found = asked(alice, {**AUTO, "cluster_by": "session"})
    assert (found["n"], found["n_distinct"], found["cluster_by"]) == (61, 61, "session")
    assert "repeated_samples" not in found["warnings"]
    plain = asked(alice, FULL)
    assert found["upper"] - found["lower"] > 1.5 * (plain["upper"] - plain["lower"])
    assert of_history(alice, path=f"{QUERY}auto&cluster_by=session") == found


@pytest.mark.parametrize("name", ["", 7, "a" * 256])
def test_what_names_no_tag_is_refused(alice: Caller, name: Any) -> None:
    response = alice.evaluate("exact-match", output="a", label="a", confidence_interval_strategy={"cluster_by": name})

    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "/confidence_interval_strategy/cluster_by"


def test_uploads_know_their_samples(alice: Caller) -> None:
    texts = [{"evaluated_model_input": f"q{i % 4}", "evaluated_model_output": f"o{i}"} for i in range(8)]
    rows = [{"evaluator_id": "tone", "score_raw": 0.5, **fields} for fields in texts]
    ok(alice.post("/v1/evaluation-results/batch", {"evaluation_results": rows}))
    golden = [
        {"evaluator_id": "style", "log_id": f"l{i}", "score": 0.5, "dataset_id": "d", "dataset_sample_id": i % 3}
        for i in range(9)
    ]
    ok(alice.post("/v1/evaluations/batch", {"evaluations": golden}))

    for name, n_distinct in (("tone", 4), ("style", 3)):
        assert of_history(alice, path=f"/v1/history?evaluator=external:{name}")["n_distinct"] == n_distinct


def test_rows_without_a_hash_are_samples_of_their_own(alice: Caller) -> None:
    for _ in range(3):
        send(alice, [sample(i, right=True) for i in range(2)])
    HistoryScore.objects.using("system").filter(account_id=alice.account.pk).update(sample_hash=None)

    assert of_history(alice, path=QUERY + FULL)["n_distinct"] == 6


def test_a_sample_is_its_input_gold_answers_and_contexts() -> None:
    def number(**fields: Any) -> int | None:
        return hash_sample(build_sample({**dict.fromkeys(("input", "output", "contexts", "gold", "golds"))} | fields))

    assert number(input="q", gold="g", output="x") == number(input="q", gold="g", output="y")
    assert len({number(input="q"), number(gold="q"), number(contexts=["q"]), number(input="q", gold="q")}) == 4
    # Without an input, answers to many questions have one gold answer: the output tells them apart.
    assert number(output="x", gold="yes") != number(output="y", gold="yes")
    assert number() is None
