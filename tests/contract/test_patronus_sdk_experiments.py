"""The experiments of the package `patronus`, and `patronus.init()`, each in a process of its own as users have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Caller, scores_of

PROGRAMS = CHECKOUT / "tests" / "contract" / "programs"


def settings_of(web: str, caller: Caller) -> dict[str, str]:
    """Return what a user sets to come here, by the names in `patronus.yaml`."""
    return {
        "api_url": web,
        "otel_endpoint": web,
        "otel_exporter_otlp_protocol": "http/protobuf",
        "api_key": caller.key,
    }


def run(program: str, folder: Path, *arguments: str, environment: dict[str, str]) -> str:
    """Run one of the programs; return what it printed."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    ours = {f"PATRONUS_{name.upper()}": value for name, value in environment.items()}
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / program), *arguments],
        env=keep | ours | {"NO_PROXY": "127.0.0.1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def evaluations(caller: Caller, **where: Any) -> list[dict[str, Any]]:
    filters = [{"field": name, "operation": "eq", "value": value} for name, value in where.items()]
    return list(caller.post("/v1/evaluations/search", {"filters": filters}).json()["evaluations"])


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
