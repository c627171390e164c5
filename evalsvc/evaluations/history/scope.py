"""Which rows of a history an interval is of: from the names in a request to what the database selects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from evalsvc.evaluations.wire.interval_request import IntervalOptions, first_id
from evalsvc.projects.models import Experiment, Project
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope

Window = dict[str, Any]


def scope_window(
    account_id: int, ask: IntervalOptions, *, pointer: str, without_experiment: int | None = None
) -> Window:
    """Return what `scores_in_window` takes. Raises Invalid for a project or experiment of another account."""
    window: Window = {"include": ask.include_experiments, "most": ask.most, "without": without_experiment}
    if ask.scope is not None:
        window |= _place(account_id, *ask.scope, pointer=f"{pointer}/scope")
    if isinstance(ask.since, datetime):
        window["from_id"] = first_id(ask.since)
    elif ask.since is not None and ask.since[0] == "revision":
        window["revision"] = ask.since[1]
    window["cluster_by"] = ask.cluster_by
    return {name: value for name, value in window.items() if value is not None}


def _place(account_id: int, kind: str, value: Any, *, pointer: str) -> Window:
    if kind in ("app", "tags"):
        return {kind: value}
    with account_scope(account_id):
        place_id = _project(account_id, value) if kind == "project" else _experiment(account_id, value)
    if place_id is None:
        raise Invalid(FieldError(f"{pointer}/{kind}", f"No such {kind}."))
    return {kind: place_id}


def _project(account_id: int, value: str) -> str | None:
    """Find a project by its id or name; a name that reads like an id is an id."""
    id = read_uuid(value)
    by = Q(id=id) if id else Q(name=value)
    project_id = Project.objects.filter(by, account_id=account_id).values_list("id", flat=True).first()
    return str(project_id) if project_id else None


def _experiment(account_id: int, value: str) -> int | None:
    """Find an experiment by its id, or the newest of a name."""
    is_id = value.isascii() and value.isdigit() and len(value) <= 19 and int(value) < 2**63
    by = Q(id=int(value)) if is_id else Q(name=value)
    rows = Experiment.objects.filter(by, account_id=account_id)
    return rows.order_by("-id").values_list("id", flat=True).first()
