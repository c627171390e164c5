"""What examples share, so that they are not independent: which metadata value that is, and what cannot mind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalsvc.datasets.models import DatasetVersion
from evalsvc.experiments.definition.checks.unmapped import can_resolve
from evalsvc.experiments.definition.knobs import Path, pointed
from evalsvc.experiments.models import Policy
from evalsvc.rest.problems import FieldError, Invalid, escape

METADATA = "metadata"
NO_STRATEGY = "No strategy that is asked for by name knows clusters: leave it out, or `cluster_by`."
DEEPEST_PATH = 10


def read_named_path(name: str) -> tuple[str, Path] | None:
    """Read `metadata.topic`, or the same as a JSON pointer: the root, and the path below it; None for anything else."""
    root, *inside = pointed(name) if name.startswith("/") else name.split(".")
    path = tuple(inside)
    return (root, path) if path and "" not in path and len(path) <= DEEPEST_PATH else None


def read_cluster(name: str, pointer: str = "/cluster_by") -> Path:
    """Read `metadata.document`, or the same as a JSON pointer; raise Invalid for anything else."""
    parsed = read_named_path(name)
    if parsed is None or parsed[0] != METADATA:
        raise Invalid(FieldError(pointer, f"{name[:100]!r} is not `metadata.<key>`."))
    return parsed[1]


def check_clusters(version: DatasetVersion, body: Mapping[str, Any], strategy: str | None) -> str | None:
    """Return the metadata field by which a plan's examples are clustered, or None.

    Raises Invalid where no example has the field, and for races and strategies selected by name: both treat examples as
    independent, so their results would be too certain.
    """
    name: str | None = body.get("cluster_by")
    if name is None:
        return None
    pointer = "/plan/cluster_by"
    path = read_cluster(name, pointer)
    if body["policy"] != Policy.MANUAL:
        detail = (
            f"The policy {body['policy']!r} weighs examples one by one, as if each told something of its own. With"
            " clusters choose the policy `manual`, or leave `cluster_by` out."
        )
        raise Invalid(FieldError(pointer, detail))
    if strategy:
        raise Invalid(FieldError("/plan/strategy", NO_STRATEGY))
    check_no_strategy(body["metrics"], "/plan/metrics")
    if not can_resolve(version, "".join(f"/{escape(step)}" for step in (METADATA, *path))):
        raise Invalid(FieldError(pointer, f"No example of the dataset has anything at {name[:100]!r}."))
    return name


def check_no_strategy(metrics: Iterable[Mapping[str, Any]], pointer: str) -> None:
    """Reject metrics that select a strategy by name; raise Invalid."""
    errors = [
        FieldError(f"{pointer}/{i}/strategy", NO_STRATEGY) for i, metric in enumerate(metrics) if metric.get("strategy")
    ]
    if errors:
        raise Invalid(*errors)
