"""Anything that can be run as a function of one input: functions, coroutines, objects with `run` or `invoke`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.streams import collect_output

METHODS = ("invoke", "run", "run_async")
"""What an object is run by, in this order, before it is called itself."""
LAST_METHODS = ("query", "ainvoke", "aquery", "acall")
"""What an object is run by that cannot be called."""


class Runner:
    """A runnable as `run(input) -> output`."""

    def __init__(self, runnable: object, loop: Loop) -> None:
        self.name = get_runnable_name(runnable)
        self._target = find_target(runnable)
        self._method = getattr(self._target, "__name__", "") if hasattr(self._target, "__self__") else ""
        self._field = _find_only_field(runnable)
        self._loop = loop
        try:
            self._signature: inspect.Signature | None = inspect.signature(self._target)
        except (TypeError, ValueError):  # some built-ins have none
            self._signature = None

    def __call__(self, value: object) -> object:
        """Run on one input. A dictionary goes in as keyword arguments where its keys are parameters, else whole.

        A coroutine is awaited, and a stream read to its end.
        """
        args, kwargs = self._bind(value)
        return collect_output(self._target(*args, **kwargs), self._loop)

    def _bind(self, value: object) -> tuple[tuple[object, ...], dict[str, object]]:
        if self._signature is None or self._takes_whole_input:
            return (value,), {}
        keywords = _to_keywords(value)
        if keywords is None and self._field is not None:
            return (), {self._field: value}
        if keywords is not None and _fits(self._signature, (), keywords):
            return (), keywords
        if keywords is not None and len(keywords) == 1 and self._method in ("query", "aquery"):
            # A query engine takes a text only.
            return tuple(keywords.values()), {}
        if _fits(self._signature, (value,), {}):
            return (value,), {}
        keys = f"the keys {', '.join(keywords)}" if keywords else f"one {type(value).__name__}"
        raise TypeError(f"{self.name}{self._signature} takes neither {keys} nor the input as one argument.")

    @property
    def _takes_whole_input(self) -> bool:
        """Return whether this is a Runnable of LangChain: its parameter `input` is no key of the input."""
        parameters = self._signature.parameters if self._signature is not None else {}
        return self._method in ("invoke", "ainvoke") and "config" in parameters


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
    """Return what to call: a method of METHODS, the callable itself, or a method of LAST_METHODS."""
    is_object = not inspect.isroutine(runnable) and not isinstance(runnable, type)
    if is_object and (method := _find_method(runnable, METHODS)) is not None:
        return method
    if callable(runnable):
        return runnable
    if is_object and (method := _find_method(runnable, LAST_METHODS)) is not None:
        return method
    methods = ", ".join(f"`{name}`" for name in (*METHODS, *LAST_METHODS))
    raise TypeError(f"A {type(runnable).__name__} cannot be run: it is not callable and has none of {methods}.")


def _find_method(runnable: object, names: Iterable[str]) -> Callable[..., object] | None:
    methods = (getattr(runnable, name, None) for name in names)
    return next((method for method in methods if callable(method)), None)


def _find_only_field(runnable: object) -> str | None:
    """Return the only input field of a module of DSPy, which takes its inputs by name; None for anything else."""
    if not callable(list_predictors := getattr(runnable, "predictors", None)) or isinstance(runnable, type):
        return None
    predictors = list_predictors()
    fields = list(predictors[0].signature.input_fields) if len(predictors) == 1 else []
    return str(fields[0]) if len(fields) == 1 else None


def read_components(runnable: object) -> list[str]:
    """Return the names of a pipeline's components, where it has a graph of them, as Haystack's pipelines have."""
    nodes = getattr(getattr(runnable, "graph", None), "nodes", None)
    return [str(node) for node in nodes] if isinstance(nodes, Iterable) else []


def get_runnable_name(runnable: object) -> str:
    """Return where a runnable comes from, as `module:name`."""
    source = runnable if hasattr(runnable, "__qualname__") else type(runnable)
    return f"{getattr(source, '__module__', '?')}:{getattr(source, '__qualname__', '?')}"
