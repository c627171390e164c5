"""`eval`: anything that runs, scored by the service, while it runs and after it was cut short."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, CustomMetric, EvaluationResult, InvalidError, NotFoundError, UnreachableError
from evalsvc.client.scoring.defaults import JUDGED, SIMILARITY, default_evaluators
from tests.client.test_transport import BadLine, answering, lost
from tests.conftest import CHECKOUT, Caller, start_worker, stop_group, wait_until

CAPITALS = {"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Japan": "Tokyo"}
INPUTS = [{"query": country} for country in CAPITALS]
EXPECTED = list(CAPITALS.values())


def knows(query: str) -> str:
    """Is wrong about Spain."""
    return "Barcelona" if query == "Spain" else CAPITALS[query]


def run(
    client: Client, runnable: Any, inputs: Any = INPUTS, expected: Any = EXPECTED, **options: Any
) -> EvaluationResult:
    options = {"evaluators": ["exact-match"], "progress": False, "threads": 2, **options}
    return client.eval(runnable, inputs, expected, **options)


def test_it_scores_what_a_function_says(client: Client) -> None:
    result = run(client, knows)

    assert [row.output for row in result] == ["Rome", "Paris", "Barcelona", "Tokyo"]
    assert [row.scores["exact-match"].value for row in result] == [1, 1, 0, 1]
    assert (result.state, result.is_final, result.n_examples) == ("completed", True, 4)
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.N) == (0.75, 4, 4)
    assert [row.input for row in result] == INPUTS
    assert [row.expected for row in result] == EXPECTED


def test_coroutines_run_at_once(client: Client) -> None:
    running, most = 0, 0

    async def slow(query: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(200):
            await asyncio.sleep(0.01)
            if most == 4:
                break
        running -= 1
        return CAPITALS[query]

    result = run(client, slow, threads=4)

    assert result.metrics["exact-match"].value == 1.0
    assert most == 4


class Pipeline:
    """Runs as Haystack's pipelines do: one dictionary in, a dictionary by component out."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def run(self, data: dict[str, Any], include_outputs_from: set[str] | None = None) -> dict[str, Any]:
        self.seen.append(data)
        return {"reader": {"answer": CAPITALS[data["retriever"]["query"]]}, "retriever": {"documents": ["a"]}}


def test_a_pipeline_is_scored_by_component(client: Client) -> None:
    inputs = [{"retriever": {"query": country}} for country in CAPITALS]
    expected = [{"reader": {"answer": capital}} for capital in EXPECTED]
    sample = {"output": "/output/reader/answer", "gold": "/expected/reader/answer"}
    result = run(client, Pipeline(), inputs, expected, sample=sample)

    assert result.metrics["exact-match"].value == 1.0
    assert result.rows[0].output == {"reader": {"answer": "Rome"}, "retriever": {"documents": ["a"]}}
    assert result.rows[0].expected == {"reader": {"answer": "Rome"}}


def test_a_runnable_may_bring_its_contexts(client: Client) -> None:
    def rag(query: str) -> dict[str, Any]:
        return {"output": CAPITALS[query], "contexts": ["an atlas"]}

    result = run(client, rag)

    assert result.metrics["exact-match"].value == 1.0
    assert result.rows[0].output == {"output": "Rome", "contexts": ["an atlas"]}


@pytest.mark.parametrize(
    "output", [{"output": "Rome"}, {"answer": "Rome"}, ["Rome"], 7, None, "", Decimal("1.5"), b"\xff"]
)
def test_an_output_comes_back_as_it_was(client: Client, output: Any) -> None:
    result = run(client, lambda query: output, INPUTS[:1], [], evaluators=[])

    assert result.rows[0].output == output


def test_an_output_that_breaks_what_was_declared_is_an_error_of_its_row(client: Client) -> None:
    declared = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}

    def app(query: str) -> dict[str, Any]:
        return {"answer": knows(query) if query != "Japan" else None}

    options: dict[str, Any] = {"parameters": {"output_schema": declared}, "metrics": {"always": lambda *_: 1}}
    seen: list[EvaluationResult] = []
    result = run(client, app, on_progress=seen.append, **options)

    (bad,) = result.errors
    assert (bad.input, bad.error_type) == ({"query": "Japan"}, "bad_output")
    assert "'/output/answer' it has null" in (bad.error_message or "")
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.n_error) == (2 / 3, 3, 1)
    assert (result.metrics["always"].n, bad.scores["always"].value) == (3, None)
    assert all(row.error_type == "bad_output" for one in seen for row in one if row.input == {"query": "Japan"})
    wrong = [{"evaluator": "exact-match", "sample": {"output": "/output/answr"}}]
    with pytest.raises(InvalidError, match="/output/answer"):
        run(client, app, **options, evaluators=wrong)


