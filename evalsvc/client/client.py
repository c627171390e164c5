"""The client: one object for all calls that a caller's own code makes to the service."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from evalsvc.client.experiment.examples import Examples, LocalExample, as_list, build_examples
from evalsvc.client.experiment.options import Options, RunOptions, pick_spelling, read_run_options
from evalsvc.client.experiment.request import (
    ExperimentRequest,
    build_scorers,
    check_runnables,
    check_scorers,
    describe,
    describe_isolated_runs,
    find_unfinished,
    group_by_source,
    pair_configs,
)
from evalsvc.client.experiment.result import ExperimentResult
from evalsvc.client.experiment.worker_pool import WorkerPool
from evalsvc.client.pipeline.pipelines import ISOLATED, Pipeline
from evalsvc.client.pipeline.runnables import get_runnable_name
from evalsvc.client.resources.benchmarks import BenchmarkRecord
from evalsvc.client.resources.resources import Resources
from evalsvc.client.results.comparison import Comparison
from evalsvc.client.results.live import Live
from evalsvc.client.scoring.added_metrics import wait_until_scored
from evalsvc.client.scoring.defaults import default_evaluators
from evalsvc.client.scoring.result import EvaluationResult
from evalsvc.client.scoring.scorers import CustomMetric, Scorers, build_plan_metrics, split_functions
from evalsvc.client.service.bodies import BatchBody, ExperimentBody
from evalsvc.client.service.evaluators import Evaluators
from evalsvc.client.service.samples import build_row
from evalsvc.client.service.transport import Param

EVAL = "eval"
HOW_TO_RESUME_EVAL = "`client.resume({id!r}, runnable)`."
HOW_TO_RESUME_EXPERIMENT = "`client.resume_experiment({id!r}, configs).run()`."


class Client(Resources):
    """Talks to one service with one API key; threads may share it.

    The address and the key come from the arguments, or from EVALSVC_BASE_URL and EVALSVC_API_KEY.
    """

    def eval(
        self,
        runnable: object,
        inputs: Sequence[object] | Mapping[str, object] | str,
        expected_outputs: Sequence[object] | Mapping[str, object] | str | None = None,
        *,
        evaluators: Evaluators | None = None,
        metrics: Scorers | None = None,
        name: str | None = None,
        resume: bool = False,
        parameters: Mapping[str, object] | None = None,
        on_progress: Callable[[EvaluationResult], None] | None = None,
        **options: Unpack[Options],
    ) -> EvaluationResult:
        """Run anything on inputs and score its outputs.

        Without `expected_outputs`, or with an empty list, the evaluation is blind.

        `runnable` is a function, a coroutine function, or an object with `run` or `invoke`. `evaluators` are those of
        the service, `metrics` are your own functions `(input, output, expected) -> number`, which may stand among the
        `evaluators` too; with neither, a default set is used and named on stderr. With `resume=True`, the newest
        unfinished evaluation of that name on the same inputs is continued. `on_progress` receives each partial result.
        """
        for result in self.eval_iter(
            runnable,
            inputs,
            expected_outputs,
            evaluators=evaluators,
            metrics=metrics,
            name=name,
            resume=resume,
            parameters=parameters,
            **options,
        ):
            if on_progress is not None:
                on_progress(result)
        return result

    def eval_iter(
        self,
        runnable: object,
        inputs: Sequence[object] | Mapping[str, object] | str,
        expected_outputs: Sequence[object] | Mapping[str, object] | str | None = None,
        *,
        evaluators: Evaluators | None = None,
        metrics: Scorers | None = None,
        name: str | None = None,
        resume: bool = False,
        parameters: Mapping[str, object] | None = None,
        **options: Unpack[Options],
    ) -> Iterator[EvaluationResult]:
        """Like `eval`, but yield partial results while it runs; the last one is final, with every score."""
        if isinstance(runnable, Pipeline):
            # Expand the inputs, so that the stored dataset shows which component received which value.
            inputs = [runnable.expand(value) for value in as_list(inputs)]
        evaluators, metrics = split_functions(evaluators, metrics)
        expected_outputs = _pick_expected(expected_outputs, options)
        examples = build_examples(inputs, expected_outputs, options.get("contexts"), clusters=options.get("cluster_by"))
        selected_evaluators = (
            self._choose_defaults(examples, options) if evaluators is None and not metrics else evaluators or ()
        )
        request = ExperimentRequest(
            name=name or f"eval {get_runnable_name(runnable)}"[:100],
            examples=examples,
            evaluators=selected_evaluators,
            scorers=build_scorers(metrics),
            configs={EVAL: runnable},
            parameters={EVAL: parameters or {}},
            options=options,
        )
        experiment = self._open(request, resume, HOW_TO_RESUME_EVAL)
        return experiment.results_of(EVAL)

    def resume(
        self,
        experiment_id: str,
        runnable: object,
        *,
        metrics: Scorers | None = None,
        on_progress: Callable[[EvaluationResult], None] | None = None,
        **options: Unpack[RunOptions],
    ) -> EvaluationResult:
        """Go on with an evaluation that was interrupted; what is recorded is not run again.

        Functions of `metrics` are given again, since the service does not have them.
        """
        body = self.experiments_api.experiment(experiment_id)
        config = body["configs"][0]["name"]
        experiment = self._attach(body, {config: runnable}, build_scorers(metrics), {}, options, HOW_TO_RESUME_EVAL)
        for result in experiment.results_of(config):
            if on_progress is not None:
                on_progress(result)
        return result

    def experiment(
        self,
        name: str,
        configs: Mapping[str, object],
        inputs: Sequence[object] | None = None,
        expected_outputs: Sequence[object] | None = None,
        *,
        evaluators: Evaluators = (),
        metrics: Scorers | None = None,
        dataset_id: str | None = None,
        dataset_version: int | None = None,
        resume: bool = False,
        parameters: Mapping[str, Mapping[str, object]] | None = None,
        background: bool = False,
        on_progress: Callable[[ExperimentResult, Live], None] | None = None,
        **options: Unpack[Options],
    ) -> ExperimentResult:
        """Run several configs on the same examples, in turns; configs that the policy stops are not run further.

        `configs` maps names to runnables, `parameters` maps the same names to the parameters to display. The default
        policy is `race_default`, or `manual` with `cluster_by`, which races do not support. With `background=True` the
        call returns immediately, and `wait()` waits for the end. `on_progress` receives the experiment, to control it,
        and its status.
        """
        selected_evaluators, metrics = split_functions(evaluators, metrics)
        request = ExperimentRequest(
            name=name,
            examples=build_examples(
                inputs,
                _pick_expected(expected_outputs, options),
                options.get("contexts"),
                dataset_id=dataset_id,
                dataset_version=dataset_version,
                clusters=options.get("cluster_by"),
            ),
            evaluators=selected_evaluators or (),
            scorers=build_scorers(metrics),
            configs=configs,
            parameters=parameters or {},
            options={"policy": "manual" if "cluster_by" in options else "race_default", **options},
        )
        experiment = self._open(request, resume, HOW_TO_RESUME_EXPERIMENT)
        if background:
            experiment.run_in_background(on_progress)
            return experiment
        return experiment.run(on_progress)

    def compare(
        self,
        a: str | EvaluationResult,
        b: str | EvaluationResult,
        *,
        metric: str | None = None,
        cluster_by: str | None = None,
    ) -> Comparison:
        """Compare two configs of any runs, the first minus the second: positive when the first is better.

        Each is the ID of a config, the ID of an experiment with one config, or a result of `eval`. The default metric
        is the primary metric of the first. Examples are matched by identity, or across two dataset versions by ID and
        content. With `cluster_by`, such as `metadata.document`, or where the plans define clusters, the interval is
        over clusters.
        """
        params: dict[str, Param] = {"a": _config_id(a), "b": _config_id(b), "metric": metric, "cluster_by": cluster_by}
        api = self.experiments_api
        return Comparison.read(api.compare(params), lambda cursor: api.compare({**params, "cursor": cursor}))

    def score_batch(
        self,
        rows: Sequence[Mapping[str, object]],
        evaluators: Evaluators,
        *,
        name: str | None = None,
        sample: Mapping[str, str] | None = None,
        level: float = 0.95,
        promote: bool | None = None,
    ) -> EvaluationResult:
        """Score up to 1000 outputs that you have already, and wait for the scores; nothing of yours is run.

        Each row has an `output`, and as far as there are some `input`, `expected`, `contexts`, `metadata`, an `id` and
        the `finish_reason` of the model: what was cut, filtered or refused counts as failed.
        Estimates, comparisons and further metrics are those of a result of `eval`, and so is `promote`: whether the
        scores enter the history of production, which they do not by default. TimeoutError when nothing has been scored
        for five minutes.
        """
        metrics = build_plan_metrics(evaluators, None)
        body = {"rows": [build_row(row) for row in rows], "metrics": metrics, "level": level}
        body |= {key: value for key, value in (("name", name), ("sample", sample)) if value}
        body |= {} if promote is None else {"promote": promote}
        return self._wait_for_scores(self.experiments_api.score_batch(body), metrics)

    def score_file(
        self,
        path: str | Path,
        evaluators: Evaluators,
        *,
        mapping: Mapping[str, str | Sequence[str]] | None = None,
        metadata: Sequence[str] = (),
        format: str | None = None,
        name: str | None = None,
        level: float = 0.95,
        promote: bool | None = None,
    ) -> EvaluationResult:
        """Score the outputs in a file (CSV, JSON lines, a JSON list, Parquet), which the service reads.

        Columns are found by their usual names: in `question,answer,context` the answer is the output. `mapping` names
        others: `{"output": "Antwort"}`. Columns that are no field are left out, except those of `metadata`. Results of
        RAGAS, DeepEval, LM-Eval, promptfoo and Inspect are read, too. The result is that of `score_batch`; two files
        with the same ids can be compared by `client.compare(first, second)`.
        """
        source = Path(path)
        metrics = build_plan_metrics(evaluators, None)
        fields = {"name": name or source.stem[:100], "level": str(level), "metrics": json.dumps(metrics)}
        fields |= {"format": format} if format else {}
        options = {"custom_field_mapping": dict(mapping or {}), "metadata": list(metadata), "promote": promote}
        fields |= {key: json.dumps(value) for key, value in options.items() if value not in ({}, [], None)}
        with source.open("rb") as file:
            answer = self.experiments_api.score_file((source.name, file), fields)
        return self._wait_for_scores(answer, metrics)

    def _wait_for_scores(self, answer: BatchBody, metrics: Sequence[Mapping[str, object]]) -> EvaluationResult:
        experiment_id, config_id = str(answer["experiment_id"]), str(answer["config_id"])
        names = [str(metric["name"]) for metric in metrics]
        n_wanted = len(answer["results"])
        wait_until_scored(self.experiments_api, experiment_id, config_id, names, n_wanted=n_wanted)
        result = self.resume_experiment(experiment_id).result(config_id)
        result.comparable = tuple(answer.get("comparable", ()))
        return result

    def resume_experiment(
        self,
        experiment_id: str,
        configs: Mapping[str, object] | None = None,
        *,
        metrics: Scorers | None = None,
        **options: Unpack[RunOptions],
    ) -> ExperimentResult:
        """Take up an experiment with runnables for its push configs; `run()` goes on with it. Without any, look on."""
        body = self.experiments_api.experiment(experiment_id)
        return self._attach(body, configs or {}, build_scorers(metrics), {}, options, HOW_TO_RESUME_EXPERIMENT)

    def run_benchmark(
        self,
        benchmark: str | BenchmarkRecord,
        runnable: object,
        *,
        name: str | None = None,
        progress: bool = True,
        **said: object,
    ) -> EvaluationResult:
        """Run your own code on a benchmark and return the result; the benchmark's history shows how it compares.

        `said` accepts `model`, `task_version`, `environment` and `allow_drift`. Recorded outputs of an interrupted run
        are retained: continue it with `client.resume(result.experiment_id, runnable)`.
        """
        config = {
            "name": name or get_runnable_name(runnable)[:100],
            "kind": "push",
            "parameters": describe(runnable, {}),
        }
        execution = self.benchmarks.execute(benchmark, config, **said)
        return self.resume(execution.experiment_id, runnable, progress=progress)

    def _choose_defaults(self, examples: Examples, options: RunOptions) -> Evaluators:
        evaluators, why = default_evaluators(
            self._transport,
            has_expected=any("expected" in row for row in examples.rows),
            has_contexts=any("contexts" in row for row in examples.rows),
        )
        if read_run_options(options)["progress"]:
            print(why, file=sys.stderr)
        return evaluators

    def _open(self, request: ExperimentRequest, resume: bool, how_to_resume: str) -> ExperimentResult:
        # First, since it refuses what cannot be: then nothing is stored.
        plan = request.build_plan()
        check_runnables(
            request.configs.values(), request.examples.local, request.options.get("modes", ()), request.options
        )
        dataset = request.examples.store(self.experiments_api)
        body = find_unfinished(self.experiments_api, request, dataset) if resume else None
        if body is None:
            body = self.experiments_api.create_experiment(request.build_body(plan, dataset))
        local_examples = request.examples.local
        return self._attach(body, request.configs, request.scorers, local_examples, request.options, how_to_resume)

    def _attach(
        self,
        body: ExperimentBody,
        runnables: Mapping[str, object],
        scorers: Mapping[str, CustomMetric],
        local_examples: Mapping[str, LocalExample],
        options: RunOptions,
        how_to_resume: str,
    ) -> ExperimentResult:
        run_options = read_run_options(options)
        modes = body["plan"].get("modes") or ()
        if runnables:
            check_scorers(body, scorers)
        simulation = check_runnables(runnables.values(), local_examples, modes, options)
        by_source = group_by_source(body)
        if ISOLATED in modes and runnables and run_options["progress"]:
            print(describe_isolated_runs(body, runnables.values(), by_source, simulation.names), file=sys.stderr)
        workers = WorkerPool(
            self.experiments_api,
            body["id"],
            scorers,
            local_examples,
            threads=run_options["threads"],
            lease_seconds=run_options["lease_seconds"],
            modes=modes,
            simulation=simulation,
            n_samples=body["plan"].get("n_samples", 1),
            by_source=by_source,
        )
        parameters = {config["id"]: config["parameters"] for config in body["configs"]}
        for config_id, name, runnable in pair_configs(body, runnables):
            workers.add(config_id, name, runnable, parameters[config_id])
        return ExperimentResult(
            client=self,
            body=body,
            workers=workers,
            how_to_resume=how_to_resume.format(id=body["id"]),
            progress=run_options["progress"],
        )


def _pick_expected(expected_outputs: Any, options: Options) -> Any:
    return pick_spelling(expected_outputs=expected_outputs, expected_output=options.get("expected_output"))


def _config_id(compared: str | EvaluationResult) -> str:
    """Return the id that names a config: an id as it is, or that of the config which gave a result."""
    if isinstance(compared, str):
        return compared
    id = compared.config_id or compared.experiment_id
    if id is None:
        raise ValueError("This result was not made by the service, so it has no config there to compare.")
    return id
