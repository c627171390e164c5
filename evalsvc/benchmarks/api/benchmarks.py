"""/v1/benchmarks: freeze a plan, run it with one config after another, and compare the results over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.benchmarks import services
from evalsvc.benchmarks.api.answers import (
    BenchmarkAnswer,
    BenchmarkFacts,
    BenchmarkPage,
    ExecutionAnswer,
    ExecutionPage,
    LogicDrift,
)
from evalsvc.benchmarks.history import build_history
from evalsvc.benchmarks.logic import changes_between, resolve_logic
from evalsvc.benchmarks.models import MAX_NAME, Benchmark
from evalsvc.benchmarks.selectors import get_benchmark, list_benchmarks, list_executions
from evalsvc.experiments.bodies.plans import ConfigIn, PlanIn
from evalsvc.experiments.bodies.strict import Strict
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.plans import PlanSpec
from evalsvc.experiments.parser import read_experiment
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answers_with, build_shape
from evalsvc.rest.bodies.fields import Metadata, StrictText
from evalsvc.rest.bodies.names import NameText
from evalsvc.rest.problems import FieldError, Invalid

MAX_EXECUTIONS = 50
OF_RUNS = ("start", "policy", "k_max", "epsilon", "baseline", "stop_when_decided")


class BenchmarkIn(Strict):
    """A question to freeze."""

    name = NameText(max_length=MAX_NAME)
    description = StrictText(max_length=2000, required=False, allow_blank=True, default="")
    plan = PlanIn(help_text="The dataset, the metrics and their rules, as of an experiment.")


class ExecutionIn(Strict):
    """A config to ask."""

    config = ConfigIn()
    task_version = StrictText(max_length=200, required=False, allow_null=True)
    model = StrictText(max_length=200, required=False, allow_null=True)
    environment = Metadata(required=False, allow_null=True)
    allow_drift = serializers.BooleanField(default=False)


class BenchmarksQuery(serializers.Serializer[Any]):
    """The query of the list of benchmarks."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = StrictText(max_length=500, required=False)


