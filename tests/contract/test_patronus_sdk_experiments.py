"""The experiments of the package `patronus`, and `patronus.init()`, each in a process of its own as users have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Caller, scores_of
from tests.contract.patronus_programs import evaluations, run, settings_of


def upload(caller: Caller) -> str:
    examples = [
        {"task_input": f"The capital of {country}?", "gold_answer": city}
        for country, city in (("France", "Paris"), ("Italy", "Rome"), ("Norway", "Oslo"))
    ]
    answer = caller.post("/v1/datasets", {"dataset_name": "capitals", "examples": examples})
    assert answer.status_code == 200, answer.content
    return str(answer.json()["dataset_id"])


def test_an_experiment_runs_to_its_report(web: str, alice: Caller, tmp_path: Path) -> None:
    """A task, remote and local evaluators, tags and weights, over a dataset of this service."""
    dataset_id = upload(alice)
    printed = run("experiment.py", tmp_path, "capitals", environment=settings_of(web, alice))

    assert "patronus:exact-match" in printed
    assert "Pass rate : 0.667" in printed
    assert "no_question_mark" in printed
    [experiment] = alice.get("/v1/experiments").json()["experiments"]
    assert experiment["name"].startswith("capitals-")
    assert experiment["tags"] == {"model": "atlas"}
    assert set(experiment["metadata"]["evaluator_weights"].values()) == {0.75}
    rows = evaluations(alice, experiment_id=experiment["id"])
    assert len(rows) == 9
    assert {row["evaluation_type"] for row in rows} == {"patronus_evaluation", "client_evaluation"}
    assert {(row["dataset_id"], row["tags"]["model"], row["app"]) for row in rows} == {(dataset_id, "atlas", None)}
    assert {row["dataset_sample_id"] for row in rows} == {"1", "2", "3"}
    assert sorted(score for _, score, _ in scores_of(alice, "exact-match")) == [0.0, 1.0, 1.0]


def test_an_experiment_takes_a_list(web: str, alice: Caller, tmp_path: Path) -> None:
    printed = run("experiment.py", tmp_path, environment=settings_of(web, alice))

    assert "Count     : 2" in printed
    assert len(scores_of(alice, "exact-match")) == 2


@pytest.mark.parametrize("source", ["arguments", "environment", "file"])
def test_init_starts_from(web: str, alice: Caller, tmp_path: Path, source: str) -> None:
    """Spans and logs are accepted, and lead to what was judged."""
    settings = settings_of(web, alice)
    if source == "file":
        (tmp_path / "patronus.yaml").write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    given = [f"{name}={value}" for name, value in settings.items()] if source == "arguments" else []
    environment = {"environment": settings, "file": {"api_key": "outranked"}}.get(source, {})
    run("init.py", tmp_path, *given, environment=environment)

    rows = {row["evaluator_id"].rpartition("-20")[0] or row["evaluator_id"]: row for row in evaluations(alice)}
    assert set(rows) == {"exact-match", "external:is_short"}
    for row in rows.values():
        assert row["app"] == "shop"
        assert alice.get(f"/v1/logs/{row['log_id']}").status_code == 200
        assert alice.get(f"/v1/traces/{row['trace_id']}").status_code == 200
