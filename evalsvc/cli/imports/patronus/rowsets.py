"""Datasets of the old service, uploaded with their rows. The same rows again are the version that there is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.cli.imports.patronus.source import OldService
from evalsvc.client.errors import InvalidError
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

DATASETS = "/v1/datasets"


def import_datasets(old: OldService, target: Transport, outcome: ImportOutcome, *, is_dry: bool) -> None:
    """Upload each dataset. If the name exists here, add a version, unless a version with these rows exists."""
    theirs = list(old.list_rows(DATASETS, "datasets"))
    outcome.found["datasets"] += len(theirs)
    if is_dry:
        return
    existing_ids = {
        str(row["name"]): str(row["id"])
        for row in OldService(target, old.report, patience_seconds=0).list_rows(DATASETS, "datasets")
    }
    for dataset in reversed(theirs):
        rows = old.dataset_rows(str(dataset["id"]))
        if not rows:
            outcome.leave_out("dataset", dataset["id"], "it has no rows")
            continue
        try:
            is_new = _upload(target, dataset, rows, existing_ids.get(str(dataset["name"])))
        except InvalidError as exc:
            outcome.leave_out("dataset", dataset["id"], str(exc))
            continue
        outcome.kept["datasets"] += is_new
        outcome.there["datasets"] += not is_new


def _upload(target: Transport, dataset: JsonObject, rows: Sequence[JsonObject], here: str | None) -> bool:
    """Upload rows and return whether they are new."""
    content = "\n".join(json.dumps(_example(row), ensure_ascii=False) for row in rows).encode()
    files = {"file": ("rows.jsonl", content, "application/jsonl")}
    if here is not None:
        answer = target.call("POST", f"{DATASETS}/{here}/versions", files=files).json()
        return bool(answer["created"])
    form: Mapping[str, str] = {
        "dataset_name": str(dataset["name"]),
        "dataset_description": str(dataset.get("description") or ""),
    }
    target.call("POST", DATASETS, files=files, data=form)
    return True


def _example(row: JsonObject) -> JsonObject:
    """Return a row without what is empty, and without the old id of its dataset: it would be a column of every row."""
    return {name: value for name, value in row.items() if name != "dataset_id" and value not in (None, [], {})}