class ExecutionsQuery(serializers.Serializer[Any]):
    """The query of the executions."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_EXECUTIONS, default=20)
    cursor = StrictText(max_length=500, required=False)


class BenchmarkBaseView(AccountView):
    """What freezing and executing share."""

    def resolved(self, plan: Mapping[str, Any], configs: list[Mapping[str, Any]]) -> tuple[PlanSpec, list[Candidate]]:
        """Resolve a plan and configs as those of an experiment."""
        body = {"name": "benchmark", "plan": plan, "configs": configs}
        experiment = read_experiment(account=self.account, epoch=self.caller.admission.epoch, sent=body)
        assert experiment.spec is not None  # noqa: S101  there is a plan
        return experiment.spec, experiment.candidates


class BenchmarksView(BenchmarkBaseView):
    """Benchmarks."""

    @extend_schema(
        operation_id="list_benchmarks",
        tags=["benchmarks"],
        parameters=[BenchmarksQuery],
        responses=answers_with(BenchmarkPage),
    )
    def get(self, request: Request) -> Response:
        """List benchmarks, newest first."""
        query = validate_strict(BenchmarksQuery(data=get_query_params(request)))
        rows, cursor = page(
            list_benchmarks(account=self.account),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"benchmarks:{self.account.pk}",
        )
        return Response(BenchmarkPage(benchmarks=[benchmark_out(row) for row in rows], next_cursor=cursor))

    @extend_schema(
        operation_id="create_benchmark",
        tags=["benchmarks"],
        request=BenchmarkIn,
        responses=answers_with(BenchmarkAnswer),
    )
    def post(self, request: Request) -> Response:
        """Freeze a dataset version, metrics with their evaluators, profile revisions and prompts, and the rules."""
        body = validate_strict(BenchmarkIn(data=request.data))
        plan: Mapping[str, Any] = _get_body(request)["plan"]
        if run_options := [name for name in OF_RUNS if name in plan]:
            raise Invalid(
                *(FieldError(f"/plan/{name}", "A benchmark asks one config at a time.") for name in run_options)
            )
        spec, _ = self.resolved(plan, [])
        benchmark = services.create_benchmark(
            account=self.account,
            name=body["name"],
            description=body["description"],
            plan=plan,
            spec=spec,
            actor=self.caller.actor,
        )
        return Response(BenchmarkAnswer(benchmark=benchmark_out(benchmark), drift=[]))


class BenchmarkView(BenchmarkBaseView):
    """One benchmark."""

    @extend_schema(operation_id="benchmark", tags=["benchmarks"], responses=answers_with(BenchmarkAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return a benchmark, and what of its logic is another now."""
        benchmark = get_benchmark(account=self.account, id=id)
        return Response(BenchmarkAnswer(benchmark=benchmark_out(benchmark), drift=self._drift(benchmark)))

    @extend_schema(operation_id="delete_benchmark", tags=["benchmarks"], responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        """Delete a benchmark with the list of its executions; the experiments stay."""
        benchmark = get_benchmark(account=self.account, id=id)
        services.delete_benchmark(account=self.account, benchmark=benchmark, actor=self.caller.actor)
        return Response(status=204)

    def _drift(self, benchmark: Benchmark) -> list[LogicDrift]:
        try:
            spec, _ = self.resolved(services.get_frozen_plan(benchmark), [])
        except Invalid as exc:
            return [LogicDrift(pointer=error.pointer, was=None, now=error.detail) for error in exc.errors]
        changes = changes_between(benchmark.logic, resolve_logic(self.account, spec))
        return [LogicDrift(**change.to_json()) for change in changes]


class ExecutionsView(BenchmarkBaseView):
    """The executions of a benchmark."""

    @extend_schema(
        operation_id="list_executions",
        tags=["benchmarks"],
        parameters=[ExecutionsQuery],
        responses=answers_with(ExecutionPage),
    )
    def get(self, request: Request, id: int) -> Response:
        """Return what each execution has reached, newest first, each against the last and the best before it."""
        benchmark = get_benchmark(account=self.account, id=id)
        query = validate_strict(ExecutionsQuery(data=get_query_params(request)))
        rows, cursor = page(
            list_executions(account=self.account, benchmark=benchmark),
            limit=query["limit"],
            cursor=query.get("cursor"),
            of=f"executions:{self.account.pk}:{id}",
        )
        return Response({**build_history(self.account, benchmark, rows), "next_cursor": cursor})

    @extend_schema(
        operation_id="execute_benchmark",
        tags=["benchmarks"],
        request=ExecutionIn,
        responses=answers_with(ExecutionAnswer),
    )
    def post(self, request: Request, id: int) -> Response:
        """Ask the question of one config, as an experiment of its own that starts at once.

        409 `drifted` when what it is measured by has changed; with `allow_drift` the execution keeps what has.
        """
        benchmark = get_benchmark(account=self.account, id=id)
        body = validate_strict(ExecutionIn(data=request.data))
        try:
            spec, candidates = self.resolved(services.get_frozen_plan(benchmark), [_get_body(request)["config"]])
        except Invalid as exc:
            errors = (FieldError(_pointer(error.pointer), error.detail) for error in exc.errors)
            raise Invalid(*errors, code=exc.code) from None
        if len(candidates) != 1:
            raise Invalid(FieldError("/config/search", "One config at a time: this makes several."))
        execution = services.execute_benchmark(
            account=self.account,
            benchmark=benchmark,
            spec=spec,
            candidate=candidates[0],
            said=services.ExecutionContext(*(body.get(name) for name in ("task_version", "model", "environment"))),
            allow_drift=body["allow_drift"],
            actor=self.caller.actor,
        )
        enqueue_after_commit()
        (summary,) = build_history(self.account, benchmark, [execution])["executions"]
        return Response({"execution": summary})


def _get_body(request: Request) -> Mapping[str, Any]:
    """Return the body unchanged: the plan is stored as requested."""
    return cast("Mapping[str, Any]", request.data)


def _pointer(pointer: str) -> str:
    return "/config" + pointer.removeprefix("/configs/0") if pointer.startswith("/configs/0") else pointer


def benchmark_out(benchmark: Benchmark) -> BenchmarkFacts:
    """Return a benchmark."""
    version = benchmark.dataset_version
    return build_shape(
        benchmark,
        BenchmarkFacts,
        id=str(benchmark.pk),
        dataset_id=version.dataset_id,
        dataset_version=version.number,
        n_examples=version.n_examples,
    )
