"""The client: one object for everything that a caller's own code asks of the service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from evalsvc.client.api import Api
from evalsvc.client.crew import Crew, Known
from evalsvc.client.experiment import ExperimentResult
from evalsvc.client.launch import Wanted, check_scorers, examples_of, pair_up, scorers_of, unfinished
from evalsvc.client.live import Live
from evalsvc.client.metrics import CustomMetric, Scorer, evaluator_as_wire, split_evaluator
from evalsvc.client.options import Options, RunOptions, run_options
from evalsvc.client.results import EvaluationResult
from evalsvc.client.runnables import name_of
from evalsvc.client.transport import Transport
from evalsvc.client.verdicts import EvaluateResult, History

Evaluators = Sequence[str | Mapping[str, Any]]
Scorers = Mapping[str, Scorer | CustomMetric]
FIRST_LOOK_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 2.0
EVAL = "eval"
HOW_TO_RESUME_EVAL = "`client.resume({id!r}, runnable)`."
HOW_TO_RESUME_EXPERIMENT = "`client.resume_experiment({id!r}, configs).run()`."


class Client:
    """Talks to one service with one API key; threads may share it.

    The address and the key come from the arguments, or from EVALSVC_BASE_URL and EVALSVC_API_KEY.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60,
        retries: int = 3,
        http_transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._transport = Transport(base_url, api_key, timeout=timeout, retries=retries, http_transport=http_transport)
        self._timeout = timeout
        self._api = Api(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def whoami(self) -> dict[str, Any]:
        """Return the account and the scope of the key."""
        caller: dict[str, Any] = self._transport.get("/v1/whoami")["caller"]
        return caller

    def evaluate(
        self,
        evaluators: Evaluators,
        *,
        input: str | None = None,
        output: str | None = None,
        contexts: str | Sequence[str] | None = None,
        gold: str | None = None,
        system_prompt: str | None = None,
        capture: str | None = None,
        strategy: str | None = None,
        explain: str | None = None,
        app: str | None = None,
        project: str | None = None,
        tags: Mapping[str, str] | None = None,
        wait: float | None = None,
        **fields: Any,
    ) -> EvaluateResult:
        """Judge one sample; return a verdict for each evaluator, in the order given.

        Evaluators are named `"pii"` or `"pii/profile"`, or are entries of the wire. Work that is queued is waited
        for up to `wait` seconds (default: the client's timeout); what is unfinished then stays `pending`. Further
        `fields` of the API go along as they are.
        """
        retrieved = contexts if contexts is None or isinstance(contexts, str) else [*contexts]
        sample = {
            "evaluated_model_input": input,
            "evaluated_model_output": output,
            "evaluated_model_retrieved_context": retrieved,
            "evaluated_model_gold_answer": gold,
            "evaluated_model_system_prompt": system_prompt,
            "capture": capture,
            "confidence_interval_strategy": strategy,
            "explain": explain,
            "app": app,
            "project_name": project,
            "tags": dict(tags) if tags is not None else None,
        }
        body = {name: value for name, value in sample.items() if value is not None} | fields
        deadline = time.monotonic() + (self._timeout if wait is None else wait)
        headers = {} if wait is None else {"Prefer": f"wait={max(1, min(60, int(wait)))}"}
        body["evaluators"] = [evaluator_as_wire(one) for one in evaluators]
        result = EvaluateResult.read(self._transport.post("/v1/evaluate", body, headers=headers))
        pause = FIRST_LOOK_SECONDS
        while result.is_pending and result.request_id and time.monotonic() + pause < deadline:
            time.sleep(pause)
            result = self.evaluation(result.request_id)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return result

    def evaluation(self, request_id: str) -> EvaluateResult:
        """Return what became of a request that was answered with `pending`, or was captured."""
        return EvaluateResult.read(self._transport.get(f"/v1/evaluate/{request_id}"))

    def history(
        self,
        evaluator: str,
        profile: str | None = None,
        *,
        strategy: str = "full-history",
        level: float = 0.95,
        limit: int = 100,
        cursor: str | None = None,
    ) -> History:
        """Return the captured scores of an evaluator under a profile, newest first, and how sure their mean is."""
        name, in_name = split_evaluator(evaluator)
        params = {"evaluator": name, "profile": profile or in_name, "strategy": strategy, "level": level}
        return History.read(self._transport.get("/v1/history", {**params, "limit": limit, "cursor": cursor}))

    def eval(
        self,
        runnable: object,
        inputs: Sequence[Any] | Mapping[str, Any] | str,
        expected_outputs: Sequence[Any] | Mapping[str, Any] | str | None = None,
        *,
        evaluators: Evaluators = (),
        metrics: Scorers | None = None,
        name: str | None = None,
        resume: bool = False,
        parameters: Mapping[str, Any] | None = None,
        on_progress: Callable[[EvaluationResult], None] | None = None,
        **options: Unpack[Options],
    ) -> EvaluationResult:
        """Run anything on inputs and score what it says; `expected_outputs` left out or empty is a blind evaluation.

        `runnable` is a function, a coroutine function, or an object with `run`. `evaluators` are the service's,
        `metrics` functions `(input, output, expected) -> number` of your own. With `resume=True`, the newest unfinished
        evaluation of that name on the same inputs goes on where it stood. `on_progress` gets each partial result.
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
        inputs: Sequence[Any] | Mapping[str, Any] | str,
        expected_outputs: Sequence[Any] | Mapping[str, Any] | str | None = None,
        *,
        evaluators: Evaluators = (),
        metrics: Scorers | None = None,
        name: str | None = None,
        resume: bool = False,
        parameters: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> Iterator[EvaluationResult]:
        """Like `eval`, but yield partial results while it runs; the last one is final, with every score."""
        wanted = Wanted(
            name=name or f"eval {name_of(runnable)}"[:100],
            examples=examples_of(inputs, expected_outputs, options.get("contexts")),
            evaluators=evaluators,
            scorers=scorers_of(metrics),
            configs={EVAL: runnable},
            parameters={EVAL: parameters or {}},
            options=options,
        )
        experiment = self._open(wanted, resume, HOW_TO_RESUME_EVAL)
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
        body = self._api.experiment(experiment_id)
        config = body["configs"][0]["name"]
        experiment = self._attach(body, {config: runnable}, scorers_of(metrics), {}, options, HOW_TO_RESUME_EVAL)
        for result in experiment.results_of(config):
            if on_progress is not None:
                on_progress(result)
        return result

    def experiment(
        self,
        name: str,
        configs: Mapping[str, object],
        inputs: Sequence[Any] | None = None,
        expected_outputs: Sequence[Any] | None = None,
        *,
        evaluators: Evaluators = (),
        metrics: Scorers | None = None,
        dataset_id: str | None = None,
        dataset_version: int | None = None,
        resume: bool = False,
        parameters: Mapping[str, Mapping[str, Any]] | None = None,
        background: bool = False,
        on_progress: Callable[[ExperimentResult, Live], None] | None = None,
        **options: Unpack[Options],
    ) -> ExperimentResult:
        """Run several configs on the same examples, in turns; those that the policy stops are run no further.

        `configs` maps names to runnables, `parameters` the same names to what should be shown of them. The policy is
        `race_default` unless said otherwise. With `background=True` it returns at once, and `wait()` waits.
        `on_progress` gets the experiment, to steer it, and how it stands.
        """
        wanted = Wanted(
            name=name,
            examples=examples_of(
                inputs,
                expected_outputs,
                options.get("contexts"),
                dataset_id=dataset_id,
                dataset_version=dataset_version,
            ),
            evaluators=evaluators,
            scorers=scorers_of(metrics),
            configs=configs,
            parameters=parameters or {},
            options={"policy": "race_default", **options},
        )
        experiment = self._open(wanted, resume, HOW_TO_RESUME_EXPERIMENT)
        if background:
            experiment.run_in_background(on_progress)
            return experiment
        return experiment.run(on_progress)

    def resume_experiment(
        self,
        experiment_id: str,
        configs: Mapping[str, object] | None = None,
        *,
        metrics: Scorers | None = None,
        **options: Unpack[RunOptions],
    ) -> ExperimentResult:
        """Take up an experiment with runnables for its push configs; `run()` goes on with it. Without any, look on."""
        body = self._api.experiment(experiment_id)
        return self._attach(body, configs or {}, scorers_of(metrics), {}, options, HOW_TO_RESUME_EXPERIMENT)

    def _open(self, wanted: Wanted, resume: bool, how_to_resume: str) -> ExperimentResult:
        dataset = wanted.examples.stored(self._api)
        body = unfinished(self._api, wanted, dataset) if resume else None
        if body is None:
            body = self._api.create_experiment(wanted.as_wire(dataset))
        known = wanted.examples.known
        return self._attach(body, wanted.configs, wanted.scorers, known, wanted.options, how_to_resume)

    def _attach(
        self,
        body: Mapping[str, Any],
        runnables: Mapping[str, object],
        scorers: Mapping[str, CustomMetric],
        known: Mapping[str, Known],
        options: Mapping[str, Any],
        how_to_resume: str,
    ) -> ExperimentResult:
        chosen = run_options(options)
        if runnables:
            check_scorers(body, scorers)
        crew = Crew(
            self._api,
            body["id"],
            scorers,
            known,
            threads=chosen["threads"],
            lease_seconds=chosen["lease_seconds"],
        )
        for config_id, name, runnable in pair_up(body, runnables):
            crew.add(config_id, name, runnable)
        return ExperimentResult(
            client=self,
            api=self._api,
            body=body,
            crew=crew,
            how_to_resume=how_to_resume.format(id=body["id"]),
            progress=chosen["progress"],
        )
