"""Where an evaluation belongs: names are made the first time they are used."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction

from evalsvc.projects.models import App, Project
from evalsvc.projects.selectors import find_experiment, find_project
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope, current_role

DEFAULT_APP = "default"
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """The project, app or experiment of a request; an experiment brings its project and leaves the app empty."""

    project_id: uuid.UUID | None = None
    app: str | None = None
    experiment_id: int | None = None


_known_apps: set[tuple[int, str]] = set()
_known_projects: dict[tuple[int, str], uuid.UUID] = {}


def place_request(
    *,
    account_id: int,
    app: str | None = None,
    experiment_id: int | None = None,
    project_id: uuid.UUID | None = None,
    project_name: str | None = None,
) -> Place:
    """Find where a captured request belongs, making the app and the named project if they are new.

    An experiment decides the project. A project's name outranks its id. With neither app nor experiment the app is
    `default`. Raises Invalid for an experiment or project that the account does not have.
    """
    if experiment_id is not None:
        return _place_in_experiment(account_id, experiment_id)
    if project_name:
        project_id = remember_project(account_id, project_name)
    elif project_id is not None:
        with account_scope(account_id):
            if find_project(account_id=account_id, id=project_id) is None:
                raise Invalid(FieldError("/project_id", "No such project."))
    name = app or DEFAULT_APP
    remember_app(account_id, name)
    return Place(project_id, name)


def _place_in_experiment(account_id: int, experiment_id: int) -> Place:
    with account_scope(account_id):
        experiment = find_experiment(account_id=account_id, id=experiment_id)
    if experiment is None:
        raise Invalid(FieldError("/experiment_id", "No such experiment."))
    return Place(experiment.project_id, None, experiment.id)


def remember_app(account_id: int, name: str) -> None:
    """Make the app if this process has not seen it; two requests that race make one."""
    if (account_id, name) in _known_apps:
        return
    with account_scope(account_id):
        App.objects.bulk_create([App(account_id=account_id, name=name)], ignore_conflicts=True)
        _once_committed(lambda: _know_app(account_id, name))


def remember_project(account_id: int, name: str) -> uuid.UUID:
    """Return the id of the named project, making it if it is new."""
    known = _known_projects.get((account_id, name))
    if known is not None:
        return known
    with account_scope(account_id):
        project, _ = Project.objects.get_or_create(account_id=account_id, name=name)
        _once_committed(lambda: _know_project(account_id, name, project.id))
    return project.id


def _once_committed(note: Callable[[], None]) -> None:
    """Remember a row when it is there to stay: the caller's transaction may yet be rolled back."""
    transaction.on_commit(note, using=current_role())


def _know_app(account_id: int, name: str) -> None:
    if len(_known_apps) >= MAX_REMEMBERED:
        _known_apps.clear()
    _known_apps.add((account_id, name))


def _know_project(account_id: int, name: str, id: uuid.UUID) -> None:
    if len(_known_projects) >= MAX_REMEMBERED:
        _known_projects.clear()
    _known_projects[account_id, name] = id