def test_blind_is_without_expectations(client: Client) -> None:
    result = run(client, knows, expected=[], evaluators=["pii", "exact-match"])

    assert result.metrics["pii"].value == 1.0
    assert (result.metrics["exact-match"].n, result.metrics["exact-match"].n_na) == (0, 4)
    assert (result.metrics["exact-match"].n_error, result.metrics["exact-match"].N) == (0, 4)
    assert result.rows[0].scores["exact-match"].error_code == "not_applicable"


def test_lengths_must_agree(client: Client) -> None:
    calls: list[str] = []
    with pytest.raises(ValueError, match="3 inputs and 2 expected outputs"):
        run(client, calls.append, ["a", "b", "c"], ["a", "b"])

    assert not calls


def test_there_must_be_inputs(client: Client) -> None:
    with pytest.raises(ValueError, match="no inputs"):
        run(client, knows, [], [])


def test_what_a_runnable_raises_is_an_error_and_no_score(client: Client) -> None:
    def broken(query: str) -> str:
        if query == "Spain":
            raise KeyError("no such country")
        if query == "Japan":
            sys.exit("no such island")
        return CAPITALS[query]

    result = run(client, broken)

    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.n_error) == (1.0, 2, 2)
    assert [row.example_id for row in result.errors] == ["2", "3"]
    assert result.errors[0].error_type == "bug"
    assert result.errors[0].error_message == "KeyError: 'no such country'"
    assert result.errors[1].error_message == "SystemExit: no such island"


def test_own_metrics_are_estimated_by_the_service(client: Client) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    def right(input: Any, output: str, expected: str) -> bool:
        return output == expected

    def words(input: Any, output: str, expected: str) -> tuple[int, int]:
        return len(output.split()), 2

    own = {"length": length, "right": CustomMetric(right, binary=True), "ratio": CustomMetric(words, ratio=True)}
    result = run(client, knows, evaluators=[], metrics=own)

    assert result.metrics["length"].value == (4 + 5 + 9 + 5) / 4
    assert (result.metrics["right"].value, result.metrics["right"].n) == (0.75, 4)
    assert result.metrics["ratio"].value == 0.5
    assert result.rows[2].scores["right"].value == 0.0


def test_a_metric_that_breaks_is_missing(client: Client) -> None:
    def picky(input: Any, output: str, expected: Any) -> float:
        if output == "Rome":
            raise ValueError("not Rome again")
        return float("nan") if output == "Paris" else 1.0

    result = run(client, knows, evaluators=["exact-match"], metrics={"picky": picky})

    assert (result.metrics["picky"].n, result.metrics["picky"].n_error) == (2, 2)
    assert result.metrics["exact-match"].n == 4
    assert result.rows[0].scores["picky"].error_message == "ValueError: not Rome again"


def test_without_metrics_outputs_are_kept_to_be_scored_later(client: Client, pumped: None) -> None:
    calls: Counter[str] = Counter()

    def counted(query: str) -> str:
        calls[query] += 1
        return knows(query)

    result = run(client, counted, evaluators=[])
    found = result.calculate_metrics("exact-match", lambda input, output, expected: output == expected)

    assert [metric.value for metric in found.values()] == [0.75, 0.75]
    assert set(calls.values()) == {1}


def test_partial_results_grow(client: Client) -> None:
    seen = [len(partial.rows) for partial in client.eval_iter(
        knows, INPUTS, EXPECTED, evaluators=["exact-match"], progress=False, threads=1)]  # fmt: skip

    assert seen == sorted(seen)
    assert seen[-1] == 4


