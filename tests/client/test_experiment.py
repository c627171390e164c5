"""Several runnables on the same examples: in turns, stopped by the service, steered by the caller."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from evalsvc.client import Client, ClientError, ExperimentResult, Live
from tests.conftest import wait_until

N = 120
INPUTS = [f"question {i}" for i in range(N)]


def always(share: float) -> Any:
    """A runnable that is right on that share of the questions."""

    def answer(text: str) -> str:
        i = int(text.split()[1])
        return text if (i * 37 % 100) < share * 100 else "wrong"

    return answer


def start(client: Client, configs: dict[str, Any], **options: Any) -> ExperimentResult:
    options = {"evaluators": ["exact-match"], "progress": False, "threads": 4, **options}
    return client.experiment("a race", configs, INPUTS, INPUTS, **options)


def test_all_configs_see_the_same_examples(client: Client) -> None:
    experiment = start(client, {"good": always(0.9), "bad": always(0.5)}, policy="manual")
    results = experiment.results()

    assert {name: len(result) for name, result in results.items()} == {"good": N, "bad": N}
    assert [row.input for row in results["good"]] == [row.input for row in results["bad"]] == INPUTS
    assert results["good"].metrics["exact-match"].value > results["bad"].metrics["exact-match"].value  # type: ignore[operator]
    assert [one.name for one in experiment.leaderboard()] == ["good", "bad"]
    live = experiment.live()
    assert live.config("bad").state == "completed"
    assert live.config("good").id == live.leader


def test_configs_take_turns(client: Client) -> None:
    order: list[str] = []
    lock = threading.Lock()

    def noted(name: str) -> Any:
        def answer(text: str) -> str:
            with lock:
                order.append(name)
            return text

        return answer

    start(client, {"a": noted("a"), "b": noted("b")}, policy="manual", threads=1)

    first = Counter(order[: N // 2])
    assert min(first["a"], first["b"]) >= N // 8


def test_the_service_stops_losers(client: Client) -> None:
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    def counted(name: str, share: float) -> Any:
        run = always(share)

        def answer(text: str) -> str:
            with lock:
                calls[name] += 1
            return run(text)

        return answer

    experiment = start(client, {"good": counted("good", 1.0), "bad": counted("bad", 0.0)}, policy="race_default")

    bad = experiment.live().config("bad")
    assert (bad.state, bad.stop_reason) == ("stopped", "policy")
    assert calls["bad"] < N
    assert calls["good"] == N
    assert [one["config"] for one in experiment.decisions()] == ["bad"]


def test_it_can_be_steered_while_it_runs(client: Client) -> None:
    def steer(experiment: ExperimentResult, live: Live) -> None:
        if live.config("b").state == "running" and live.config("b").n_done >= 5:
            experiment.stop("b")
            experiment.clone("a", always(1.0), {"temperature": 0}, name="a2")

    experiment = start(client, {"a": always(0.9), "b": always(0.5)}, policy="manual", threads=1, on_progress=steer)
    live = experiment.live()

    assert (live.config("b").state, live.config("b").stop_reason) == ("stopped", "user")
    assert live.config("a").state == live.config("a2").state == "completed"
    assert live.config("a2").raw["parent_id"] == live.config("a").id


def test_a_config_joins_an_experiment_that_has_ended(client: Client) -> None:
    ended = start(client, {"a": always(0.9), "b": always(0.5)}, policy="manual")
    before = ended.live().config("a").metrics

    experiment = client.resume_experiment(ended.id, progress=False)
    id = experiment.add("late", always(1.0), {"temperature": 0})
    experiment.run()

    late = experiment.live().config("late")
    assert (late.id, late.state, late.n_done) == (id, "completed", N)
    assert experiment.result("late").parameters["temperature"] == 0
    assert experiment.live().config("a").n_done == N
    assert {name: metric.value for name, metric in before.items()} == {
        name: metric.value for name, metric in experiment.live().config("a").metrics.items()
    }


def test_a_stopped_config_goes_on_later(client: Client) -> None:
    def steer(experiment: ExperimentResult, live: Live) -> None:
        if live.config("b").state == "running" and live.config("b").n_done >= 5:
            experiment.stop("b")

    experiment = start(client, {"a": always(0.9), "b": always(0.5)}, policy="manual", threads=1, on_progress=steer)
    assert experiment.live().config("b").n_done < N

    experiment.resume("b")
    experiment.run()

    assert experiment.live().config("b").state == "completed"
    assert len(experiment.result("b")) == N


def test_it_runs_in_the_background(client: Client) -> None:
    gate = threading.Event()

    def waiting(text: str) -> str:
        gate.wait(60)
        return text

    experiment = start(client, {"a": waiting}, policy="manual", background=True)
    with pytest.raises(TimeoutError):
        experiment.wait(0.3)
    gate.set()

    assert experiment.wait(60).live().config("a").state == "completed"


def test_what_fails_in_the_background_is_raised_by_waiting(client: Client) -> None:
    gate = threading.Event()
    experiment = start(client, {"a": lambda text: gate.wait(60)}, policy="manual", background=True)
    wait_until(lambda: client._transport.call("DELETE", f"/v1/experiments/{experiment.id}"))
    gate.set()

    with pytest.raises(ClientError):
        experiment.wait(60)


def test_another_process_can_take_part(client: Client) -> None:
    slow = threading.Event()

    def answer(text: str) -> str:
        slow.wait(0.02)
        return text

    first = start(client, {"a": answer}, policy="manual", threads=1, background=True)
    second = client.resume_experiment(first.id, {"a": answer}, progress=False, threads=1)
    second.run()
    first.wait(60)

    assert len(second.result("a")) == N
    assert [row.input for row in second.result("a")] == INPUTS
    assert second._workers.rows
    assert client._transport.get(f"/v1/experiments/{first.id}/recount")["equal"]


def test_it_can_be_looked_at_without_running(client: Client) -> None:
    made = start(client, {"a": always(1.0)}, policy="manual")
    seen = client.resume_experiment(made.id)

    assert seen.result("a").metrics["exact-match"].value == 1.0


def test_a_config_that_there_is_not_is_named(client: Client) -> None:
    made = start(client, {"a": always(1.0)}, policy="manual")

    with pytest.raises(KeyError, match="no config 'b'"):
        made.result("b")
    with pytest.raises(ValueError, match="no push configs b"):
        client.resume_experiment(made.id, {"b": always(1.0)})


def test_a_dataset_of_the_service_is_used(client: Client) -> None:
    made = start(client, {"a": always(1.0)}, policy="manual")
    dataset_id = made.plan["dataset_id"]
    again = client.experiment(
        "same data",
        {"a": lambda text: text},
        dataset_id=dataset_id,
        evaluators=["exact-match"],
        policy="manual",
        progress=False,
    )

    assert len(again.result("a")) == N


@pytest.mark.parametrize("options", [{}, {"inputs": ["a"], "dataset_id": "x"}])
def test_inputs_or_a_dataset(client: Client, options: Any) -> None:
    with pytest.raises(ValueError, match="either"):
        client.experiment("x", {"a": always(1)}, **options)


def test_a_deleted_config_is_run_no_further(client: Client) -> None:
    def steer(experiment: ExperimentResult, live: Live) -> None:
        names = [one.name for one in live.configs]
        if "b" in names and live.config("b").n_done >= 5:
            experiment.delete("b")

    experiment = start(client, {"a": always(0.9), "b": always(0.5)}, policy="manual", threads=1, on_progress=steer)

    assert [one.name for one in experiment.live().configs] == ["a"]
    assert len(experiment.result("a")) == N


def test_results_of_two_runs_are_compared(client: Client) -> None:
    from evalsvc.client import NotFoundError

    inputs, expected = [{"text": str(i)} for i in range(30)], [str(i) for i in range(30)]
    options: Any = {"evaluators": ["exact-match"], "progress": False}
    one = client.eval(lambda text: text, inputs, expected, name="one", **options)
    other = client.eval(lambda text: text if int(text) > 4 else "no", inputs, expected, name="other", **options)
    found = client.compare(one, other, metric="exact-match")
    assert (found.n, found.word, found.covers, found.share) == (30, "inconclusive", "new data", 1.0)
    assert found.this_set["exact"]
    assert str(found).startswith("exact-match: one against other: inconclusive, +0.167 [")
    assert "+0.167 exactly on this set" in str(found)
    assert [row["difference"] for row in found] == [1.0] * 5 + [0.0] * 25
    with pytest.raises(NotFoundError):
        client.compare(str(one.config_id), "123456789")
    again = client.eval(lambda text: text, inputs, expected, name="one", **options)
    found = client.compare(again, one, metric="exact-match")
    assert (found.a, found.b) == (f"eval of one ({again.experiment_id})", f"eval of one ({one.experiment_id})")
