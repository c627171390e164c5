"""Reads of experiments, always for one account."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from django.db.models import Case, Q, QuerySet, When

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import Example
from evalsvc.experiments.models import Config, Decision, ExperimentPlan, Output
from evalsvc.projects.models import Experiment
from evalsvc.rest.bodies.names import list_spellings
from evalsvc.rest.problems import NotFound, Problem


def list_experiments(
    *,
    account: Account,
    project_id: uuid.UUID | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    metadata: Mapping[str, object] | None = None,
) -> QuerySet[Experiment]:
    """Return the account's experiments, planned and passive; with all of the tags, and all of the metadata."""
    rows = Experiment.objects.filter(account=account).select_related("plan__dataset_version")
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    if name is not None:
        rows = rows.filter(name__in=list_spellings(name))
    if tags:
        rows = rows.filter(tags__contains=dict(tags))
    if metadata:
        rows = rows.filter(metadata__contains=dict(metadata))
    return rows


def get_experiment(*, account: Account, id: int) -> Experiment:
    """Return an experiment of the account; NotFound for missing and foreign alike."""
    experiment = list_experiments(account=account).filter(id=id).first()
    if experiment is None:
        raise NotFound()
    return experiment


def get_plan(*, account: Account, id: int, lock: bool = False, with_dataset: bool = True) -> ExperimentPlan:
    """Return the plan of an experiment; NotFound for a passive one too: it has nothing that runs."""
    rows = ExperimentPlan.objects.filter(account=account, experiment_id=id)
    beside = ("experiment", "dataset_version__dataset") if with_dataset else ("experiment",)
    plan = next(iter(rows.select_for_update() if lock else rows.select_related(*beside)), None)
    if plan is None:
        raise NotFound()
    return plan


def list_plans(*, account: Account, state: str | None = None, text: str | None = None) -> QuerySet[ExperimentPlan]:
    """Return the account's planned experiments, newest first; with a state, and with a text in their name."""
    rows = ExperimentPlan.objects.filter(account=account)
    if state is not None:
        rows = rows.filter(state=state)
    if text:
        rows = rows.filter(experiment__name__icontains=text)
    return rows.select_related("account", "experiment", "dataset_version__dataset").order_by("-experiment_id")


def list_latest_plans(*, account: Account, limit: int) -> list[ExperimentPlan]:
    """Return the account's experiments that were started: those that run, then the newest."""
    started = list_plans(account=account).exclude(state=ExperimentPlan.State.DRAFT)
    is_running = Q(state=ExperimentPlan.State.RUNNING)
    return list(started.order_by(Case(When(is_running, then=0), default=1), "-experiment_id")[:limit])


def list_configs(*, account: Account, experiment_id: int, with_deleted: bool = False) -> QuerySet[Config]:
    """Return the configs of an experiment in their order of arrival."""
    rows = Config.objects.filter(account=account, experiment_id=experiment_id).order_by("arrival")
    return rows if with_deleted else rows.exclude(state=Config.State.DELETED)


def get_config(*, account: Account, experiment_id: int, id: int) -> Config:
    """Return a config that has not been deleted; NotFound for missing and foreign alike."""
    config = list_configs(account=account, experiment_id=experiment_id).filter(id=id).first()
    if config is None:
        raise NotFound()
    return config


def refuse_imported(plan: ExperimentPlan, configs: Sequence[Config]) -> None:
    """Raise `imported` for configs that came in with a bundle: they ran elsewhere, and do not go on here."""
    since = plan.experiment.imported_at
    if since is not None and (imported_names := [config.name for config in configs if config.created_at <= since]):
        names = ", ".join(repr(name) for name in imported_names[:5])
        raise Problem(f"{names} came in as part of a bundle; clone it to run it here.", code="imported")


def list_decisions(*, account: Account, experiment_id: int) -> QuerySet[Decision]:
    """Return what stopped configs of an experiment."""
    rows = Decision.objects.filter(account=account, experiment_id=experiment_id)
    return rows.select_related("config", "against")


def list_outputs(*, account: Account, experiment_id: int, config_id: int | None = None) -> QuerySet[Output]:
    """Return outputs of the configs that have not been deleted."""
    rows = Output.objects.filter(account=account, experiment_id=experiment_id).exclude(
        config__state=Config.State.DELETED
    )
    return rows if config_id is None else rows.filter(config_id=config_id)


def get_output(*, account: Account, id: int) -> tuple[Output, str | None]:
    """Return an output with its config, and the id of its example; NotFound for missing and foreign alike."""
    rows = Output.objects.filter(account=account, pk=id).exclude(config__state=Config.State.DELETED)
    output = rows.select_related("config").first()
    if output is None:
        raise NotFound()
    key = Example.objects.filter(account=account, pk=output.example_id).values_list("key", flat=True).first()
    return output, key


def names_of_configs(*, account: Account, experiment_ids: Sequence[int]) -> list[Config]:
    """Return the configs of several experiments, without their parameters, the newest experiment first."""
    rows = Config.objects.filter(account=account, experiment_id__in=experiment_ids).exclude(state=Config.State.DELETED)
    return list(rows.only("id", "name", "experiment_id", "state").order_by("-experiment_id", "arrival"))
