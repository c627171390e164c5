"""Anything that can be run as a function of one input: functions, coroutines, and objects with `run`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping

from evalsvc.client.coroutines import Loop, wait_if_awaitable


class Runner:
    """A runnable as `run(input) -> output`."""

    def __init__(self, runnable: object, loop: Loop) -> None:
        self.name = get_runnable_name(runnable)
        self._target = find_target(runnable)
        self._loop = loop
        try:
            self._signature: inspect.Signature | None = inspect.signature(self._target)
        except (TypeError, ValueError):  # some built-ins have none
            self._signature = None

    def __call__(self, value: object) -> object:
        """Run on one input. A dictionary goes in as keyword arguments where its keys are parameters, else whole."""
        args, kwargs = self._bind(value)
        return wait_if_awaitable(self._target(*args, **kwargs), self._loop)

    def _bind(self, value: object) -> tuple[tuple[object, ...], dict[str, object]]:
        keywords = _to_keywords(value)
        if self._signature is None:
            return (value,), {}
        if keywords is not None and _fits(self._signature, (), keywords):
            return (), keywords
        if _fits(self._signature, (value,), {}):
            return (value,), {}
        keys = f"the keys {', '.join(keywords)}" if keywords else f"one {type(value).__name__}"
        raise TypeError(f"{self.name}{self._signature} takes neither {keys} nor the input as one argument.")


def _to_keywords(value: object) -> dict[str, object] | None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return None
    return dict(value)


def _fits(signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def find_target(runnable: object) -> Callable[..., object]:
    """Return what to call: `run` (or `run_async`) of an object that has one, else the callable itself."""
    for method in ("run", "run_async"):
        target = getattr(runnable, method, None)
        if callable(target) and not inspect.isroutine(runnable) and not isinstance(runnable, type):
            return target
    if callable(runnable):
        return runnable
    raise TypeError(f"A {type(runnable).__name__} cannot be run: it is not callable and has no `run` method.")


def read_components(runnable: object) -> list[str]:
    """Return the names of a pipeline's components, where it has a graph of them, as Haystack's pipelines have."""
    nodes = getattr(getattr(runnable, "graph", None), "nodes", None)
    return [str(node) for node in nodes] if isinstance(nodes, Iterable) else []


def get_runnable_name(runnable: object) -> str:
    """Return where a runnable comes from, as `module:name`."""
    source = runnable if hasattr(runnable, "__qualname__") else type(runnable)
    return f"{getattr(source, '__module__', '?')}:{getattr(source, '__qualname__', '?')}"
