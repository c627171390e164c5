"""`push_prompt` and `load_prompt` of the package `patronus`, in both kinds, against a running service."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from patronus import context
from patronus.prompts import clients
from patronus.prompts.clients import AsyncPromptClient, PromptClient, PromptNotFoundError
from patronus.prompts.models import LoadedPrompt, Prompt

from tests.conftest import Caller
from tests.contract.patronus_sdk import initialised
from tests.prompts.shapes import numbers, revisions, set_labels

TEXT = "Greet {name}."


@pytest.fixture
def sdk(web: str, alice: Caller) -> Iterator[context.PatronusContext]:
    """The package as Alice has initialised it, with the project `sdk`."""
    with initialised(web, alice.key) as ctx:
        yield ctx


@pytest.fixture(params=[PromptClient, AsyncPromptClient], ids=["sync", "async"])
def call(request: pytest.FixtureRequest, sdk: context.PatronusContext) -> Iterator[Callable[..., LoadedPrompt]]:
    """Calls a method of a client of either kind. Each call has a client, and so a memory, of its own."""
    # One loop for the whole test: the connections of the asynchronous client belong to it.
    with asyncio.Runner() as runner:

        def call(method: str, *args: Any, **options: Any) -> LoadedPrompt:
            found = getattr(request.param(), method)(*args, **options)
            if inspect.iscoroutine(found):
                found = runner.run(found)
            assert isinstance(found, LoadedPrompt)
            return found

        yield call
        runner.run(context.get_async_api_client().close())


def same(one: LoadedPrompt, other: LoadedPrompt) -> bool:
    """Say whether they are equal but for the engine, of which each has its own."""
    return dataclasses.replace(one, _engine=None) == dataclasses.replace(other, _engine=None)


def test_what_was_pushed_is_loaded(call: Callable[..., LoadedPrompt]) -> None:
    pushed = call("push", Prompt("greeting", TEXT, "Says hello.", {"model": "small"}))
    loaded = call("get", "greeting")

    assert same(loaded, pushed)
    assert (loaded.body, loaded.description, loaded.metadata) == (TEXT, "Says hello.", {"model": "small"})
    assert (loaded.project_name, loaded.revision, loaded.labels) == ("sdk", 1, [])
    assert loaded.with_engine("f-string").render(name="Jo") == "Greet Jo."
    assert loaded.created_at.utcoffset() is not None


def test_a_text_that_is_there_is_not_pushed_again(call: Callable[..., LoadedPrompt], alice: Caller) -> None:
    first = call("push", Prompt("greeting", TEXT))
    again = call("push", Prompt("greeting", f"\n {TEXT}\t"))

    assert (again.revision_id, again.body) == (first.revision_id, TEXT)
    assert numbers(alice) == [("greeting", 1)]


def test_other_texts_and_other_metadata_are_the_next_revisions(
    call: Callable[..., LoadedPrompt], alice: Caller
) -> None:
    call("push", Prompt("greeting", TEXT, "Says hello."))
    second = call("push", Prompt("greeting", "Hello!"))
    with pytest.warns(UserWarning, match="won't be updated"):
        third = call("push", Prompt("greeting", TEXT, "Another.", {"model": "small"}))
    elsewhere = call("push", Prompt("greeting", TEXT), project="desk")

    assert (second.revision, second.description) == (2, "Says hello.")
    assert (third.revision, third.description) == (3, "Says hello.")
    assert (elsewhere.revision, elsewhere.project_name) == (1, "desk")
    assert call("get", "greeting").revision == 3
    assert call("get", "greeting", project="desk").revision == 1


def test_it_is_loaded_by_revision_and_by_label(call: Callable[..., LoadedPrompt], alice: Caller) -> None:
    for text in (TEXT, "Hello!", "Hi!"):
        call("push", Prompt("greeting", text))
    by_number = {row["revision"]: row for row in revisions(alice)}
    set_labels(alice, by_number[2], "production")

    assert call("get", "greeting").body == "Hi!"
    assert call("get", "greeting", revision=1).body == TEXT
    loaded = call("get", "greeting", label="production")
    assert (loaded.body, loaded.labels) == ("Hello!", ["production"])
    set_labels(alice, by_number[1], "production")
    assert call("get", "greeting", label="production").body == TEXT


@pytest.mark.parametrize("asked", [{}, {"revision": 2}, {"label": "production"}, {"project": "none"}])
def test_what_is_not_there_is_not_found(call: Callable[..., LoadedPrompt], asked: dict[str, Any]) -> None:
    if asked:
        call("push", Prompt("greeting", TEXT))

    with pytest.raises(PromptNotFoundError) as caught:
        call("get", "greeting", **asked)

    # A refusal would be its cause.
    assert caught.value.__cause__ is None


def test_the_module_s_own_functions_are_these(sdk: context.PatronusContext, web: str, charlie: Caller) -> None:
    pushed = clients.push_prompt(Prompt("of-the-module", TEXT))

    assert same(clients.load_prompt("of-the-module", disable_cache=True), pushed)
    with initialised(web, charlie.key), pytest.raises(PromptNotFoundError):
        clients.load_prompt("of-the-module", disable_cache=True)
