"""What can be run, and how inputs reach it."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.runnables import Runner, get_runnable_name


class Pipeline:
    """Takes one dictionary, as Haystack's pipelines do."""

    def run(self, data: dict[str, Any], include_outputs_from: set[str] | None = None) -> Any:
        return {"pipeline": data}


class Component:
    """Takes its inputs by name, as Haystack's components do."""

    def run(self, query: str, top_k: int = 3) -> Any:
        return {"query": query, "top_k": top_k}


class Elastic:
    def run(self, **inputs: Any) -> Any:
        return inputs


class Asynchronous:
    async def run_async(self, query: str) -> str:
        await asyncio.sleep(0)
        return query.upper()


class Callable_:
    def __call__(self, text: str) -> str:
        return text + "!"


async def coroutine(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


def whole(row: Any) -> Any:
    return row


def named(query: str, k: int = 1) -> Any:
    return query, k


@pytest.fixture
def loop() -> Iterator[Loop]:
    one = Loop()
    yield one
    one.close()


@pytest.mark.parametrize(
    ("runnable", "value", "output"),
    [
        (Pipeline(), {"llm": {"query": "a"}}, {"pipeline": {"llm": {"query": "a"}}}),
        (Pipeline(), {"query": "a"}, {"pipeline": {"query": "a"}}),
        (Component(), {"query": "a", "top_k": 5}, {"query": "a", "top_k": 5}),
        (Component(), "a", {"query": "a", "top_k": 3}),
        (Elastic(), {"query": "a"}, {"query": "a"}),
        (Asynchronous(), {"query": "a"}, "A"),
        (Callable_(), "a", "a!"),
        (coroutine, "a", "A"),
        (lambda x: coroutine(x), "a", "A"),
        (functools.partial(named, k=7), {"query": "a"}, ("a", 7)),
        (whole, {"query": "a"}, {"query": "a"}),
        (whole, ["a"], ["a"]),
        (named, {"query": "a"}, ("a", 1)),
        (str.upper, "a", "A"),
        (str, 5, "5"),
    ],
)
def test_it_runs(loop: Loop, runnable: Any, value: Any, output: Any) -> None:
    assert Runner(runnable, loop)(value) == output


def test_arguments_that_do_not_fit_are_named(loop: Loop) -> None:
    with pytest.raises(TypeError, match="takes neither the keys question"):
        Runner(lambda query, k: None, loop)({"question": "a"})


def test_what_cannot_run_is_refused(loop: Loop) -> None:
    with pytest.raises(TypeError, match="A dict cannot be run"):
        Runner({}, loop)


def test_coroutines_share_one_loop(loop: Loop) -> None:
    async def where(_: str) -> int:
        return id(asyncio.get_running_loop())

    runner = Runner(where, loop)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(runner("a"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_coroutine_runs_where_a_loop_runs_already(loop: Loop) -> None:
    async def notebook() -> Any:
        return Runner(coroutine, loop)("a")

    assert asyncio.run(notebook()) == "A"


def test_a_closed_loop_opens_again(loop: Loop) -> None:
    Runner(coroutine, loop)("a")
    loop.close()

    assert Runner(coroutine, loop)("b") == "B"


@pytest.mark.parametrize(
    ("runnable", "name"),
    [
        (named, "tests.client.test_runnables:named"),
        (Pipeline(), "tests.client.test_runnables:Pipeline"),
        (functools.partial(named), "functools:partial"),
    ],
)
def test_it_has_a_name(runnable: Any, name: str) -> None:
    assert get_runnable_name(runnable) == name
