"""Which kinds there may be: core ones, which kubernetes-validate knows, and those of which a schema lies here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema

from tests.deploy.chart.helm import Manifest

SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "schemas").glob("*.json")}
CORE = {
    "apps/v1": {"Deployment"},
    "autoscaling/v2": {"HorizontalPodAutoscaler"},
    "batch/v1": {"Job", "CronJob"},
    "networking.k8s.io/v1": {"Ingress", "NetworkPolicy"},
    "policy/v1": {"PodDisruptionBudget"},
    "v1": {"PersistentVolumeClaim", "Pod", "Service"},
}


def is_core(manifest: Manifest) -> bool:
    """Say whether kubernetes-validate is to look at it."""
    return manifest["kind"] in CORE.get(manifest["apiVersion"], ())


def faults(manifests: list[Manifest]) -> list[str]:
    """Return what is wrong with the others; a kind that is neither is a fault."""
    return [fault for manifest in manifests if not is_core(manifest) for fault in _faults(manifest)]


def _faults(manifest: Manifest) -> Iterator[str]:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    if (schema := SCHEMAS.get(kind.lower())) is None:
        yield f"{kind} {name} of {manifest['apiVersion']}: a kind that nothing here knows"
        return
    for error in jsonschema.Draft7Validator(schema).iter_errors(manifest):
        yield f"{kind} {name}: {error.json_path}: {error.message}"
