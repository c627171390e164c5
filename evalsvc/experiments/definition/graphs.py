"""Who reads whom: the components upstream and downstream of one, by the names of those that each reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

Predecessors: TypeAlias = Mapping[str, Sequence[str]]
"""The components that each one reads."""


def find_ancestors(before: Predecessors, name: str) -> set[str]:
    """Return all components upstream of one."""
    found: set[str] = set()
    pending = [*before.get(name, ())]
    while pending:
        component = pending.pop()
        if component not in found:
            found.add(component)
            pending += before.get(component, ())
    return found


def find_nearest(before: Predecessors, labelled: Collection[str], name: str) -> list[str]:
    """Return the next components upstream of which something is expected.

    Examples
    --------
    >>> find_nearest({"llm": ["prompt"], "prompt": ["retriever", "query"]}, {"retriever", "llm"}, "llm")
    ['retriever']
    """
    found: dict[str, None] = {}
    visited, pending = {name}, [*before.get(name, ())]
    while pending:
        component = pending.pop(0)
        if component in labelled:
            found[component] = None
        elif component not in visited:
            visited.add(component)
            pending += before.get(component, ())
    return list(found)


def list_sources(before: Predecessors, labelled: Collection[str], name: str) -> list[str]:
    """Return the labelled components upstream that need an isolated run of their own, the first ones first.

    The usual isolated run puts in the expected outputs of the nearest ones. Where only one is the nearest, that run
    already shows its gap; where only one is labelled, nothing else is needed.

    Examples
    --------
    >>> chain = {"ranker": ["retriever"], "prompt": ["ranker"], "llm": ["prompt"]}
    >>> list_sources(chain, {"retriever", "prompt", "llm"}, "llm")
    ['retriever']
    >>> list_sources({"reader": ["text", "images"]}, {"text", "images"}, "reader")
    ['images', 'text']
    """
    found = find_ancestors(before, name) & set(labelled) - {name}
    nearest = find_nearest(before, labelled, name)
    ordered = sorted(found, key=lambda source: (len(find_ancestors(before, source)), source))
    return [source for source in ordered if [source] != nearest] if len(found) > 1 else []


def list_between(before: Predecessors, source: str, targets: Iterable[str]) -> set[str]:
    """Return the targets and what lies between them and a source: what is run on the expected output of the source.

    Examples
    --------
    >>> chain = {"ranker": ["retriever"], "prompt": ["ranker"], "llm": ["prompt"]}
    >>> sorted(list_between(chain, "retriever", ["prompt"]))
    ['prompt', 'ranker']
    """
    wanted = {name for target in targets for name in {target} | find_ancestors(before, target)}
    return {name for name in wanted if source in find_ancestors(before, name)}


def count_isolated_runs(
    before: Predecessors, by_source: Mapping[str, Iterable[str]], called: Collection[str] | None = None
) -> int:
    """Return how many components an example runs in isolated mode, at most.

    Each that reads another one runs once, and again for each source upstream that is replaced by itself. `called` are
    the components that are run at all, if not all are.

    Examples
    --------
    >>> count_isolated_runs({"ranker": ["retriever"], "llm": ["ranker"]}, {"retriever": ["llm"]})
    4
    """
    runs = [name for name, reads in before.items() if reads]
    runs += [name for source, targets in by_source.items() for name in list_between(before, source, targets)]
    return sum(called is None or name in called for name in runs)
