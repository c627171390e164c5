"""Verbs on benchmarks: create, execute, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.benchmarks.logic import LogicChange, changes_between, digest_of_logic, resolve_logic
from evalsvc.benchmarks.models import Benchmark, Execution
from evalsvc.benchmarks.selectors import get_benchmark
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.plans import PlanSpec
from evalsvc.experiments.models import Failures
from evalsvc.experiments.services import create_experiment
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.tenancy.scope import account_scope, current_role

MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The caller's description of the task and the environment, so that a change of them is visible."""

    task_version: str | None = None
    model: str | None = None
    environment: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as the experiment's metadata, by which runs are found."""
        fields = {"task_version": self.task_version, "model": self.model}
        return {**(self.environment or {}), **{name: value for name, value in fields.items() if value is not None}}


def create_benchmark(
    *, account: Account, name: str, description: str, plan: Mapping[str, Any], spec: PlanSpec, actor: str
) -> Benchmark:
    """Freeze a plan under a name: as requested, pinned to its dataset version, with its resolved logic."""
    pinned = {**plan, "dataset_version": spec.version.number, "failures": str(spec.fields["failures"])}
    try:
        with account_scope(account.pk), transaction.atomic(using=current_role()):
            logic = resolve_logic(account, spec)
            benchmark = Benchmark.objects.create(
                account=account,
                name=name,
                description=description,
                dataset_version=spec.version,
                plan=pinned,
                logic=logic,
                digest=digest_of_logic(logic),
            )
            record_audit(account=account, actor=actor, action="benchmark.created", target=name)
    except IntegrityError:
        error = FieldError("/name", f"A benchmark named {name!r} exists already.")
        raise Invalid(error, code="already_exists") from None
    benchmark.refresh_from_db()
    return benchmark


def get_frozen_plan(benchmark: Benchmark) -> dict[str, Any]:
    """Return the plan of a benchmark; one of before the option `failures` leaves failed outputs out."""
    is_earlier = "failures" not in benchmark.plan and "errors" not in benchmark.plan
    return {**benchmark.plan, **({"failures": str(Failures.EXCLUDE)} if is_earlier else {})}


def execute_benchmark(
    *,
    account: Account,
    benchmark: Benchmark,
    spec: PlanSpec,
    candidate: Candidate,
    said: ExecutionContext,
    allow_drift: bool,
    actor: str,
) -> Execution:
    """Run the benchmark with one config: create an experiment and start it.

    Raises `drifted` if the logic differs from the frozen one; with `allow_drift` the current logic applies, and the
    execution stores what has changed.
    """
    with account_scope(account.pk):
        logic = resolve_logic(account, spec)
        changes = changes_between(benchmark.logic, logic)
        if changes and not allow_drift:
            raise build_drift_problem(benchmark, changes)
        locked = get_benchmark(account=account, id=benchmark.pk, lock=True)
        locked.n_executions += 1
        locked.save(update_fields=["n_executions"])
        experiment = create_experiment(
            account=account,
            name=f"{benchmark.name} {locked.n_executions}",
            metadata=said.to_json() or None,
            tags={"benchmark": benchmark.name},
            plan=spec,
            candidates=[candidate],
            start=True,
            actor=actor,
        )
        execution = Execution.objects.create(
            account=account,
            benchmark=benchmark,
            number=locked.n_executions,
            experiment=experiment,
            digest=digest_of_logic(logic),
            drift=[change.to_json() for change in changes],
            task_version=said.task_version,
            model=said.model,
            environment=dict(said.environment or {}),
        )
        execution.refresh_from_db()
        return execution


def build_drift_problem(benchmark: Benchmark, changes: Sequence[LogicChange]) -> Problem:
    """Make the refusal, with a pointer into the frozen logic for each change."""
    first_changes = changes[:MAX_SHOWN]
    errors = [
        FieldError(change.pointer, f"It was {_short(change.was)}, and is {_short(change.now)}.")
        for change in first_changes
    ]
    detail = f"{len(changes)} things that {benchmark.name!r} measures by have changed since it was made."
    return Problem(detail, code="drifted", errors=errors)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def delete_benchmark(*, account: Account, benchmark: Benchmark, actor: str) -> None:
    """Delete a benchmark with its list of executions; the experiments stay."""
    with account_scope(account.pk):
        record_audit(account=account, actor=actor, action="benchmark.deleted", target=benchmark.name)
        Benchmark.objects.filter(account=account, pk=benchmark.pk).delete()
