"""Bundles as bytes, and what a test does to them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

from tests.conftest import Caller
from tests.factories import ok


def exported(caller: Caller, id: str) -> bytes:
    answer = caller.get(f"/v1/experiments/{id}/bundle")
    assert answer.status_code == 200, answer.getvalue()
    return bytes(answer.getvalue())


def send(caller: Caller, bundle: bytes) -> Any:
    return caller.post("/v1/experiments/import", raw=bundle, Content_Type="application/zip")


def imported(caller: Caller, bundle: bytes) -> Any:
    return ok(send(caller, bundle))


def members(bundle: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest(bundle: bytes) -> Any:
    return json.loads(members(bundle)["manifest.json"])


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def changed(bundle: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A bundle with another content of a file, and a manifest that says the old one."""
    files = members(bundle)
    return packed(files | {name: change(files[name])})


def forged(bundle: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A bundle with another content of a file, and a manifest that fits it."""
    files = members(bundle)
    files[name] = change(files[name])
    said = json.loads(files["manifest.json"])
    for one in said["files"]:
        content = files[one["name"]]
        one |= {"sha256": hashlib.sha256(content).hexdigest(), "n_bytes": len(content)}
    lines = sorted(f"{one['sha256']} {one['name']}\n" for one in said["files"])
    said["content_hash"] = hashlib.sha256("".join(lines).encode()).hexdigest()
    return packed(files | {"manifest.json": json.dumps(said).encode()})


def without_ids(view: Any) -> Any:
    """A live view without what a copy cannot share: ids."""
    names = {config["id"]: config["name"] for config in view["configs"]}
    text = json.dumps({name: part for name, part in view.items() if name != "references"})
    for id, name in names.items():
        text = text.replace(f'"{id}"', f'"{name}"')
    found = json.loads(text.replace(view["experiment"]["id"], "experiment"))
    for decision in found["decisions"]:
        decision["id"] = None
    return found