def test_progress_is_reported(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    partials: list[EvaluationResult] = []
    run(client, knows, progress=True, on_progress=partials.append)

    assert partials[-1].is_final
    assert partials[-1].metrics["exact-match"].value == 0.75
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "4/4" in captured.err
    assert "exact-match 0.75 [" in captured.err


def test_the_caller_s_own_objects_are_run(client: Client) -> None:
    class Question:
        def to_dict(self) -> dict[str, Any]:
            return {"text": "a"}

    questions = [Question(), Question()]
    seen: list[Any] = []
    result = run(client, lambda one: seen.append(one) or "x", questions, ["x", "x"], threads=1)

    assert {id(one) for one in seen} == {id(one) for one in questions}
    assert result.metrics["exact-match"].value == 1.0


def test_equal_inputs_are_stored_once(client: Client) -> None:
    first = client.experiments_api.experiment(str(run(client, knows).experiment_id))["plan"]
    again = client.experiments_api.experiment(str(run(client, knows, name="again").experiment_id))["plan"]

    assert (first["dataset_id"], first["dataset_version"]) == (again["dataset_id"], again["dataset_version"])


def test_an_evaluator_that_there_is_not_is_refused_before_anything_runs(client: Client) -> None:
    calls: list[str] = []
    with pytest.raises(InvalidError) as caught:
        run(client, calls.append, evaluators=["nonsense"])

    assert caught.value.errors[0].pointer == "/plan/metrics/0/evaluator"
    assert not calls


def test_options_that_there_are_not_are_refused(client: Client) -> None:
    with pytest.raises(TypeError, match="seeds"):
        run(client, knows, seeds=1)


def test_an_output_that_cannot_be_stored_is_an_error_of_its_example(client: Client) -> None:
    def huge(query: str) -> str:
        return "x" * 6_000_000 if query == "Spain" else CAPITALS[query]

    result = run(client, huge, threads=1)

    assert (result.metrics["exact-match"].n, result.metrics["exact-match"].n_error) == (3, 1)
    assert [row.error_type for row in result.errors] == ["bad_output"]


def test_a_stranger_cannot_go_on_with_it(client: Client, stranger: Client) -> None:
    result = run(client, knows)
    with pytest.raises(NotFoundError):
        stranger.resume(str(result.experiment_id), knows)


class Interrupting:
    """Is interrupted from the keyboard after some calls."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.calls: Counter[str] = Counter()

    def __call__(self, query: str) -> str:
        self.calls[query] += 1
        if sum(self.calls.values()) == self.after:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return CAPITALS.get(query, query)


MANY = [{"query": f"country {i}"} for i in range(40)]


def interrupted(client: Client, **options: Any) -> tuple[Interrupting, str, str]:
    """Return a runnable that was interrupted after 15 calls, and its experiment."""
    runnable = Interrupting(after=15)
    name = f"interrupted {id(runnable)}"
    expected = [one["query"] for one in MANY]
    with pytest.raises(KeyboardInterrupt):
        run(client, runnable, MANY, expected, name=name, threads=1, **options)
    (found,) = client.experiments_api.experiments(name)
    return runnable, name, found["id"]


def test_an_interrupted_evaluation_goes_on(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    runnable, _, experiment_id = interrupted(client)
    recorded = client.experiments_api.live(experiment_id)[0].configs[0].n_done  # type: ignore[union-attr]

    result = client.resume(experiment_id, runnable, progress=False, threads=1)

    assert f"client.resume('{experiment_id}', runnable)" in capsys.readouterr().err
    assert 0 < recorded < 40
    assert (result.state, len(result), result.metrics["exact-match"].value) == ("completed", 40, 1.0)
    assert [row.input for row in result] == MANY
    assert sum(runnable.calls.values()) <= 41


def test_it_is_found_by_its_name(client: Client) -> None:
    runnable, name, experiment_id = interrupted(client)
    expected = [one["query"] for one in MANY]

    result = run(client, runnable, MANY, expected, name=name, threads=1, resume=True)

    assert result.experiment_id == experiment_id
    assert len(result) == 40


def test_other_inputs_are_another_evaluation(client: Client) -> None:
    _, name, experiment_id = interrupted(client)
    result = run(client, knows, name=name, resume=True)

    assert result.experiment_id != experiment_id


def test_functions_of_metrics_are_given_again(client: Client) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    runnable, _, experiment_id = interrupted(client, metrics={"length": length})
    with pytest.raises(ValueError, match="length"):
        client.resume(experiment_id, runnable, progress=False)

    result = client.resume(experiment_id, runnable, metrics={"length": length}, progress=False)
    assert result.metrics["length"].n == 40


KILLED = """
import sys, time
from evalsvc.client import Client

def slow(query):
    time.sleep(0.05)
    return query

inputs = [{"query": f"country {i}"} for i in range(60)]
client = Client()
client.eval(slow, inputs, [one["query"] for one in inputs], evaluators=["exact-match"], name=sys.argv[1],
            threads=2, lease_seconds=10)
"""


def test_it_survives_a_crash(client: Client, web: str, alice: Caller, tmp_path: Path) -> None:
    name = f"crash {tmp_path.name}"
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key}
    process = subprocess.Popen([sys.executable, "-c", KILLED, name], env=env, cwd=CHECKOUT, stderr=subprocess.DEVNULL)
    try:
        found = wait_until(lambda: list(client.experiments_api.experiments(name)))[0]
        wait_until(lambda: client.experiments_api.live(found["id"])[0].configs[0].n_done >= 10)  # type: ignore[union-attr]
    finally:
        process.kill()
        process.wait()
    recorded = {
        row["pos"]
        for row in client.experiments_api.results(
            found["id"], client.experiments_api.experiment(found["id"])["configs"][0]["id"]
        )
    }
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    def again(query: str) -> str:
        with lock:
            calls[query] += 1
        return query

    result = client.resume(found["id"], again, progress=False)

    assert (len(result), result.metrics["exact-match"].value) == (60, 1.0)
    # What the dead process had sent may have been recorded after we looked.
    assert sum(calls.values()) <= 60 - len(recorded)
    assert set(calls.values()) <= {1}
    assert client._transport.get(f"/v1/experiments/{found['id']}/recount")["equal"]


def test_it_outlives_a_restart_of_the_service(web: str, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.client.service.transport.FIRST_PAUSE_SECONDS", 0.001)
    line = BadLine()
    with Client(web, alice.key, http_transport=line) as client:

        def restarting(query: str) -> str:
            if query == "Spain":
                line.before += [lost, answering(502), answering(503), lost, answering(500), lost]
            return CAPITALS[query]

        result = run(client, restarting, threads=1)

    assert (len(result), result.metrics["exact-match"].value) == (4, 1.0)


def test_a_service_that_stays_away_is_said_with_how_to_go_on(
    web: str, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.client.service.transport.FIRST_PAUSE_SECONDS", 0.001)
    line = BadLine()
    with Client(web, alice.key, http_transport=line) as client, pytest.raises(UnreachableError) as caught:
        run(client, lambda query: line.before.extend([lost] * 100) or query, threads=1)

    assert "client.resume('" in caught.value.__notes__[0]


def test_leaving_the_loop_early_gives_the_work_back(client: Client) -> None:
    calls: Counter[str] = Counter()
    pause = 0.2

    def counted(query: str) -> str:
        calls[query] += 1
        time.sleep(pause)
        return query

    options: dict[str, Any] = {"evaluators": ["pii"], "progress": False, "threads": 1}
    for partial in client.eval_iter(counted, MANY, **options):
        if len(partial) >= 5:
            break
    assert partial.experiment_id is not None
    n_before, pause = sum(calls.values()), 0.0
    result = client.resume(partial.experiment_id, counted, progress=False, threads=1)

    assert n_before < 40
    assert (len(result), sum(calls.values())) == (40, 40)


@pytest.fixture(scope="module")
def scoring_worker() -> Iterator[None]:
    """A worker for evaluators that are too heavy for the web process."""
    process = start_worker("experiments")
    yield
    stop_group(process)


def test_workers_score_what_is_heavy(client: Client, scoring_worker: None) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    result = run(client, knows, evaluators=["toxicity", "exact-match"], metrics={"length": length})

    assert {name: metric.n for name, metric in result.metrics.items()} == {"toxicity": 4, "exact-match": 4, "length": 4}
    assert [row.output for row in result] == ["Rome", "Paris", "Barcelona", "Tokyo"]
    assert result.rows[0].scores["length"].value == 4.0


def test_what_the_caller_said_of_it_stays(client: Client) -> None:
    result = run(client, knows, parameters={"temperature": 0.5, "prompts": ["a", "b"]})

    assert result.parameters == {"runnable": "tests.client.test_eval:knows", "temperature": 0.5, "prompts": ["a", "b"]}


def test_without_evaluators_it_takes_what_fits_and_says_so(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    result = client.eval(knows, INPUTS, EXPECTED, threads=2)

    assert list(result.metrics) == ["exact-match", "metrics/compute-squad-f1"]
    assert "no connection to a judge" in capsys.readouterr().err


def test_without_evaluators_a_judge_brings_the_default_set(client: Client, alice: Caller) -> None:
    body = {"name": "judge", "base_url": "https://llm.example/v1", "model": "m", "key": "sk-test-0123456789"}
    assert alice.post("/v1/connections", body).status_code == 201
    names, why = default_evaluators(client._transport, has_expected=False, has_contexts=True)

    assert names == JUDGED
    assert "'judge'" in why
    assert default_evaluators(client._transport, has_expected=True, has_contexts=False)[0] == (SIMILARITY, *JUDGED)
