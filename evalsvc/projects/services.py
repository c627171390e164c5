"""Where an evaluation belongs: names are made the first time they are used."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, connections, transaction
from django.db.models import ProtectedError, RestrictedError

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import forget_caches, record_audit
from evalsvc.infra.cache import AccountCache, BoundedCache
from evalsvc.projects.models import App, Project
from evalsvc.projects.selectors import (
    find_experiment,
    find_named_project,
    find_project,
    get_project,
    list_project_uses,
)
from evalsvc.rest.bodies.names import clean_name, is_plain_name
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.tenancy.scope import account_scope, current_role

DEFAULT_APP = "default"
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Placement:
    """The project, app or experiment of a request; an experiment brings its project and leaves the app empty."""

    project_id: uuid.UUID | None = None
    app: str | None = None
    experiment_id: int | None = None


_known_apps: BoundedCache[tuple[int, str], bool] = BoundedCache(MAX_REMEMBERED)
# Projects can be deleted, and then the account's epoch moves.
_known_projects: AccountCache[tuple[int, str], uuid.UUID] = AccountCache(
    MAX_REMEMBERED, seconds=lambda: settings.API_KEY_CACHE_SECONDS
)


def place_request(
    *,
    account_id: int,
    app: str | None = None,
    experiment_id: int | None = None,
    project_id: uuid.UUID | None = None,
    project_name: str | None = None,
    epoch: str | None = None,
) -> Placement:
    """Return the placement of a captured request, creating the app and the named project if they are new.

    An experiment determines the project. A project's name takes precedence over its id. With neither app nor experiment
    the app is `default`. Raises Invalid for an experiment or project that the account does not have. A project that was
    looked up under the account's `epoch` is taken from the cache.

    The project is created before the app. A transaction that creates several of either must create all projects first,
    ordered by name, and then all apps: another order can deadlock.
    """
    if experiment_id is not None:
        return _place_in_experiment(account_id, experiment_id)
    if project_name:
        project_id = remember_project(account_id, project_name, epoch=epoch)
    elif project_id is not None:
        with account_scope(account_id):
            if find_project(account_id=account_id, id=project_id) is None:
                raise no_such_project()
    name = app or DEFAULT_APP
    remember_app(account_id, name)
    return Placement(project_id, name)


def lock_placement(
    *,
    account_id: int,
    app: str | None = None,
    experiment_id: int | None = None,
    project_id: uuid.UUID | None = None,
    project_name: str | None = None,
) -> Placement:
    """Return a placement as `place_request` does, with the project locked against deletion until the transaction ends.

    The caller creates the app, because of the order in which names are created.
    """
    if experiment_id is not None:
        return _place_in_experiment(account_id, experiment_id)
    if project_name or project_id is not None:
        project_id = lock_project(account_id, id=None if project_name else project_id, name=project_name or "")
        if project_id is None:
            raise no_such_project()
    return Placement(project_id, app or DEFAULT_APP)


def no_such_project() -> Invalid:
    """Make the refusal of a project that the account does not have."""
    return Invalid(FieldError("/project_id", "No such project."))


def _place_in_experiment(account_id: int, experiment_id: int) -> Placement:
    with account_scope(account_id):
        experiment = find_experiment(account_id=account_id, id=experiment_id)
    if experiment is None:
        raise Invalid(FieldError("/experiment_id", "No such experiment."))
    return Placement(experiment.project_id, None, experiment.id)


def remember_app(account_id: int, name: str) -> None:
    """Make the app if this process has not seen it; two requests that race make one."""
    if (account_id, name) in _known_apps:
        return
    with account_scope(account_id):
        App.objects.bulk_create([App(account_id=account_id, name=name)], ignore_conflicts=True)
        _once_committed(lambda: _known_apps.put((account_id, name), True))


def remember_project(account_id: int, name: str, *, epoch: str | None = None) -> uuid.UUID:
    """Return the id of the named project, making it if it is new."""
    project_id = _known_projects.get((account_id, name), epoch)
    if project_id is not None:
        return project_id
    with account_scope(account_id):
        project, _ = _get_or_create_project(account_id, name, "/project_name")
        until = _known_projects.end()
        _once_committed(lambda: _known_projects.put((account_id, name), project.id, epoch, until=until))
    return project.id


def create_project(*, account: Account, name: str, actor: str) -> Project:
    """Return the project with that name, creating it if it is new: clients request theirs at every start."""
    with account_scope(account.pk):
        project, created = _get_or_create_project(account.pk, name, "/name", created_by=actor[:120])
        if created:
            project.refresh_from_db(fields=["created_at"])
            record_audit(account=account, actor=actor, action="project.created", target=project.name)
    return project


def _get_or_create_project(account_id: int, name: str, pointer: str, **made: str) -> tuple[Project, bool]:
    """Return the project that a name means and whether it is new. Raises Invalid for a new name that cannot be."""
    if not is_plain_name(name):
        if (existing := find_named_project(account_id=account_id, name=name)) is not None:
            return existing, False
        name = clean_name(name, pointer)
    return Project.objects.get_or_create(account_id=account_id, name=name, defaults=made)


def delete_project(*, account: Account, id: uuid.UUID, actor: str) -> None:
    """Delete an empty project; `in_use` while experiments, evaluations or anything else belong to it.

    An evaluation in progress that was placed before and is stored after the deletion belongs to no project. The next
    request with that name creates a new one.
    """
    try:
        with account_scope(account.pk), transaction.atomic(using=current_role()):
            project = get_project(account=account, id=id, lock=True)
            if uses := list_project_uses(project=project):
                raise project_in_use(project, ", ".join(uses))
            Project.objects.filter(account=account, id=id).delete()
            with connections[current_role()].cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            record_audit(account=account, actor=actor, action="project.deleted", target=project.name)
            forget_caches(account.pk)
    except (IntegrityError, ProtectedError, RestrictedError):
        raise project_in_use(project, "another object") from None


def project_in_use(project: Project, by: str) -> Problem:
    """Make the refusal to delete."""
    return Problem(f"The project {project.name!r} holds {by}.", code="in_use")


def lock_project(account_id: int, *, id: uuid.UUID | None, name: str) -> uuid.UUID | None:
    """Return a project by id, else by name, creating it if new, locked against deletion until the transaction ends.

    None if the id does not exist in the account.
    """
    while True:
        project_id = id or remember_project(account_id, name)
        with connections[current_role()].cursor() as cursor:
            # KEY SHARE blocks deletion, but not other KEY SHARE locks. The ORM does not support it.
            cursor.execute(
                "SELECT 1 FROM projects_project WHERE account_id = %s AND id = %s FOR KEY SHARE",
                [account_id, project_id],
            )
            if cursor.fetchone():
                return project_id
        if id is not None:
            return None


def _once_committed(note: Callable[[], None]) -> None:
    """Remember a row when it is there to stay: the caller's transaction may yet be rolled back."""
    transaction.on_commit(note, using=current_role())
