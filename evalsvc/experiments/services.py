"""Verbs on experiments: create, add configs, start, delete. What a running one goes through: `control` and `push`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import numpy as np
from django.db import connections
from django.db.models import F, Max
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.experiments.definition.checks.modes import find_sources
from evalsvc.experiments.definition.checks.unmapped import expected_components
from evalsvc.experiments.definition.configs import Candidate, hash_config
from evalsvc.experiments.definition.metrics import ISOLATED, Metric, add_source_twins, group_by_source
from evalsvc.experiments.definition.pipelines import count_calls
from evalsvc.experiments.definition.plans import PlanSpec
from evalsvc.experiments.models import Config, ExperimentPlan, Output
from evalsvc.experiments.notices import EPOCHS, publish_on_commit
from evalsvc.projects.models import Experiment
from evalsvc.projects.services import lock_project
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope, current_role

DEFAULT_PROJECT = "default"

ITEMS = """
INSERT INTO experiments_experimentitem (account_id, experiment_id, pos, example_id)
SELECT %s, %s, (o.ordinal - 1)::int, e.id
FROM unnest(%s::int[]) WITH ORDINALITY AS o(place, ordinal)
JOIN datasets_example e ON e.version_id = %s AND e.position = o.place
"""


def create_experiment(
    *,
    account: Account,
    name: str,
    project_id: uuid.UUID | None = None,
    project_name: str | None = None,
    tags: Mapping[str, str] | None = None,
    metadata: Mapping[str, object] | None = None,
    plan: PlanSpec | None = None,
    candidates: Sequence[Candidate] = (),
    start: bool = False,
    actor: str,
) -> Experiment:
    """Make an experiment; with a plan, fix the order in which every config will see the examples."""
    with account_scope(account.pk):
        locked_project_id = lock_project(account.pk, id=project_id, name=project_name or DEFAULT_PROJECT)
        if locked_project_id is None:
            raise Invalid(FieldError("/project_id", "No such project."))
        experiment = Experiment.objects.create(
            account=account,
            project_id=locked_project_id,
            name=name,
            tags=dict(tags or {}),
            metadata=metadata,
        )
        record_audit(account=account, actor=actor, action="experiment.created", target=name, id=str(experiment.pk))
        if plan is not None:
            row = _create_plan(account, experiment, plan)
            add_configs(account=account, plan=row, candidates=candidates, actor=actor)
            if start:
                start_experiment(account=account, plan=row, actor=actor)
    return experiment


def _create_plan(account: Account, experiment: Experiment, spec: PlanSpec) -> ExperimentPlan:
    plan = ExperimentPlan.objects.create(
        experiment=experiment,
        account=account,
        dataset_version=spec.version,
        n_examples=spec.version.n_examples,
        metrics=[metric.to_json() for metric in spec.metrics],
        primary_metric=spec.primary_metric,
        **spec.fields,
    )
    with connections[current_role()].cursor() as cursor:
        order = permutation(plan.n_examples, plan.seed)[: plan.order_length]
        cursor.execute(ITEMS, [account.pk, experiment.pk, order, spec.version.pk])
        if cursor.rowcount != plan.order_length:
            raise Invalid(FieldError("/plan/dataset_version", "The dataset version has lost examples."))
    return plan


def permutation(n: int, seed: int) -> list[int]:
    """Return the order in which the examples are seen: the place in the dataset of each position.

    It is stored, so that it stays what it was when the library that drew it is another.
    """
    order: list[int] = np.random.default_rng(seed % 2**63).permutation(n).tolist()
    return order


def add_configs(
    *,
    account: Account,
    plan: ExperimentPlan,
    candidates: Sequence[Candidate],
    parent: Config | None = None,
    actor: str,
    pointer: str | None = None,
) -> list[Config]:
    """Add configs to an experiment. Once it has started they run at once, and nothing seen before counts for them."""
    if not candidates:
        return []
    with account_scope(account.pk):
        locked = ExperimentPlan.objects.select_for_update().get(pk=plan.pk)
        existing = Config.objects.filter(experiment_id=plan.pk)
        n_before = existing.aggregate(last=Max("arrival"))["last"] or 0
        if locked.k_max is not None and n_before + len(candidates) > locked.k_max:
            detail = f"The plan allows {locked.k_max} configs in all (`k_max`), and {n_before} have been made."
            raise Invalid(FieldError("/configs", detail))
        names = set(existing.exclude(state=Config.State.DELETED).values_list("name", flat=True))
        for i, candidate in enumerate(candidates):
            if candidate.name in names:
                raise Invalid(
                    FieldError(
                        f"{f'/configs/{i}' if pointer is None else pointer}/name",
                        f"A config named {candidate.name!r} exists already.",
                    ),
                    code="already_exists",
                )
        is_draft = locked.state == ExperimentPlan.State.DRAFT
        metrics = (
            _add_source_twins(plan, locked, candidates)
            if is_draft
            else [Metric.from_json(row) for row in locked.metrics]
        )
        by_source = group_by_source(metrics)
        fresh_from = 0 if is_draft else find_revealed_position(plan.pk)
        # Who comes late waits where the others wait, and not at each end that they have passed.
        position = 0 if is_draft else existing.aggregate(last=Max("watermark"))["last"] or 0
        Config.objects.bulk_create(
            Config(
                account=account,
                experiment_id=plan.pk,
                parent=parent,
                name=candidate.name,
                kind=candidate.kind,
                parameters=candidate.parameters,
                parameters_hash=hash_config(
                    candidate.kind,
                    candidate.parameters,
                    salt=str(uuid.uuid4()) if candidate.kind == Config.Kind.PUSH else "",
                ),
                n_calls=count_calls(candidate.kind, candidate.parameters, locked.modes, locked.n_samples, by_source),
                arrival=n_before + i,
                state=Config.State.QUEUED if is_draft else Config.State.RUNNING,
                fresh_from=fresh_from,
                pause_at=locked.pause_after(max(0, position - 1)),
            )
            for i, candidate in enumerate(candidates, 1)
        )
        # Read again: bulk_create returns rows without the keys that the database generates.
        configs = list(existing.filter(arrival__gt=n_before).order_by("arrival"))
        if not is_draft:
            ExperimentPlan.objects.filter(pk=plan.pk).update(
                state=ExperimentPlan.State.RUNNING, finished_at=None, is_closed=False
            )
        for config in configs:
            record_audit(
                account=account, actor=actor, action="config.created", target=config.name, experiment=str(plan.pk)
            )
    return configs


def _add_source_twins(plan: ExperimentPlan, locked: ExperimentPlan, candidates: Sequence[Candidate]) -> list[Metric]:
    """Store twins for the expected output of each component upstream, which only the configs of a draft tell."""
    metrics = [Metric.from_json(row) for row in locked.metrics]
    if ISOLATED not in (locked.modes or ()):
        return metrics
    sources = find_sources(candidates, expected_components(locked.dataset_version))
    metrics = add_source_twins(metrics, sources)
    if len(metrics) > len(locked.metrics):
        locked.metrics = plan.metrics = [metric.to_json() for metric in metrics]
        locked.save(update_fields=["metrics"])
    return metrics


def find_revealed_position(experiment_id: int) -> int:
    """Return the position up to which an answer can have been seen.

    Answers that our workers are still requesting from an LLM are unseen; the account's own application or code has its
    answers before we do.
    """
    recorded = Output.objects.filter(experiment_id=experiment_id).aggregate(last=Max("pos"))["last"]
    theirs = Config.objects.filter(experiment_id=experiment_id).exclude(kind=Config.Kind.CHAT)
    last_claim = theirs.aggregate(last=Max("claim_pos"))["last"] or 0
    return max(int(last_claim), 0 if recorded is None else int(recorded) + 1)


def start_experiment(*, account: Account, plan: ExperimentPlan, actor: str) -> bool:
    """Let a draft run; False when it runs already. Needs at least one config."""
    with account_scope(account.pk):
        queued = Config.objects.filter(experiment_id=plan.pk, state=Config.State.QUEUED)
        n_configs = queued.count()
        if not n_configs and plan.state == ExperimentPlan.State.DRAFT:
            raise Invalid(FieldError("/configs", "Nothing to run: add at least one config."))
        n_started = ExperimentPlan.objects.filter(pk=plan.pk, state=ExperimentPlan.State.DRAFT).update(
            state=ExperimentPlan.State.RUNNING, started_at=Now(), n_original=n_configs
        )
        if n_started:
            queued.update(state=Config.State.RUNNING)
            record_audit(account=account, actor=actor, action="experiment.started", target=str(plan.pk))
    return bool(n_started)


def update_experiment(
    *, account: Account, experiment: Experiment, changes: Mapping[str, object], actor: str
) -> Experiment:
    """Change name, tags or metadata; the plan of an experiment never changes."""
    with account_scope(account.pk):
        Experiment.objects.filter(account=account, pk=experiment.pk).update(**changes)
        record_audit(account=account, actor=actor, action="experiment.updated", target=str(experiment.pk))
    for name, value in changes.items():
        setattr(experiment, name, value)
    return experiment


def delete_experiment(*, account: Account, experiment: Experiment, actor: str) -> None:
    """Delete an experiment with its configs, outputs and scores; the evaluation history is retained."""
    with account_scope(account.pk):
        record_audit(account=account, actor=actor, action="experiment.deleted", target=experiment.name)
        # Concurrent additions wait for these two locks, and then find nothing.
        list(ExperimentPlan.objects.select_for_update().filter(pk=experiment.pk))
        configs = Config.objects.filter(experiment_id=experiment.pk)
        configs.update(state=Config.State.DELETED, epoch=F("epoch") + 1)
        publish_on_commit(EPOCHS)
        _delete_rows(experiment.pk, list(configs.values_list("pk", flat=True)))
        Experiment.objects.filter(account=account, pk=experiment.pk).delete()


def _delete_rows(experiment_id: int, config_ids: list[int]) -> None:
    # One statement a table, by the column that has an index: the ORM would first read every row that goes.
    with connections[current_role()].cursor() as cursor:
        for table in ("score", "output", "workunit", "aggregate", "look", "additionmark"):
            cursor.execute(f"DELETE FROM experiments_{table} WHERE config_id = ANY (%s)", [config_ids])  # noqa: S608
        tables = (
            "stageoutput",
            "evidence",
            "comparison",
            "decision",
            "controlop",
            "experimentitem",
            "addition",
            "retry",
        )
        for table in tables:
            cursor.execute(f"DELETE FROM experiments_{table} WHERE experiment_id = %s", [experiment_id])  # noqa: S608
