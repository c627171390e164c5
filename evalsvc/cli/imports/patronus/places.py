"""Projects and experiments of the old service, and where each is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.cli.imports.patronus.source import OldService, in_order
from evalsvc.client.errors import InvalidError
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

ORIGIN = "patronus"
"""The key of metadata under which the old id, and what has no place of its own here, is kept."""


@dataclass(frozen=True, slots=True)
class Places:
    """Names of projects, and ids of projects and experiments here, by their old ids."""

    project_names: Mapping[str, str]
    projects: Mapping[str, str]
    experiments: Mapping[str, str]


def import_places(old: OldService, target: Transport, outcome: ImportOutcome, *, is_dry: bool) -> Places:
    """Make the projects and experiments that are not here yet."""
    names = {str(row["id"]): str(row["name"]) for row in old.list_rows("/v1/projects", "projects")}
    outcome.found["projects"] += len(names)
    if is_dry:
        outcome.found["experiments"] += sum(1 for _ in old.list_rows("/v1/experiments", "experiments"))
        return Places(names, {}, {})
    existing_names = {str(row["name"]) for row in _list_all(target, "/v1/projects", "projects")}
    projects = {}
    # Lists have the newest first; the oldest is made first.
    for id, name in reversed(names.items()):
        projects[id] = str(target.post("/v1/projects", {"name": name})["id"])
        outcome.there["projects"] += name in existing_names
        outcome.kept["projects"] += name not in existing_names
    return Places(names, projects, _experiments(old, target, outcome, projects))


def _experiments(
    old: OldService, target: Transport, outcome: ImportOutcome, projects: Mapping[str, str]
) -> dict[str, str]:
    existing_ids = {get_old_id(row): str(row["id"]) for row in _list_all(target, "/v1/experiments", "experiments")}
    rows = sorted(old.list_rows("/v1/experiments", "experiments"), key=in_order)
    outcome.found["experiments"] += len(rows)
    imported_ids: dict[str, str] = {}
    for row in rows:
        id = str(row["id"])
        if id in existing_ids:
            imported_ids[id] = existing_ids[id]
            outcome.there["experiments"] += 1
            continue
        try:
            answer = target.post("/v1/experiments", _experiment_body(row, projects))
        except InvalidError as exc:
            outcome.leave_out("experiment", id, str(exc))
            continue
        imported_ids[id] = str(cast(JsonObject, answer["experiment"])["id"])
        outcome.kept["experiments"] += 1
    return imported_ids


def _experiment_body(row: JsonObject, projects: Mapping[str, str]) -> dict[str, object]:
    old_metadata = row.get("metadata")
    metadata = {
        **(old_metadata if isinstance(old_metadata, dict) else {}),
        ORIGIN: {"id": str(row["id"]), "created_at": row.get("created_at")},
    }
    body: dict[str, object] = {"name": row["name"], "tags": row.get("tags") or {}, "metadata": metadata}
    project = projects.get(str(row.get("project_id")))
    return body | ({"project_id": project} if project else {})


def get_old_id(row: JsonObject) -> str | None:
    """Return the old id of something that an import has made here."""
    metadata = row.get("metadata")
    origin = metadata.get(ORIGIN) if isinstance(metadata, dict) else None
    return str(origin["id"]) if isinstance(origin, dict) and "id" in origin else None


def _list_all(target: Transport, path: str, key: str) -> list[JsonObject]:
    """Return all rows of a list of this service."""
    all_rows: list[JsonObject] = []
    while True:
        rows = cast("list[JsonObject]", target.get(path, {"limit": 1000, "offset": len(all_rows)})[key])
        all_rows += rows
        if len(rows) < 1000:
            return all_rows
