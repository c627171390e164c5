"""POST /v1/calibrations, end to end: labels to threshold, to revision, to verdicts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from evalsvc.calibrations.selectors import MOST_ROWS
from tests.calibrations.rows import labelled
from tests.caller import Caller


def calibrate(caller: Caller, **body: Any) -> Any:
    return caller.post("/v1/calibrations", {"evaluator": "toxicity", **body})


def test_labels_choose_a_threshold_and_say_how_sure_it_is(alice: Caller) -> None:
    answer = calibrate(alice, rows=labelled())

    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert (found["n"], found["n_good"] + found["n_bad"]) == (300, 300)
    chosen = found["chosen"]["figures"]["balanced_accuracy"]
    assert chosen["lower"] < chosen["value"] < chosen["upper"]
    assert found["in_use"]["threshold"] == 0.5
    assert found["change"]["lower"] < found["change"]["value"] < found["change"]["upper"]
    assert f"{found['chosen']['threshold']:g}" in found["advice"]
    assert 0.8 < found["area_under_curve"]["value"] < 1
    probabilities = [step["probability"] for step in found["probabilities"]["steps"]]
    assert probabilities == sorted(probabilities)
    assert 0 < probabilities[0] < probabilities[-1] < 1
    reliability = found["probabilities"]["reliability"]
    assert sum(group["good"]["n"] for group in reliability["groups"]) == 300
    assert reliability["ece"] < found["scores_as_probabilities"]["ece"]
    assert 3 <= len(found["thresholds"]) <= 22
    assert found["applied"] is None
    # The same rows, asked again, answer the same.
    assert calibrate(alice, rows=labelled()).json() == found


def test_no_label_is_learned_from_and_reported_on() -> None:
    """With labels that chance gave, the best threshold of all rows looks better than chance; the answer does not."""
    from evalsvc.stats.calibration.figures import build_decisions, compute_rates
    from evalsvc.stats.calibration.selection import Aim
    from evalsvc.stats.calibration.thresholds import choose_threshold

    rng = np.random.default_rng(5)
    seen, said, fooled = [], [], 0
    for seed in range(20):
        scores, is_good = rng.random(60), rng.random(60) < 0.5
        found = choose_threshold(scores, is_good, aim=Aim(), seed=seed)
        seen.append(float(compute_rates(build_decisions(is_good, scores >= found.threshold))["balanced_accuracy"]))
        said.append(found.figures["balanced_accuracy"].value or 0.0)
        fooled += (found.figures["balanced_accuracy"].lower or 0.0) > 0.5

    assert np.mean(seen) > 0.57
    assert np.mean(said) < 0.53
    assert fooled <= 2


def test_three_hundred_labels_become_a_revision_that_decides(alice: Caller, charlie: Caller) -> None:
    rows = labelled(apart=3.0)
    answer = calibrate(alice, evaluator="metrics", criteria="compute-levenshtein", rows=rows, apply={"name": "ours"})

    threshold = answer.json()["chosen"]["threshold"]
    assert answer.json()["applied"] == {"profile_name": "ours", "revision": 1, "pass_threshold": threshold}
    assert answer.json()["in_use"] is None
    for output, passes in (("night and day", True), ("x", False)):
        verdict = alice.evaluate("metrics/ours", output=output, label="night and days").json()["results"][0]
        assert verdict["evaluation_result"]["pass"] is passes
    again = calibrate(alice, evaluator="metrics", criteria="ours", rows=labelled(seed=2), apply={})
    assert again.json()["in_use"]["threshold"] == threshold
    assert (again.json()["applied"]["profile_name"], again.json()["applied"]["revision"]) == ("ours", 2)
    criteria = alice.get("/v1/evaluator-criteria?evaluator_family=metrics&name=ours").json()
    assert again.json()["chosen"]["threshold"] in [
        row["config"]["pass_threshold"] for row in criteria["evaluator_criteria"]
    ]
    assert calibrate(charlie, evaluator="metrics", criteria="ours", rows=rows).status_code == 422


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (labelled(10), "at least 30 are needed"),
        ([row | {"label": True} for row in labelled(100)], "10 of each label"),
        ([row | {"score": 0.5} for row in labelled(100)], "All scores are the same"),
    ],
)
def test_too_little_is_refused_with_the_reason(alice: Caller, rows: list[dict[str, Any]], says: str) -> None:
    answer = calibrate(alice, rows=rows, apply={"name": "never"})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/rows"
    assert says in answer.json()["errors"][0]["detail"]
    assert alice.get("/v1/evaluator-criteria?name=never").json()["evaluator_criteria"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/rows"),
        ({"rows": labelled(), "labels": {"feedback": True}}, "/rows"),
        ({"labels": {}}, "/labels"),
        ({"rows": [{"label": True}]}, "/rows/0"),
        ({"rows": [{"label": True, "score": 0.5, "evaluation_id": "7"}]}, "/rows/0"),
        ({"rows": [{"label": True, "evaluation_id": "7"}]}, "/rows/0/evaluation_id"),
        ({"rows": [{"label": True, "evaluation_id": "9" * 19}]}, "/rows/0/evaluation_id"),
        ({"rows": [{"label": True, "evaluation_id": "7"}, {"label": False, "evaluation_id": "07"}]}, "/rows/1"),
        ({"rows": [{"label": True, "score": 1e300}]}, "/rows/0/score"),
        ({"rows": [{"label": "yes", "score": 0.5}]}, "/rows/0/label"),
        ({"rows": [{"label": True, "score": 0.5}] * (MOST_ROWS + 1)}, "/rows"),
        ({"rows": labelled(), "aim": {"figure": "precision"}}, "/aim/at_least"),
        ({"rows": labelled(), "aim": {"figure": "false_positive_rate", "at_least": 0.5}}, "/aim/at_least"),
        ({"rows": labelled(), "aim": {"figure": "accuracy", "at_least": 0.5}}, "/aim/at_least"),
        ({"rows": labelled(), "evaluator": "nobody"}, "/evaluator"),
        ({"rows": labelled(), "criteria": "nothing"}, "/criteria"),
        ({"rows": labelled(), "apply": {}}, "/apply/name"),
        ({"rows": labelled(), "evaluator": "exact-match", "apply": {"name": "x"}}, "/apply"),
        ({"rows": labelled(), "wanted": 1}, ""),
    ],
)
def test_what_does_not_fit_is_named(alice: Caller, body: dict[str, Any], pointer: str) -> None:
    answer = calibrate(alice, **body)

    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


@pytest.mark.parametrize(
    ("aim", "apart", "is_met"),
    [
        ({"figure": "false_positive_rate", "at_most": 0.3}, 2.0, True),
        ({"figure": "precision", "at_least": 0.99}, 0.2, False),
        ({"figure": "precision", "at_least": 0.95}, 2.0, None),
    ],
)
def test_an_aim_is_met_out_of_reach_or_not_settled(
    alice: Caller, aim: dict[str, Any], apart: float, is_met: bool | None
) -> None:
    found = calibrate(alice, rows=labelled(400, apart=apart), aim=aim).json()

    assert found["aim"]["is_met"] is is_met, found["advice"]
    assert found["advice"].startswith({True: "Met", False: "Out of reach", None: "Not settled"}[is_met])


def test_stored_scores_are_found_by_id_and_only_the_accounts_own(alice: Caller, charlie: Caller) -> None:
    def row(caller: Caller, output: str, *, label: bool) -> dict[str, Any]:
        result = caller.evaluate("exact-match", output=output, label="right", capture="all").json()["results"][0]
        return {"label": label, "evaluation_id": result["evaluation_result"]["id"]}

    rows = [row(alice, "right" if i % 4 else "wrong", label=bool(i % 3)) for i in range(30)]
    with CaptureQueriesContext(connections["default"]) as queries:
        answer = calibrate(alice, evaluator="exact-match", rows=rows)
    assert answer.status_code == 200, answer.content
    assert answer.json()["n"] == 30
    assert sum("evaluations_evaluation" in query["sql"] for query in queries) == 1

    foreign = calibrate(charlie, evaluator="exact-match", rows=rows)
    assert foreign.status_code == 422
    assert foreign.json()["errors"][0] == {
        "pointer": "/rows/0/evaluation_id", "detail": "No captured evaluation with a score has this id.",
    }  # fmt: skip
    other = calibrate(alice, evaluator="pii", rows=rows)
    assert "is to be calibrated" in other.json()["errors"][0]["detail"]


def test_feedback_says_what_the_verdict_should_have_been(alice: Caller, charlie: Caller) -> None:
    for i in range(40):
        output = "right" if i % 2 else "wrong"
        result = alice.evaluate("exact-match", output=output, label="right", capture="all").json()["results"][0]
        id = result["evaluation_result"]["id"]
        feedback = "negative" if i % 10 == 0 else "positive"
        assert alice.post(f"/v1/evaluation-results/{id}/evaluation-feedback", {"feedback": feedback}).status_code == 204

    found = calibrate(alice, evaluator="exact-match", labels={"feedback": True}).json()
    # Of the failed half, one in five should have passed.
    assert (found["n"], found["n_good"]) == (40, 24)
    empty = calibrate(charlie, evaluator="exact-match", labels={"feedback": True})
    assert "0 labelled rows" in empty.json()["errors"][0]["detail"]


def test_labels_by_people_are_joined_by_log(alice: Caller) -> None:
    project = alice.post("/v1/projects", {"name": "calibration"}).json()["id"]
    body = {"project_id": project, "name": "right", "annotation_type": "binary"}
    criteria = alice.post("/v1/annotation-criteria", body).json()["annotation_criteria"]["id"]
    for i in range(40):
        log_id = f"log-{i}"
        alice.evaluate("exact-match", output="right" if i % 2 else "wrong", label="right", capture="all", log_id=log_id)
        given = {"annotation_criteria_id": criteria, "log_id": log_id, "value_pass": i % 4 != 0}
        assert alice.post("/v1/annotate", given).status_code == 200

    found = calibrate(alice, evaluator="exact-match", labels={"annotation_criteria_id": criteria}).json()

    assert (found["n"], found["n_good"]) == (40, 30)


def test_a_key_that_only_reads_calibrates_nothing(bob: Caller) -> None:
    assert calibrate(bob, rows=labelled()).status_code == 403


def test_an_answer_is_json_without_nan(alice: Caller) -> None:
    rows = [{"label": i % 2 == 0, "score": float(i % 2 == 0)} for i in range(40)]

    answer = calibrate(alice, rows=rows)

    json.loads(answer.content, parse_constant=lambda name: pytest.fail(name))
    assert answer.json()["chosen"]["figures"]["balanced_accuracy"]["lower"] < 1
