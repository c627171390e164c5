"""What is built on experiments, in the client: gates, reviews, aggregates, reports and bundles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, EvaluationResult, ForbiddenError, InvalidError, NotFoundError
from tests.client.capitals import knows, run
from tests.client.reading import Reader
from tests.conftest import Caller

CITIES = ["Rome", "Paris", "Madrid", "Tokyo"]
QUESTIONS = [{"query": land} for land in ("Italy", "France", "Spain", "Japan")] * 15


@pytest.fixture
def candidate(client: Client) -> EvaluationResult:
    return run(client, knows, QUESTIONS, CITIES * 15, name="candidate")


@pytest.fixture
def reader(web: str, bob: Caller) -> Iterator[Client]:
    """Bob's client."""
    with Client(web, bob.key) as one:
        yield one


def always(query: str) -> str:
    return "Rome"


def test_a_gate_decides_and_is_kept(client: Client, candidate: EvaluationResult, stranger: Client) -> None:
    baseline = run(client, always, QUESTIONS, CITIES * 15, name="baseline")
    rules: list[dict[str, Any]] = [
        {"metric": "exact-match", "not_worse_by": 0.02},
        {"metric": "exact-match", "at_least": 0.5},
    ]
    gate = client.gates.create(rules, candidate=candidate, baseline=baseline, name="<b>release</b>")

    assert (gate.outcome, gate.passed, [one.outcome for one in gate.rules]) == ("pass", True, ["pass", "pass"])
    assert (gate.rules[0].n_improved, gate.rules[0].n_regressed) == (30, 0)
    assert str(gate).startswith("PASS\npass: exact-match not_worse_by 0.02: 0.50 [")
    assert client.gates.get(gate) == gate
    assert [one.id for one in client.gates.list(outcome="pass")] == [gate.id]
    assert "release" in client.gates.report(gate)
    assert client.gates.report(gate, "junit").startswith("<?xml")
    page = Reader(gate._repr_html_())
    assert (page.tags.count("svg"), "<b>release</b>" in page.text) == (2, True)
    with pytest.raises(ValueError, match="pdf"):
        client.gates.report(gate, "pdf")
    with pytest.raises(NotFoundError):
        stranger.gates.get(gate)


def test_a_gate_lists_what_got_worse(client: Client, candidate: EvaluationResult, reader: Client) -> None:
    worse = run(client, always, QUESTIONS, CITIES * 15, name="worse")
    gate = client.gates.create([{"metric": "exact-match", "not_worse_by": 0.02}], candidate=worse, baseline=candidate)

    assert (gate.outcome, len(gate.regressions)) == ("fail", 20)
    assert "Worse than the baseline" in gate._repr_html_()
    assert len(gate.to_dataframe()) == 1
    assert reader.gates.get(gate).outcome == "fail"
    with pytest.raises(ForbiddenError):
        reader.gates.create([{"metric": "exact-match", "at_least": 0.5}], candidate=candidate)


def test_people_answer_a_review(client: Client, candidate: EvaluationResult, stranger: Client) -> None:
    criteria = client.annotations.create_criteria("is it right?", project="reviews")
    review = client.reviews.create(
        "Answers", {"outputs": {"experiment_id": candidate.experiment_id}}, [criteria], seed=7,
        sample={"method": "random", "n": 3},
    )  # fmt: skip
    assert (review.state, review.n_items, review.n_pending) == ("open", 3, 3)
    lease = client.reviews.lease(review, reviewer="ann")
    assert lease is not None and lease.outputs
    client.reviews.answer(review, lease, {criteria.id: True}, explanation="It is.")
    lease = client.reviews.lease(review, reviewer="ann")
    assert lease is not None
    client.reviews.skip(review, lease)

    found = client.reviews.get(review)
    assert (found.state, found.n_answered) == ("partial", 1)
    (item,) = client.reviews.items(review, "complete")
    assert item.answers[0]["reviewer"].endswith("/ann")
    assert "1 of 3 answered" in Reader(found._repr_html_()).text
    link = client.reviews.create_link(review, "guest", expires_in_seconds=600)
    assert link.url and link.url not in repr(link) and "url" not in link.cells()
    client.reviews.revoke_link(review, link)
    assert client.reviews.close(review).closed_at
    assert [one.name for one in client.reviews.list()] == ["Answers"]
    assert list(stranger.reviews.list()) == []
    with pytest.raises(NotFoundError):
        stranger.reviews.get(review)
    client.reviews.delete(review)


