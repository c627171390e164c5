"""Scoring of existing outputs: an experiment with one config, submitted together with its outputs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.datasets.services import create_dataset
from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.kinds import FINISH_REASON
from evalsvc.experiments.definition.metrics import MEASURED_ALIKE, Metric
from evalsvc.experiments.definition.plans import check_plan
from evalsvc.experiments.models import Config, ExperimentPlan, WorkUnit
from evalsvc.experiments.runner.push import units
from evalsvc.experiments.selectors import list_plans
from evalsvc.experiments.services import create_experiment
from evalsvc.rest.problems import FieldError, Invalid

CONFIG = "batch"
DATASET_PREFIX = "batch-"
EXAMPLE_FIELDS = ("id", "input", "expected", "contexts", "metadata")
LEASE_SECONDS = 60.0
N_LOOKED_AT = 20
"""The newest files among which comparable ones are looked for."""


def score_batch(
    *,
    account: Account,
    epoch: str | None,
    name: str | None,
    rows: Sequence[Mapping[str, Any]],
    plan: Mapping[str, Any],
    actor: str,
    parameters: Mapping[str, Any] | None = None,
) -> ExperimentPlan:
    """Store rows as a dataset and their outputs as those of one config, and score them; return the plan.

    `parameters` are those of the config: where the outputs came from.

    Inline metrics are scored here, others wait for the workers. Raises Invalid, with pointers into the body.
    """
    title = name or f"batch-{uuid.uuid4().hex[:12]}"
    try:
        version = create_dataset(
            account=account,
            name=f"{DATASET_PREFIX}{uuid.uuid4().hex[:24]}",
            description=f"The rows of {title}.",
            rows=read_examples([_example(row) for row in rows]),
            format=DatasetVersion.Format.JSON,
            actor=actor,
        )
        body = {**plan, "dataset_id": version.dataset_id}
        spec = check_plan(account=account, epoch=epoch, body=body)
    except Invalid as exc:
        raise Invalid(*(FieldError(_pointer(error.pointer), error.detail) for error in exc.errors)) from None
    experiment = create_experiment(
        account=account,
        name=title,
        plan=spec,
        candidates=[Candidate(name or CONFIG, Config.Kind.PUSH, dict(parameters or {}))],
        start=True,
        actor=actor,
    )
    config = Config.objects.get(experiment_id=experiment.pk)
    outputs = {str(row.get("id") or i): _get_output(row) for i, row in enumerate(rows, 1)}
    while leased := units.lease_push_unit(account=account, config=config, size=len(rows), lease_seconds=LEASE_SECONDS):
        units.post_outputs(
            held=WorkUnit.objects.get(account=account, pk=leased.unit.id),
            token=leased.unit.token,
            outputs=[{"pos": pos, **outputs[example["id"]]} for pos, example in leased.examples.items()],
            is_done=True,
            lease_seconds=LEASE_SECONDS,
        )
    step(account_id=account.pk, experiment_id=experiment.pk, wait=True)
    return ExperimentPlan.objects.select_related("experiment", "dataset_version").get(pk=experiment.pk)


def is_batch(plan: ExperimentPlan) -> bool:
    """Return whether an experiment is of existing outputs."""
    return plan.dataset_version.dataset.name.startswith(DATASET_PREFIX)


def list_batches(*, account: Account) -> QuerySet[ExperimentPlan]:
    """Return the experiments of existing outputs, newest first."""
    return list_plans(account=account).filter(dataset_version__dataset__name__startswith=DATASET_PREFIX)


@dataclass(frozen=True, slots=True)
class ComparableFile:
    """A file over some of the same examples, and a metric that both have."""

    plan: ExperimentPlan
    n_common: int
    metric: str


def list_comparable_files(account: Account, plan: ExperimentPlan) -> list[ComparableFile]:
    """Return the newest files over the same examples that share an evaluator."""
    if not is_batch(plan):
        return []
    others = [other for other in list_batches(account=account)[:N_LOOKED_AT] if other.pk != plan.pk]
    counts = count_shared_examples(plan, others)
    return [
        ComparableFile(other, counts[other.pk], metric)
        for other in others
        if other.pk in counts and (metric := _find_shared_metric(plan, other))
    ]


def _find_shared_metric(plan: ExperimentPlan, other: ExperimentPlan) -> str:
    others = _list_measured(other)
    return next((name for name, values in _list_measured(plan).items() if others.get(name) == values), "")


def _list_measured(plan: ExperimentPlan) -> dict[str, list[object]]:
    """Return of each metric what has to be the same for a comparison."""
    metrics = [Metric.from_json(row) for row in plan.metrics]
    return {metric.name: [getattr(metric, field) for field in MEASURED_ALIKE] for metric in metrics}


def count_shared_examples(plan: ExperimentPlan, others: Sequence[ExperimentPlan]) -> dict[int, int]:
    """Return how many examples of a plan, by id and content, each of the others has; those without any are left out."""
    same = Example.objects.filter(version_id=plan.dataset_version_id, key=OuterRef("key"), digest=OuterRef("digest"))
    rows = Example.objects.filter(Exists(same), version_id__in=[other.dataset_version_id for other in others])
    counts = dict(rows.values_list("version_id").annotate(n=Count("*")))
    return {other.pk: counts[other.dataset_version_id] for other in others if other.dataset_version_id in counts}


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without its output; a batch of outputs alone has nothing that they answer."""
    return {"input": "", **{name: row[name] for name in EXAMPLE_FIELDS if row.get(name) is not None}}


def _get_output(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of a row as a push config posts it."""
    return {name: row.get(name) for name in ("output", FINISH_REASON)}


def _pointer(pointer: str) -> str:
    return (
        pointer.replace("/examples/", "/rows/", 1)
        if pointer.startswith("/examples/")
        else pointer.removeprefix("/plan")
    )
