"""Paired differences over clusters, from single scores: of any two configs, on the examples that both have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalsvc.experiments.definition.checks.clusters import read_cluster
from evalsvc.experiments.inference.clusters.cluster_sums import load_clusters
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.pairs.clustered import NO_PAIRS, ClusteredPairs, sum_by_cluster


def resolve_cluster(asked: str | None, named: Sequence[str | None]) -> str | None:
    """Return the requested cluster field, else that of the plans; raise Invalid where the plans differ."""
    if asked is not None:
        read_cluster(asked)
        return asked
    names = list(dict.fromkeys(name for name in named if name is not None))
    if len(names) > 1:
        detail = f"One plan names {names[0]!r}, the other {names[1]!r}: say which in `cluster_by`."
        raise Invalid(FieldError("/cluster_by", detail))
    return names[0] if names else None


def sum_pairs_by_cluster(
    experiment_id: int, cluster_by: str, scores: tuple[FloatArray, FloatArray], places: Sequence[int]
) -> ClusteredPairs:
    """Return the sums over clusters of the differences, first minus second, of pairs at these places of the plan.

    A missing score is not finite.
    """
    first, second = scores
    has_both = np.isfinite(first) & np.isfinite(second)
    if not has_both.any():
        return NO_PAIRS
    clusters = load_clusters(experiment_id, read_cluster(cluster_by))
    return sum_by_cluster(first[has_both] - second[has_both], clusters.of[np.array(places, dtype=np.int_)[has_both]])