def test_slices_are_a_table_to_plot(client: Client) -> None:
    rows = [{"output": city, "expected": "Rome", "metadata": {"topic": f"<i>{len(city)}</i>"}} for city in CITIES * 10]
    scored = client.score_batch(rows, "exact-match")
    table = client.experiments.aggregates(str(scored.experiment_id), "metadata.topic")

    assert {one.values["metadata.topic"]: one.value for one in table} == {
        "<i>4</i>": 1.0,
        "<i>5</i>": 0.0,
        "<i>6</i>": 0.0,
    }
    assert table.n_comparisons == len(table) == 3
    page = Reader(table._repr_html_())
    assert (page.tags.count("svg"), "i" in page.tags) == (3, False)
    assert set(table.to_dataframe().columns) >= {"metadata.topic", "value", "lower", "upper", "n"}
    (whole,) = client.experiments.aggregate([str(scored.experiment_id)])
    assert (whole.value, whole.n) == (0.25, 40)


def test_an_experiment_is_one_page_and_one_file(client: Client, candidate: EvaluationResult, tmp_path: Path) -> None:
    id = str(candidate.experiment_id)

    assert "candidate" in client.experiments.report(id)
    assert client.experiments.report(id, "html").startswith("<!doctype html>")
    assert json.loads(client.experiments.report(id, "json", n_examples=1))["summary"]["n_configs"] == 1
    path = client.experiments.bundle(id, tmp_path / "candidate.zip")
    copy = client.experiments.import_bundle(path, name="a copy")
    assert (copy.name, copy.state) == ("a copy", "done")
    assert client.experiments.metrics(copy, "eval")["exact-match"] == candidate.metrics["exact-match"]
    assert client.experiments.recount(copy)["equal"]
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InvalidError):
        client.experiments.import_bundle(path)


def test_a_benchmark_is_asked_of_one_version_after_another(client: Client, stranger: Client) -> None:
    dataset = client.datasets.create(
        "capitals", [{"input": q, "expected": c} for q, c in zip(QUESTIONS, CITIES * 15, strict=True)]
    )
    plan = {"dataset_id": dataset.id, "metrics": [{"name": "em", "evaluator": "exact-match"}]}
    benchmark = client.benchmarks.create("capitals", plan, description="Asked every night")

    client.run_benchmark(benchmark, always, model="small", task_version="1", progress=False)
    result = client.run_benchmark(benchmark, knows, name="knows", model="large", task_version="2", progress=False)
    assert result.metrics["em"].value == 0.75
    new, old = client.benchmarks.executions(benchmark)
    assert (new.number, new.config, new.model, sorted(new.changed)) == (2, "knows", "large", ["model", "task_version"])
    assert (old.against_last, new.metrics["em"].value) == (None, 0.75)
    assert new.against_last is not None and new.against_last["comparison"]["delta"] == 0.5
    assert set(new.cells()) >= {"em.value", "em.lower", "em.upper", "em.n"}
    assert client.benchmarks.get(benchmark).n_executions == 2
    assert list(client.benchmarks.get(benchmark).drift) == []
    assert [one.name for one in client.benchmarks.list()] == ["capitals"]
    with pytest.raises(NotFoundError):
        stranger.benchmarks.get(benchmark)
    client.benchmarks.delete(benchmark)


def test_pairs_are_judged_and_ranked(client: Client, scheduler_running: None, stranger: Client) -> None:
    configs = {"knows": knows, "guesses": always}
    made = client.experiment(
        "ranked", configs, QUESTIONS[:20], CITIES * 5, evaluators="exact-match", policy="manual", progress=False
    )
    comparison = client.comparisons.create(made, {"metric": "exact-match"}, design="all", name="<b>who?</b>")
    assert [one.id for one in client.comparisons.list(experiment_id=made.id)] == [comparison.id]
    with pytest.raises(NotFoundError):
        stranger.comparisons.get(comparison)
    ranking = client.comparisons.get(comparison)
    assert {one.config for one in ranking.places} == {"knows", "guesses"}
    assert "b" not in Reader(ranking._repr_html_()).tags
    assert client.comparisons.stop(comparison).id == comparison.id
