"""Parse the body of an experiment so that it can be stored or previewed: first its shape, then its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rest_framework.exceptions import ValidationError

from evalsvc.accounts.models import Account
from evalsvc.accounts.views import validate_strict
from evalsvc.datasets.importers.outputs import OutputRows
from evalsvc.experiments import batches
from evalsvc.experiments.bodies.plans import BatchOptionsIn, ExperimentIn, build_batch_plan
from evalsvc.experiments.definition.checks.modes import check_modes, find_sources
from evalsvc.experiments.definition.checks.unmapped import check_components, check_known_components, expected_components
from evalsvc.experiments.definition.checks.unreadable import check_outputs
from evalsvc.experiments.definition.configs import Candidate, expand
from evalsvc.experiments.definition.metrics import add_source_twins, group_by_source
from evalsvc.experiments.definition.plans import PlanSpec, check_plan, check_templates
from evalsvc.experiments.definition.ranges import add_range_warnings
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.runner.previews.experiments import preview
from evalsvc.rest.problems import FieldError, Invalid, field_errors


@dataclass(frozen=True, slots=True)
class PlannedExperiment:
    """A checked body with what its plan and configs come to; without a plan it is a name for evaluations."""

    body: Mapping[str, Any]
    spec: PlanSpec | None = None
    candidates: list[Candidate] = field(default_factory=list)


def read_experiment(*, account: Account, epoch: str | None, sent: Any) -> PlannedExperiment:
    """Check what was sent, and resolve its plan and configs. Raises Invalid with pointers."""
    try:
        body = validate_strict(ExperimentIn(data=sent))
    except ValidationError as exc:
        raise Invalid(*field_errors(exc.detail)) from None
    configs = body.get("configs") or []
    if not body.get("plan"):
        if configs:
            raise Invalid(FieldError("/configs", "Configs need a `plan`: a dataset and metrics."))
        return PlannedExperiment(body)
    spec = check_plan(account=account, epoch=epoch, body=body["plan"])
    candidates = expand(configs, account=account, pointer="/configs")
    check_templates(account=account, version=spec.version, candidates=candidates)
    check_components(spec.version, spec.metrics, spec.fields["sample"], candidates)
    check_known_components(spec.version, spec.metrics, candidates)
    check_modes(spec.fields["modes"], candidates)
    check_outputs(spec.version, spec.metrics, spec.fields["sample"], candidates)
    baseline = spec.fields.get("baseline")
    if baseline and baseline not in [candidate.name for candidate in candidates]:
        raise Invalid(FieldError("/plan/baseline", f"No config is named {baseline!r}."))
    return PlannedExperiment(body, spec, candidates)


def preview_experiment(*, account: Account, planned: PlannedExperiment) -> dict[str, Any]:
    """Count the configs, queries, tokens and cost of an experiment. Raises Invalid for one without a plan."""
    spec = planned.spec
    if spec is None:
        raise Invalid(FieldError("/plan", "A preview needs a plan."))
    sources = find_sources(planned.candidates, expected_components(spec.version))
    answer = preview(
        account=account,
        version=spec.version,
        candidates=planned.candidates,
        budget_queries=spec.fields.get("budget_queries"),
        limit=spec.fields.get("limit"),
        modes=spec.fields.get("modes"),
        n_samples=spec.fields["n_samples"],
        by_source=group_by_source(add_source_twins(spec.metrics, sources)),
    )
    return dict(add_range_warnings(answer, spec.version, spec.metrics))


def score_file(
    *, account: Account, epoch: str | None, file_name: str, file: OutputRows, options: Mapping[str, Any], actor: str
) -> ExperimentPlan:
    """Score the outputs of a file, as an experiment that knows its columns. Raises Invalid; nothing is stored then.

    `options` are those of a batch: `metrics`, and if wanted `name`, `sample`, `level` and `promote`. Call
    `enqueue_after_commit` afterwards: some metrics wait for the workers.
    """
    try:
        body = validate_strict(BatchOptionsIn(data=options))
    except ValidationError as exc:
        raise Invalid(*field_errors(exc.detail)) from None
    columns: dict[str, list[str]] = {}
    for use in file.columns:
        columns.setdefault(use.field, []).append(use.column)
    return batches.score_batch(
        account=account,
        epoch=epoch,
        name=body.get("name"),
        rows=file.rows,
        plan=build_batch_plan(body),
        actor=actor,
        parameters={"file": file_name, "columns": columns},
    )
