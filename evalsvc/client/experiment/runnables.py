"""Anything that can be run as a function of one input: functions, coroutines, and objects with `run`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evalsvc.client.coroutines import Loop, wait_if_awaitable


class Runner:
    """A runnable as `run(input) -> output`."""

    def __init__(self, runnable: object, loop: Loop) -> None:
        self.name = name_of(runnable)
        self._target = find_target(runnable)
        self._loop = loop
        try:
            self._signature: inspect.Signature | None = inspect.signature(self._target)
        except (TypeError, ValueError):  # some built-ins have none
            self._signature = None

    def __call__(self, value: Any) -> Any:
        """Run on one input. A dictionary goes in as keyword arguments where its keys are parameters, else whole."""
        args, kwargs = self._bind(value)
        return wait_if_awaitable(self._target(*args, **kwargs), self._loop)

    def _bind(self, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        named = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
        if self._signature is None:
            return (value,), {}
        if named and _fits(self._signature, (), value):
            return (), dict(value)
        if _fits(self._signature, (value,), {}):
            return (value,), {}
        keys = f"the keys {', '.join(value)}" if named else f"one {type(value).__name__}"
        raise TypeError(f"{self.name}{self._signature} takes neither {keys} nor the input as one argument.")


def _fits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def find_target(runnable: object) -> Callable[..., Any]:
    """Return what to call: `run` (or `run_async`) of an object that has one, else the callable itself."""
    for method in ("run", "run_async"):
        found = getattr(runnable, method, None)
        if callable(found) and not inspect.isroutine(runnable) and not isinstance(runnable, type):
            return found
    if callable(runnable):
        return runnable
    raise TypeError(f"A {type(runnable).__name__} cannot be run: it is not callable and has no `run` method.")


def components_of(runnable: object) -> list[str]:
    """Return the names of a pipeline's components, where it has a graph of them, as Haystack's pipelines have."""
    nodes = getattr(getattr(runnable, "graph", None), "nodes", None)
    return [str(node) for node in nodes] if isinstance(nodes, Iterable) else []


def name_of(runnable: object) -> str:
    """Return where a runnable comes from, as `module:name`."""
    named = runnable if hasattr(runnable, "__qualname__") else type(runnable)
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', '?')}"
