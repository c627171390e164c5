"""Samples that workers ask for: each a query, shared and taken over where it may be, kept while they are put off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.runner.generate import ConfigClient, GeneratedOutput, RetryLater
from evalsvc.experiments.runner.units.unit import build_twin_row
from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    chat,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.piping import READER_EM, Rag, examples
from tests.experiments.pushing import results
from tests.reports.bundles import exported, imported, without_ids


@pytest.fixture
def rag() -> Iterator[Rag]:
    made = Rag()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], GeneratedOutput]], Counter[str]]:
    """Let a function of the number of the query answer in the place of the stub."""

    def answer_by(answer: Callable[[int], GeneratedOutput]) -> Counter[str]:
        counts: Counter[str] = Counter()

        def produce(asking: ConfigClient, example: Any) -> GeneratedOutput:
            counts[example["id"]] += 1
            return answer(sum(counts.values()))

        monkeypatch.setattr("evalsvc.experiments.runner.units.pipelines.produce", produce)
        return counts

    return answer_by


def asking(caller: Caller, stub: RunningStub, n: int = 6, configs: int = 1, **plan: Any) -> Any:
    connection = make_connection(caller, stub.base_url)
    made = [chat(connection, "stub-echo", f"c{i}") for i in range(configs)]
    return make_experiment(caller, make_dataset(caller, n=n), made, **plan)


def test_workers_ask_each_example_so_often(alice: Caller, stub: RunningStub) -> None:
    stub.reset()
    made = asking(alice, stub, n_samples=3)
    finish(alice, made["id"])
    assert stub.calls()["by_model"]["stub-echo"] == live(alice, made["id"])["experiment"]["n_queries"] == 18
    assert {len(row["samples"]) for row in results(alice, made)} == {3}
    assert recounted(alice, made["id"]) == []


def test_samples_that_are_put_off_are_not_asked_again(alice: Caller, stub: RunningStub, asked: Any) -> None:
    def answer(number: int) -> GeneratedOutput:
        if number % 3 == 0:
            raise RetryLater(0.01, was_refused=True)
        return GeneratedOutput(output={"output": str(number)}, cost=1.0)

    counts = asked(answer)
    made = asking(alice, stub, n=3, n_samples=5, micro_batch=3)
    finish(alice, made["id"])
    n_refused = sum(counts.values()) // 3
    assert sum(counts.values()) - n_refused == 15
    (config,) = live(alice, made["id"])["configs"]
    assert (config["n_ok"], config["cost"]) == (3, 15.0)
    assert recounted(alice, made["id"]) == []


def test_a_budget_counts_each_sample(alice: Caller, stub: RunningStub) -> None:
    made = asking(alice, stub, n_samples=4, budget={"queries": 10})
    run_units()
    view = live(alice, made["id"])
    assert (view["experiment"]["n_queries"], view["experiment"]["state"]) == (8, "idle")
    assert view["configs"][0]["stop_reason"] == "budget"


def test_an_identical_config_takes_over_all_samples(alice: Caller, stub: RunningStub, asked: Any) -> None:
    counts = asked(lambda number: GeneratedOutput(output={"output": str(number)}))
    made = asking(alice, stub, n_samples=2)
    finish(alice, made["id"])
    clone = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    ok(alice.post(clone, {"name": "again"}))
    finish(alice, made["id"])
    assert set(counts.values()) == {2}
    first, again = (
        {row["pos"]: row for row in results(alice, made, f"config_id={one['id']}")}
        for one in live(alice, made["id"])["configs"]
    )
    assert {pos: row["samples"] for pos, row in first.items()} == {pos: row["samples"] for pos, row in again.items()}
    assert recounted(alice, made["id"]) == []


def test_a_failed_sample_is_not_taken_over(alice: Caller, stub: RunningStub, asked: Any) -> None:
    failure = GeneratedOutput("error", error_type="bug", error_message="no")
    counts = asked(lambda number: failure if number == 1 else GeneratedOutput(output={"output": "x"}))
    made = asking(alice, stub, n=3, n_samples=2)
    finish(alice, made["id"])
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone", {"name": "again"}))
    finish(alice, made["id"])
    assert sorted(counts.values()) == [2, 2, 4]
    assert by_name(live(alice, made["id"]))["again"]["n_reused"] == 2


def test_stages_are_shared_by_configs_and_not_by_samples(alice: Caller, charlie: Caller, rag: Rag) -> None:
    readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(2)]
    configs = [rag.pipeline(f"reader {i}", nodes={"reader": reader}) for i, reader in enumerate(readers)]
    made = make_experiment(alice, make_dataset(alice, examples(4)), configs, metrics=[READER_EM], n_samples=3)
    finish(alice, made["id"])
    assert rag.asked == {"retriever": 12, "reader": 24}
    head = live(alice, made["id"])["experiment"]
    assert (head["n_queries"], head["n_saved"]) == (36, 12)
    assert {len(row["stages"]["samples"]) for row in results(alice, made)} == {3}
    assert recounted(alice, made["id"]) == []

    copy = imported(charlie, exported(alice, made["id"]))["experiment"]
    assert recounted(charlie, copy["id"]) == []
    assert without_ids(live(charlie, copy["id"])) == without_ids(live(alice, made["id"]))


def test_a_preview_counts_each_sample(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    plan = {"dataset_id": make_dataset(alice, n=6), "metrics": [{"name": "a", "evaluator": "exact-match"}]}
    configs = [chat(connection, "stub-echo", max_tokens=10)]
    once, often = (
        ok(alice.post("/v1/experiments/preview", {"name": "e", "plan": {**plan, "n_samples": n}, "configs": configs}))
        for n in (1, 5)
    )
    assert (once["n_queries"], often["n_queries"]) == (6, 30)
    assert often["n_tokens"] == 5 * once["n_tokens"]


def test_samples_that_are_taken_over_are_held_to_what_is_declared() -> None:
    """As http configs are, which may declare what they answer."""
    schema = {"type": "object", "properties": {"output": {"enum": ["even"]}}}
    samples = [{"status": "ok", "output": {"output": text}} for text in ("odd", "even")]

    row = build_twin_row(schema, 4, {"reused_from": 1, "output": {"output": "odd"}, "samples": samples})

    assert [sample["status"] for sample in row["samples"]] == ["error", "ok"]
    assert (row["pos"], row["status"], row["output"], row["reused_from"]) == (4, "ok", {"output": "even"}, 1)
