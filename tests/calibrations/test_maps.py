"""Scores that are probabilities: a map that labels have made, as a profile's setting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evalsvc.stats.calibration.probabilities import add_step_at, probability_map
from evalsvc.stats.calibration.selection import LabelledScores
from evaluators.base import JSONValue
from evaluators.registry import families
from evaluators.score_map import NOTHING_PASSES, ScoreMap, score_map_problems
from tests.calibrations.rows import labelled
from tests.caller import Caller

TEXTS = ["night and days", "night and day", "night or days", "nights", "day and night", "x"]


def calibrate(caller: Caller, **body: Any) -> Any:
    return caller.post(
        "/v1/calibrations", {"evaluator": "metrics", "criteria": "compute-levenshtein", "rows": labelled(), **body}
    )


def verdict_of(caller: Caller, profile: str, output: str) -> dict[str, Any]:
    answer = caller.evaluate(f"metrics/{profile}", output=output, label="night and days", capture="all").json()
    found: dict[str, Any] = answer["results"][0]["evaluation_result"]
    return found


def test_a_map_passes_what_the_threshold_passes_and_says_probabilities(alice: Caller, charlie: Caller) -> None:
    by_threshold = calibrate(alice, apply={"name": "by-threshold"}).json()
    by_map = calibrate(alice, apply={"name": "by-map", "as_probabilities": True}).json()

    assert by_map["chosen"] == by_threshold["chosen"]
    assert by_map["applied"]["pass_threshold"] != by_threshold["applied"]["pass_threshold"]
    steps = by_map["probabilities"]["steps"]
    for text in TEXTS:
        own, mapped = verdict_of(alice, "by-threshold", text), verdict_of(alice, "by-map", text)
        assert mapped["pass"] is own["pass"]
        assert mapped["pass"] is (mapped["score_raw"] >= by_map["applied"]["pass_threshold"])
        assert mapped["additional_info"]["extra"]["unmapped_score"] == own["score_raw"]
        said = [steps[0]["probability"], *(step["probability"] for step in steps if step["score"] <= own["score_raw"])]
        assert mapped["score_raw"] == pytest.approx(said[-1], abs=2e-6)
    assert calibrate(charlie, criteria="by-map").status_code == 422


def test_stored_probabilities_are_calibrated_again(alice: Caller) -> None:
    calibrate(alice, apply={"name": "twice", "as_probabilities": True})
    scores = {text: verdict_of(alice, "twice", text)["score_raw"] for text in TEXTS}
    rows = [{"label": scores[text] > 0.5, "score": scores[text]} for text in TEXTS for _ in range(10)]

    again = calibrate(alice, criteria="twice", rows=rows, apply={"as_probabilities": True})

    assert again.status_code == 200, again.content
    assert again.json()["applied"]["revision"] == 2
    for text in TEXTS:
        mapped = verdict_of(alice, "twice", text)
        assert mapped["pass"] is (scores[text] > 0.5)
        assert (mapped["score_raw"] > 0.5) is (scores[text] > 0.5)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"evaluator": "exact-match", "criteria": None}, "/apply"),
        ({"evaluator": "retrieval-context-sufficiency", "criteria": None}, "/apply"),
        ({"evaluator": "rag-metrics", "criteria": None}, "/apply/as_probabilities"),
        ({"rows": [{**row, "score": row["score"] * 10} for row in labelled()]}, "/rows"),
    ],
)
def test_what_cannot_be_mapped_is_named(alice: Caller, body: dict[str, Any], pointer: str) -> None:
    answer = calibrate(alice, apply={"name": "never", "as_probabilities": True}, **body)

    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert alice.get("/v1/evaluator-criteria?name=never").json()["evaluator_criteria"] == []


@pytest.mark.parametrize("seed", range(20))
def test_a_step_at_the_threshold_decides_every_score_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random(80).round(2)
    steps = probability_map(LabelledScores(scores, rng.random(80) < scores))
    for threshold in (0.0, *rng.choice(scores, 5), 0.333, 1.0):
        made = add_step_at(float(threshold), steps)
        score_map = ScoreMap(tuple(step.score for step in made), tuple(step.probability for step in made))
        line = next(step.probability for step in made if step.score == threshold)
        assert score_map.lowest_score_of(line) == threshold
        everywhere = np.linspace(0, 1, 201)
        passing = [score_map.probability_of(float(score)) >= line for score in everywhere]
        assert passing == list(everywhere >= threshold)
        described: list[JSONValue] = [{"score": step.score, "probability": step.probability} for step in made]
        assert list(score_map_problems({"score_map": described})) == []


def test_steps_that_do_not_rise_are_refused(alice: Caller) -> None:
    steps = [{"score": 0.5, "probability": 0.4}, {"score": 0.5, "probability": 0.3}]
    body = {"evaluator_family": "toxicity", "name": "falling", "config": {"score_map": steps}}

    answer = alice.post("/v1/evaluator-criteria", body)

    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/config/score_map/1/score", "/config/score_map/1/probability",
    }  # fmt: skip


def test_nothing_passes_a_line_that_no_step_reaches() -> None:
    assert ScoreMap((0.0, 0.5), (0.2, 0.7)).lowest_score_of(0.8) == NOTHING_PASSES > 1


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_only_graded_scores_with_one_threshold_are_mapped(family: Any) -> None:
    settings = family.settings_schema.get("properties", {})
    if "score_map" in settings:
        assert [name for name in settings if name.startswith("pass_threshold")] == ["pass_threshold"]
        assert family.accepts_own_profiles
        assert not family.binary
