"""A running experiment in the caller's hands: follow it, steer it, read what it found."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from typing import TYPE_CHECKING, Any, cast

from evalsvc.client.errors import ClientError
from evalsvc.client.experiment.examples import build_row, from_components, strip_output, to_components
from evalsvc.client.experiment.progress import ProgressBar
from evalsvc.client.experiment.request import describe
from evalsvc.client.experiment.worker_pool import RECORDED_FIELDS, WorkerPool
from evalsvc.client.pipeline.pipelines import ISOLATED
from evalsvc.client.results.gaps import ComponentGaps
from evalsvc.client.results.live import Live, Standing
from evalsvc.client.results.metrics import Metrics
from evalsvc.client.results.rows import Row, RowSample, RowScore
from evalsvc.client.scoring.batches import RunningMetric, check_against_type, rename_taken
from evalsvc.client.scoring.result import EvaluationResult
from evalsvc.client.scoring.scorers import is_computed_at_end
from evalsvc.client.service.bodies import ExampleBody, ExperimentBody, OutputBody
from evalsvc.client.service.service import Service
from evalsvc.client.service.transport import Param
from evalsvc.client.showing.charts import DrawnInterval, Plottable
from evalsvc.client.values import from_json

if TYPE_CHECKING:
    import pandas

SECONDS_BETWEEN_READS = 1.0
SHORTEST_PAUSE_SECONDS = 0.2
GRACE_SECONDS = 5.0


class ExperimentResult(Plottable):
    """Several configs on the same examples: what they scored, and the levers to stop, resume and clone them."""

    def __init__(
        self, *, client: Service, body: ExperimentBody, workers: WorkerPool, how_to_resume: str, progress: bool
    ) -> None:
        self.id: str = body["id"]
        self.name: str = body["name"]
        self.plan: Mapping[str, Any] = body["plan"]
        self._parameters = {config["id"]: config["parameters"] for config in body.get("configs", ())}
        self._client = client
        self._api = client.experiments_api
        self._workers = workers
        self._how_to_resume = f"What is recorded is kept. Go on with {how_to_resume}"
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._examples: dict[str, tuple[int, ExampleBody]] | None = None
        self._running: dict[tuple[str | None, str], RunningMetric] = {}
        primary = self.primary
        self._progress = (
            ProgressBar(primary["name"], higher_is_better=primary.get("higher_is_better", True)) if progress else None
        )

    def __repr__(self) -> str:
        return f"<ExperimentResult {self.name!r} {self.id}>"

    def _repr_html_(self) -> str:
        """Render the status in a notebook: one row per config, with estimates and intervals."""
        return self.live()._repr_html_()

    def spans(self) -> list[DrawnInterval]:
        """Return what is plotted: the primary metric of each config, the leader first."""
        return self.live().spans()

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each metric of each config; `results()` have the examples."""
        return self.live().to_dataframe()

    @property
    def primary(self) -> Mapping[str, Any]:
        """Return the metric that decides."""
        primary_name = self.plan.get("primary_metric")
        metrics: Sequence[Mapping[str, Any]] = self.plan["metrics"]
        return next((metric for metric in metrics if metric["name"] == primary_name), metrics[0])

    # Reading

    def live(self) -> Live:
        """Return the current status."""
        live, _ = self._api.live(self.id)
        if live is None:
            raise AssertionError("a request without If-None-Match was answered with 304")
        return live

    def leaderboard(self) -> list[Standing]:
        """Return the configs, best estimate of the primary metric first."""
        return self.live().leaderboard(
            self.primary["name"], higher_is_better=self.primary.get("higher_is_better", True)
        )

    def decisions(self) -> list[dict[str, Any]]:
        """Return every stop with what it rested on, newest first."""
        return list(self._api.decisions(self.id))

    def pareto(self, *metrics: str) -> dict[str, Any]:
        """Return the configs on the Pareto front of two or three metrics, and the evidence against the others."""
        return self._api.pareto(self.id, metrics)

    def components(self) -> dict[str, ComponentGaps]:
        """Return, by config, what components gain from perfect predecessors, and the bottleneck; for isolated mode."""
        return {gaps.config: gaps for gaps in self._api.components(self.id).values()}

    def confusion(
        self, config: str, *, predicted: str = "/output", actual: str = "/expected", **options: Param
    ) -> dict[str, Any]:
        """Return the confusion matrix of a config's labels; JSON pointers select the predicted and the actual labels.

        `options` are `ignore_case`, `level` and `seed`.
        """
        return self._api.confusion(self.id, {"config": config, "predicted": predicted, "actual": actual, **options})

    def result(self, config: str) -> EvaluationResult:
        """Return the rows and estimates of one config, by name or id."""
        live = self.live()
        return self._build_result(live, live.config(config))

    def results(self) -> dict[str, EvaluationResult]:
        """Return the rows and estimates of every config, by name."""
        live = self.live()
        return {config.name: self._build_result(live, config) for config in live.configs}

    def partial(self, live: Live, config: str) -> EvaluationResult:
        """Return what is known of a config here and now, without asking the service: rows lack evaluators' scores."""
        config_status = live.config(config)
        rows = [row for (config_id, _), row in list(self._workers.rows.items()) if config_id == config_status.id]
        return self._assemble(live, config_status, rows, is_final=False)

    def _build_result(self, live: Live, one: Standing) -> EvaluationResult:
        rows = [self._build_row(one.id, body) for body in self._api.results(self.id, one.id)]
        return self._assemble(live, one, rows, is_final=not one.is_alive)

    def _build_row(self, config_id: str, body: OutputBody) -> Row:
        local_row = self._workers.rows.get((config_id, body["pos"]))
        if local_row is not None:
            row = copy(local_row)
        else:
            _, example = self._read_example(body["example_id"])
            row = build_row(example, body["pos"], self._workers.local_examples)
        if row.index is None:
            row.index, _ = self._read_example(row.example_id)
        row.status = body["status"]
        row.output = from_components(body.get("output"))
        row.isolated = cast("dict[str, Any] | None", from_json(body.get("isolated")))
        row.samples = (
            [RowSample.read(sample, from_components) for sample in samples]
            if (samples := body.get("samples"))
            else None
        )
        for name in ("error_type", "error_message", "latency_ms", *RECORDED_FIELDS):
            setattr(row, name, body.get(name))
        row.scores = {name: RowScore.read(score) for name, score in (body.get("scores") or {}).items()}
        if local_row is not None:
            # Why a scorer of the caller's own broke is known here only.
            row.scores |= {
                name: score
                for name, score in local_row.scores.items()
                if score.error_code is not None and (name not in row.scores or row.scores[name].value is None)
            }
        return row

    def _read_example(self, key: str) -> tuple[int, ExampleBody]:
        """Return the place of an example in the dataset, and the example; read once, when something needs it."""
        if key in self._workers.local_examples:
            local_example = self._workers.local_examples[key]
            return local_example.index, {"id": key, "input": local_example.input, "expected": local_example.expected}
        if self._examples is None:
            examples = self._api.examples(self.plan["dataset_id"], self.plan["dataset_version"])
            self._examples = {key: (i, example) for i, (key, example) in enumerate(examples.items())}
        return self._examples[key]

    def _parameters_of(self, config_id: str) -> dict[str, object]:
        """Return the caller's parameters of a config; fetch them again if the config is newer than the experiment."""
        if config_id not in self._parameters:
            configs = self._api.experiment(self.id)["configs"]
            self._parameters |= {config["id"]: config["parameters"] for config in configs}
        return self._parameters.get(config_id, {})

    def _assemble(self, live: Live, one: Standing, rows: list[Row], *, is_final: bool) -> EvaluationResult:
        result = EvaluationResult(
            name=live.name,
            experiment_id=self.id,
            config=one.name,
            config_id=one.id,
            state=one.state,
            stop_reason=one.stop_reason,
            n_examples=live.n_examples,
            is_final=is_final,
            parameters=cast("dict[str, Any]", from_json(self._parameters_of(one.id))),
            metrics=one.metrics.with_components(self.plan["metrics"]),
            rows=sorted(rows, key=lambda row: (row.index is None, row.index or 0, row.pos)),
            client=self._client,
        )
        self._add_computed_metrics(result, rows)
        if is_final and ISOLATED in (self.plan.get("modes") or ()):
            result.gaps = self._api.components(self.id).get(one.id)
        return result

    def _add_computed_metrics(self, result: EvaluationResult, arrived: Sequence[Row]) -> None:
        """Compute the metrics of batches, so far or in the end, and check them against their declared type."""
        level = float(self.plan.get("level") or 0.95)
        strips_thinking = result.parameters.get("strip_thinking") is not False
        for name, metric in self._workers.metrics.items():
            if is_computed_at_end(metric):
                running = self._running.setdefault((result.config_id, name), RunningMetric(name, metric))
                if result.is_final:
                    computed_metrics = running.finish(result.rows, level=level)
                else:
                    fresh = [row for row in arrived if row.is_ok and row.pos not in running.taken]
                    running.take(_as_stored(row, strips_thinking=strips_thinking) for row in fresh)
                    computed_metrics = running.estimate(level=level) if running.taken else Metrics()
                result.metrics.update(rename_taken(computed_metrics, result.metrics.keys(), name))
            elif result.is_final and metric.compute is not None and name in result.metrics:
                result.metrics[name] = check_against_type(name, metric, result.rows, result.metrics[name])

    def results_of(self, config: str) -> Iterator[EvaluationResult]:
        """Run, and yield what is known of one config whenever something changed; the last one is final."""
        with closing(self.follow()) as states:
            for live in states:
                yield self.partial(live, config)
        yield self.result(config)

    # Steering

    def stop(self, config: str) -> None:
        """Stop a config. Its results are retained, and it can be resumed."""
        self._api.control(self.id, self.live().config(config).id, "stop")

    def resume(self, config: str) -> None:
        """Let a stopped config go on where it stood: at once if this process still runs, else with `run()`."""
        self._api.control(self.id, self.live().config(config).id, "resume")

    def clone(
        self, config: str, runnable: object, changes: Mapping[str, object] | None = None, *, name: str | None = None
    ) -> str:
        """Add a config that descends from another, on the same examples; return its id.

        It runs at once if this process still runs the experiment, else with `run()`.
        """
        new_config = self._api.clone(self.id, self.live().config(config).id, changes or {}, name)
        self._workers.add(new_config["id"], new_config["name"], runnable, new_config["parameters"])
        return str(new_config["id"])

    def add(self, name: str, runnable: object, parameters: Mapping[str, object] | None = None) -> str:
        """Add a config of your own code, also to an experiment that has ended; return its id.

        It runs at once if this process still runs the experiment, else with `run()`. Nothing that is recorded is run
        again; what the others scored before may have decided that there is a new config, so the evidence about it is
        `post_hoc`.
        """
        config = {"name": name, "kind": "push", "parameters": describe(runnable, parameters or {})}
        (new_config,) = self._api.add_configs(self.id, [config])
        self._workers.add(new_config["id"], new_config["name"], runnable, new_config["parameters"])
        return str(new_config["id"])

    def delete(self, config: str) -> None:
        """Hide a config; what it cost and showed stays."""
        self._api.delete_config(self.id, self.live().config(config).id)

    # Running

    def follow(self) -> Generator[Live]:
        """Run the configs of this process, and yield the status after each change until all are done."""
        self._workers.start()
        try:
            yield from self._changes()
        except KeyboardInterrupt:
            print(f"\nInterrupted. {self._how_to_resume}", file=sys.stderr)
            raise
        except ClientError as exc:
            exc.add_note(self._how_to_resume)
            raise
        finally:
            self._workers.stop()

    def _changes(self) -> Iterator[Live]:
        etag: str | None = None
        live: Live | None = None
        ended_at: float | None = None
        while True:
            self._workers.has_changed.clear()
            news, etag = self._api.live(self.id, etag)
            if self._workers.failure is not None:
                raise self._workers.failure
            if news is not None:
                live = news
                self._workers.update_states(live)
                if self._progress is not None:
                    self._progress.show(live, is_last=not self._workers.has_work)
                yield live
            if live is None or self._workers.has_work:
                ended_at = None
            else:
                ended_at = ended_at or time.monotonic()
                # The last config ends a moment before the experiment does.
                if self._is_settled(live) or time.monotonic() - ended_at > GRACE_SECONDS:
                    return
            time.sleep(SHORTEST_PAUSE_SECONDS)
            self._workers.has_changed.wait(SECONDS_BETWEEN_READS)

    def _is_settled(self, live: Live) -> bool:
        """Return whether the experiment has ended, or goes on without this process."""
        return live.state not in ("draft", "running") or any(config.is_alive for config in live.configs)

    def run(self, on_progress: Callable[[ExperimentResult, Live], None] | None = None) -> ExperimentResult:
        """Run until every config of this process is completed or stopped."""
        for live in self.follow():
            if on_progress is not None:
                on_progress(self, live)
        return self

    def run_in_background(self, on_progress: Callable[[ExperimentResult, Live], None] | None = None) -> None:
        """Run on a thread of its own; `wait()` waits for it."""

        def work() -> None:
            try:
                self.run(on_progress)
            except Exception as exc:  # raised by wait()
                self._failure = exc

        self._thread = threading.Thread(target=work, name="evalsvc-experiment", daemon=True)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> ExperimentResult:
        """Wait for a run in the background; TimeoutError when it takes longer than that many seconds."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise TimeoutError(f"Experiment {self.id} still runs after {timeout} s.")
        if self._failure is not None:
            raise self._failure
        return self


def _as_stored(row: Row, *, strips_thinking: bool) -> Row:
    """Return a row with its output as the service gives it back, which is what metrics get in the end."""
    stored_row = copy(row)
    output = strip_output(row.output) if strips_thinking else row.output
    stored_row.output = from_components(to_components(output))
    return stored_row
