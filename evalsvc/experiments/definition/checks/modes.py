"""Configs that cannot run component by component: rejected where a plan requests isolated mode."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.graphs import list_sources
from evalsvc.experiments.definition.metrics import ISOLATED
from evalsvc.experiments.definition.pipelines import read_pipeline
from evalsvc.experiments.models import Config
from evalsvc.rest.problems import FieldError, Invalid


def check_modes(modes: Sequence[str] | None, candidates: Sequence[Candidate], *, pointer: str = "/configs") -> None:
    """Refuse opaque and cyclic configs where their components are to run by themselves. Raises Invalid."""
    if ISOLATED not in (modes or ()):
        return
    problems = [(i, why) for i, candidate in enumerate(candidates) if (why := _why_not(candidate)) is not None]
    if problems:
        raise Invalid(*(FieldError(f"{pointer}/{i}/kind", why) for i, why in problems))


def _why_not(candidate: Candidate) -> str | None:
    if candidate.kind in (Config.Kind.CHAT, Config.Kind.HTTP):
        return "It hides its components, so none can run by itself; leave `isolated` out of the plan's `modes`."
    if candidate.kind == Config.Kind.PUSH and has_circle(find_predecessors(candidate.kind, candidate.parameters)):
        return "Its components read each other in a circle; leave `isolated` out of the plan's `modes`."
    return None


def find_predecessors(kind: str, parameters: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return, by component, which others it reads: of a pipeline, and of a push config that lists its `connections`.

    Those are texts such as `retriever.documents -> reader.documents`; what is none is passed over.
    """
    if kind == Config.Kind.PIPELINE:
        return {node.name: list(node.reads) for node in read_pipeline(parameters).nodes}
    predecessors: dict[str, list[str]] = {}
    connections = parameters.get("connections") if kind == Config.Kind.PUSH else None
    for connection in connections if isinstance(connections, list) else ():
        before, arrow, after = str(connection).partition("->")
        names = [end.strip().split(".", 1)[0] for end in (before, after)]
        if arrow and all(names):
            reads = predecessors.setdefault(names[1], [])
            reads += [names[0]] if names[0] not in reads else []
    return predecessors


def find_sources(candidates: Sequence[Candidate], labelled: Collection[str]) -> dict[str, list[str]]:
    """Return, by component, of which ones upstream the expected outputs are put in by themselves, in any config."""
    sources: dict[str, dict[str, None]] = {}
    for candidate in candidates:
        before = find_predecessors(candidate.kind, candidate.parameters)
        for name in before:
            sources.setdefault(name, {}).update(dict.fromkeys(list_sources(before, labelled, name)))
    return {name: list(found) for name, found in sources.items() if found}


def has_circle(predecessors: Mapping[str, Sequence[str]]) -> bool:
    """Return whether some components read each other in a circle."""
    remaining = dict(predecessors)
    while remaining:
        ready = [
            name for name, reads in remaining.items() if not any(predecessor in remaining for predecessor in reads)
        ]
        if not ready:
            return True
        for name in ready:
            del remaining[name]
    return False
