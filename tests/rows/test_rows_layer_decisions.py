"""Rows of the Intelligence Layer: relative evaluation, aggregations, people, benchmarks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.comparisons.shapes import work_off_all
from tests.rows.pipelines import CAPITALS
from tests.rows.service import Answer, Service
from tests.rows.table import row

THREE: dict[str, Answer] = {
    "right": lambda example: example["expected"],
    "once": lambda example: "Rome",
    "never": lambda example: "nowhere",
}
LANDS = [{"id": land, "input": land, "expected": city} for land, city in CAPITALS.items()]


def compared(api: Service, id: str, **body: Any) -> Any:
    """Compare configs by exact match, and wait for the end."""
    wanted = {"experiment_id": id, "judge": {"metric": "em"}} | body
    made = api.post("/v1/comparisons", wanted)["comparison"]["id"]
    work_off_all()
    return api.get(f"/v1/comparisons/{made}?elo=true")


@row("I-06", "several runs compared example by example, ranked", "POST /v1/comparisons | n x C(3, 2) judged; ranking")
def test_three_configs_are_ranked(api: Service) -> None:
    id = api.pushed(LANDS, THREE)

    found = compared(api, id)

    assert (found["comparison"]["n"], found["comparison"]["n_judged"]) == (12, 12)
    assert [place["config"] for place in found["ranking"]["places"]] == ["right", "once", "never"]


@row("I-10", "one aggregation over several evaluations", "POST /v1/aggregates {experiment_ids: [A, B]}")
def test_two_experiments_are_aggregated_together(api: Service) -> None:
    one, two = (api.pushed(LANDS, {"mine": lambda example: "Rome"}) for _ in range(2))

    found = api.post("/v1/aggregates", {"experiment_ids": [one, two], "metric": "em"})

    assert [(row["n"], row["value"]) for row in found["rows"]] == [(4, 0.25), (4, 0.25)]
    assert found["pairing"] == "side by side, not paired"


@row(
    "I-11",
    "a new run added: only its pairs are judged",
    "POST /v1/comparisons {previous_id} | n_reused; judge's counter",
)
def test_only_new_pairs_are_judged(api: Service) -> None:
    id = api.pushed(LANDS, THREE)
    first = compared(api, id, configs=["right", "never"])

    found = compared(api, id, previous_id=first["comparison"]["id"])

    assert (found["comparison"]["n_reused"], found["comparison"]["n_judged"]) == (5, 7)


@row("I-15", "an aggregation with what it rests on", "POST /v1/aggregates | .rows[].config_ids, n, interval",
     differs="An aggregation is computed when it is asked for, from what is kept; only decisions (gates, reports, benchmarks) are stored.")  # fmt: skip
def test_an_aggregation_names_its_evaluations(api: Service) -> None:
    id = api.pushed(LANDS, {"mine": lambda example: "Rome"})

    (found,) = api.post("/v1/aggregates", {"experiment_ids": [id], "metric": "em"})["rows"]

    assert found["config_ids"] == [api.config(id)["id"]]
    assert found["lower"] < found["value"] < found["upper"]
    assert (found["n"], found["n_error"], found["n_na"], found["n_pending"]) == (4, 0, 0, 0)


@row("I-20", "Elo, win rates, matches", "GET /v1/comparisons/C | elo, win rates, n")
def test_elo_is_that_of_the_matches(api: Service) -> None:
    found = compared(api, api.pushed(LANDS, {name: THREE[name] for name in ("right", "never")}))

    right, never = found["elo"]["ratings"]
    assert right["config"] == "right"
    assert right["rating"] + never["rating"] == pytest.approx(3000)
    assert right["order_noise"] < 1e-6
    assert [place["n_wins"] for place in found["ranking"]["places"]] == [4, 0]
    assert found["ranking"]["places"][0]["win_rate"]["value"] == 1.0


@row("I-22", "people rate; half answered is partial", "POST /v1/reviews; one answer of two | partial",
     differs="What nobody has answered is pending, and never failed: silence is no verdict.")  # fmt: skip
def test_a_review_half_answered_is_partial(api: Service) -> None:
    id = api.pushed(LANDS, {"mine": lambda example: "Rome"})
    project = api.post("/v1/projects", {"name": "reviewed"})["id"]
    asked = {"project_id": project, "name": "is it right?", "annotation_type": "binary"}
    api.post("/v1/annotation-criteria", asked)
    items = {"outputs": {"experiment_id": id}}
    body = {
        "name": "rows",
        "criteria": ["is it right?"],
        "items": items,
        "sample": {"method": "random", "n": 2},
        "seed": 1,
    }
    review = api.post("/v1/reviews", body)["review"]["id"]

    lease = api.post(f"/v1/reviews/{review}/lease")["lease"]
    said = {"lease_token": lease["lease_token"], "answers": [{"criteria": "is it right?", "value_pass": True}]}
    api.post(f"/v1/reviews/{review}/items/{lease['item_id']}/answers", said)

    found = api.get(f"/v1/reviews/{review}")["review"]
    assert (found["state"], found["n_answered"], found["n_pending"]) == ("partial", 1, 1)


@row("I-25", "a benchmark notices drift", "POST /v1/benchmarks/B/executions after a prompt changed | 409")
def test_a_changed_prompt_is_noticed(api: Service) -> None:
    criteria = api.profile("metrics", metric="squad_f1")
    metric = {"name": "f1", "evaluator": "metrics", "criteria": criteria}
    plan = {"dataset_id": api.dataset(LANDS), "metrics": [metric]}
    id = api.post("/v1/benchmarks", {"name": "rows", "plan": plan})["benchmark"]["id"]
    config = {"config": {"name": "mine", "kind": "push"}}
    first = api.post(f"/v1/benchmarks/{id}/executions", config)["execution"]

    profile = next(one for one in profiles(api) if one["name"] == criteria)
    api.post(f"/v1/evaluator-criteria/{profile['public_id']}/revision", {"config": {"metric": "squad_em"}})

    assert (first["number"], first["drift"]) == (1, [])
    assert "drifted" in api.refused(f"/v1/benchmarks/{id}/executions", config, 409)
    assert api.post(f"/v1/benchmarks/{id}/executions", {**config, "allow_drift": True})["execution"]["drift"]


def profiles(api: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/v1/evaluator-criteria")["evaluator_criteria"]
    return found
