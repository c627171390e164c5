"""The PyPI package `patronus-api`, unmodified and strict, in both of its kinds, behind one way to call it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import patronus_api
from patronus_api._resource import AsyncAPIResource, SyncAPIResource

KINDS = ("sync", "async")
NOT_SERVED: dict[str, str] = {}
"""Methods of the client, or all of a resource, that this service does not have, and why."""


class Called:
    """A client, or one of its resources: calls go through as they are, and are noted by their dotted name."""

    def __init__(self, target: Any, run: Callable[..., Any], names: set[str], path: str = "") -> None:
        self._target, self._run, self._path = target, run, path
        self.names = names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        path = f"{self._path}.{name}".removeprefix(".")
        if isinstance(found, SyncAPIResource | AsyncAPIResource) or name.startswith("with_"):
            return Called(found, self._run, self.names, self._path if name.startswith("with_") else path)
        return self._noted(found, path) if callable(found) else found

    def _noted(self, method: Callable[..., Any], path: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.names.add(path)
            answer = method(*args, **kwargs)
            return self._run(answer) if inspect.isawaitable(answer) else answer

        return call


@contextmanager
def connect(kind: str, url: str, key: str, **options: Any) -> Iterator[Called]:
    """Open a client of either kind, with strict validation of every answer."""
    options |= {"base_url": url, "api_key": key, "_strict_response_validation": True} | options
    names: set[str] = set()
    if kind == "sync":
        with patronus_api.PatronusAPI(http_client=httpx.Client(trust_env=False), **options) as client:
            yield Called(client, asyncio.run, names)
        return
    # One loop for the client's whole life: its connections belong to it.
    with asyncio.Runner() as runner:
        waiting = patronus_api.AsyncPatronusAPI(http_client=httpx.AsyncClient(trust_env=False), **options)
        yield Called(waiting, runner.run, names)
        runner.run(waiting.close())


def methods_of(target: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted name of every call that a client's resources offer, at any depth."""
    for name in dir(target):
        if name.startswith(("_", "with_")):
            continue
        member = getattr(target, name)
        if isinstance(member, SyncAPIResource | AsyncAPIResource):
            yield from methods_of(member, f"{path}{name}.")
        elif path and inspect.ismethod(member):
            yield path + name


def served_methods(target: Any) -> set[str]:
    """Return the methods that the service is meant to answer."""
    return {name for name in methods_of(target) if not {name, name.partition(".")[0]} & NOT_SERVED.keys()}


def writing_methods(target: Any) -> set[str]:
    """Return the methods that the service answers and that do more than look."""
    reads = ("retrieve", "search", "list", "get_")
    return {name for name in served_methods(target) if not name.rpartition(".")[2].startswith(reads)}


def parameters_of(method: Any) -> set[str]:
    """Return what a method sends to the service, by name."""
    mechanics = {"extra_headers", "extra_query", "extra_body", "timeout"}
    return set(inspect.signature(method).parameters) - mechanics
