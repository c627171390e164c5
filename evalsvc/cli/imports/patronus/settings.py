"""Criteria of evaluators with all their revisions, and annotation criteria."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import cast

from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.cli.imports.patronus.places import Places
from evalsvc.cli.imports.patronus.source import OldService
from evalsvc.client.errors import InvalidError
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

CRITERIA = "/v1/evaluator-criteria"
ANNOTATION_CRITERIA = "/v1/annotation-criteria"
OTHER_SETTINGS = "criteria of this name are here with other settings; rename one of both"
SAME_QUESTION = ("name", "description", "annotation_type", "categories", "resource_types")


def import_criteria(old: OldService, target: Transport, outcome: ImportOutcome, *, is_dry: bool) -> None:
    """Make own criteria with their revisions, first revision first. What cannot run here is left out by name."""
    theirs = _revisions(old)
    outcome.found["criteria"] += len(theirs)
    outcome.found["criteria revisions"] += sum(map(len, theirs.values()))
    if is_dry:
        return
    existing = _revisions(OldService(target, old.report, patience_seconds=0))
    for name, revisions in theirs.items():
        try:
            _import_revisions(target, outcome, revisions, existing.get(name, []))
        except InvalidError as exc:
            outcome.leave_out("criteria", name, str(exc))


def _revisions(service: OldService) -> dict[str, list[JsonObject]]:
    """Return the revisions of each criteria of the account's own, the oldest criteria and revision first."""
    revisions_by_name: dict[str, list[JsonObject]] = defaultdict(list)
    for enabled in (True, False):
        for row in service.list_rows(
            CRITERIA, "evaluator_criteria", {"is_patronus_managed": False, "enabled": enabled}
        ):
            if not row.get("is_patronus_managed"):
                revisions_by_name[str(row["name"])].append(row)
    for revisions in revisions_by_name.values():
        revisions.sort(key=lambda row: int(str(row["revision"])))
    return dict(sorted(revisions_by_name.items(), key=lambda item: str(item[1][0].get("created_at"))))


def _import_revisions(
    target: Transport, outcome: ImportOutcome, theirs: list[JsonObject], here: list[JsonObject]
) -> None:
    if any(
        not _is_within(revision.get("config"), other.get("config"))
        for revision, other in zip(theirs, here, strict=False)
    ):
        outcome.leave_out("criteria", theirs[0]["name"], OTHER_SETTINGS)
        return
    outcome.there["criteria"] += bool(here)
    outcome.there["criteria revisions"] += len(here)
    public_id = str(here[0]["public_id"]) if here else ""
    for row in theirs[len(here) :]:
        body = {"config": row.get("config") or {}, "description": row.get("description")}
        if public_id:
            target.post(f"{CRITERIA}/{public_id}/revision", body)
        else:
            body |= {"evaluator_family": row["evaluator_family"], "name": row["name"]}
            public_id = str(cast(JsonObject, target.post(CRITERIA, body)["evaluator_criteria"])["public_id"])
            outcome.kept["criteria"] += 1
        outcome.kept["criteria revisions"] += 1


def _is_within(wanted: object, given: object) -> bool:
    """Return whether the actual settings include the requested ones; a service might have added its defaults."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        return all(name in given and given[name] == value for name, value in wanted.items())
    return not wanted or wanted == given


def import_annotation_criteria(
    old: OldService, target: Transport, outcome: ImportOutcome, places: Places, *, is_dry: bool
) -> dict[str, JsonObject]:
    """Make annotation criteria; return those here by the old ids."""
    theirs = list(old.list_rows(ANNOTATION_CRITERIA, "annotation_criteria"))
    outcome.found["annotation criteria"] += len(theirs)
    if is_dry:
        return {}
    reader = OldService(target, old.report, patience_seconds=0)
    existing = {
        (row["project_id"], row["name"]): row for row in reader.list_rows(ANNOTATION_CRITERIA, "annotation_criteria")
    }
    criteria_by_old_id: dict[str, JsonObject] = {}
    # Lists have the newest first; the oldest is made first.
    for row in reversed(theirs):
        project = places.projects.get(str(row.get("project_id")))
        if project is None:
            outcome.leave_out("annotation criteria", row["id"], "the project it belongs to is not there")
            continue
        criteria = existing.get((project, row["name"]))
        outcome.there["annotation criteria"] += criteria is not None
        try:
            criteria_by_old_id[str(row["id"])] = criteria or _create_annotation_criteria(target, outcome, row, project)
        except InvalidError as exc:
            outcome.leave_out("annotation criteria", row["id"], str(exc))
    return criteria_by_old_id


def _create_annotation_criteria(target: Transport, outcome: ImportOutcome, row: JsonObject, project: str) -> JsonObject:
    question: Mapping[str, object] = {name: row[name] for name in SAME_QUESTION if row.get(name)}
    answer = target.post(ANNOTATION_CRITERIA, {**question, "project_id": project})
    outcome.kept["annotation criteria"] += 1
    return cast(JsonObject, answer["annotation_criteria"])
