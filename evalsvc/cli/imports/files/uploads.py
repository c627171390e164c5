"""Examples to datasets of the account: a new dataset, or the version of it that has just these examples."""

from __future__ import annotations

import tempfile
import unicodedata
from typing import IO

from evalsvc.cli.imports.files.staging_area import Staging
from evalsvc.client.service.transport import Transport

PAGE = 1000
JSON_LINES = "application/x-ndjson"


def send_dataset(target: Transport, name: str, staging: Staging) -> dict[str, object]:
    """Upload a dataset and return the result. Examples that a version already has are not stored twice."""
    id = find_dataset(target, name)
    with tempfile.TemporaryFile() as file:
        for example in staging.examples(name):
            file.write(f"{example}\n".encode())
        file.seek(0)
        return _add_version(target, name, id, file) if id else _make(target, name, file)


def _make(target: Transport, name: str, file: IO[bytes]) -> dict[str, object]:
    fields = {"dataset_name": name, "format": "jsonl"}
    answer = target.call("POST", "/v1/datasets", data=fields, files={"file": ("examples.jsonl", file, JSON_LINES)})
    body = answer.json()
    return {
        "name": name,
        "id": body["dataset_id"],
        "version": body["dataset"]["version"]["number"],
        "examples": body["dataset"]["version"]["n_examples"],
        "created": True,
    }


def _add_version(target: Transport, name: str, id: str, file: IO[bytes]) -> dict[str, object]:
    files = {"file": ("examples.jsonl", file, JSON_LINES)}
    body = target.call("POST", f"/v1/datasets/{id}/versions", data={"format": "jsonl"}, files=files).json()
    version = body["version"]
    number, n_examples = version["number"], version["n_examples"]
    return {"name": name, "id": id, "version": number, "examples": n_examples, "created": body["created"]}


def find_dataset(target: Transport, name: str) -> str | None:
    """Return the id of the account's dataset of a name, in the spelling in which the service compares names."""
    normalized_name = unicodedata.normalize("NFC", name)
    offset = 0
    while True:
        rows = target.get("/v1/datasets", {"limit": PAGE, "offset": offset})["datasets"]
        if not isinstance(rows, list) or not rows:
            return None
        for row in rows:
            if isinstance(row, dict) and row["name"] == normalized_name:
                return str(row["id"])
        offset += PAGE
