"""Scoring of existing outputs: an experiment with one config, submitted together with its outputs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.models import DatasetVersion
from evalsvc.datasets.services import create_dataset
from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.plans import check_plan
from evalsvc.experiments.models import Config, ExperimentPlan, WorkUnit
from evalsvc.experiments.runner.push import units
from evalsvc.experiments.services import create_experiment
from evalsvc.rest.problems import FieldError, Invalid

CONFIG = "batch"
EXAMPLE_FIELDS = ("id", "input", "expected", "contexts", "metadata")
LEASE_SECONDS = 60.0


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
            name=f"batch-{uuid.uuid4().hex[:24]}",
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
        candidates=[Candidate(CONFIG, Config.Kind.PUSH, dict(parameters or {}))],
        start=True,
        actor=actor,
    )
    config = Config.objects.get(experiment_id=experiment.pk)
    outputs = {str(row.get("id") or i): row.get("output") for i, row in enumerate(rows, 1)}
    while leased := units.lease_push_unit(account=account, config=config, size=len(rows), lease_seconds=LEASE_SECONDS):
        units.post_outputs(
            held=WorkUnit.objects.get(account=account, pk=leased.unit.id),
            token=leased.unit.token,
            outputs=[{"pos": pos, "output": outputs[example["id"]]} for pos, example in leased.examples.items()],
            is_done=True,
            lease_seconds=LEASE_SECONDS,
        )
    step(account_id=account.pk, experiment_id=experiment.pk, wait=True)
    return ExperimentPlan.objects.select_related("experiment", "dataset_version").get(pk=experiment.pk)


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without its output; a batch of outputs alone has nothing that they answer."""
    return {"input": "", **{name: row[name] for name in EXAMPLE_FIELDS if row.get(name) is not None}}


def _pointer(pointer: str) -> str:
    return (
        pointer.replace("/examples/", "/rows/", 1)
        if pointer.startswith("/examples/")
        else pointer.removeprefix("/plan")
    )
