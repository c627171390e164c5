"""Prompts, made through the API."""

from __future__ import annotations

from typing import Any

from evalsvc.prompts.models import Prompt, PromptRevision
from tests.conftest import Caller

DEFINITIONS = "/v1/prompt-definitions"
REVISIONS = "/v1/prompt-revisions"
GREETING = {"prompt_name": "greeting", "project_name": "bot", "body": "Greet {{ name }}."}


def revise(caller: Caller, **fields: Any) -> dict[str, Any]:
    """Push a revision and return it."""
    answer = caller.post(REVISIONS, GREETING | fields)
    assert answer.status_code == 200, answer.content
    made: dict[str, Any] = answer.json()["prompt_revision"]
    return made


def revisions(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    """Return the revisions that a query finds."""
    answer = caller.get(f"{REVISIONS}?{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["prompt_revisions"]
    return found


def numbers(caller: Caller, query: str = "") -> list[tuple[str, int]]:
    """Return name and number of the revisions that a query finds."""
    return [(row["prompt_definition_name"], row["revision"]) for row in revisions(caller, query)]


def definitions(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    """Return the prompts that a query finds."""
    answer = caller.get(f"{DEFINITIONS}?{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["prompt_definitions"]
    return found


def set_labels(caller: Caller, revision: dict[str, Any], *labels: str) -> None:
    """Put labels on a revision."""
    answer = caller.post(f"{REVISIONS}/{revision['id']}/set-labels", {"labels": labels})
    assert (answer.status_code, answer.content) == (204, b"")


def prompt_of(caller: Caller) -> Prompt:
    """Make a prompt and return its row."""
    return Prompt.objects.using("system").get(pk=revise(caller)["prompt_definition_id"])


def prompt_revision_of(caller: Caller) -> PromptRevision:
    """Make a revision and return its row."""
    return PromptRevision.objects.using("system").get(pk=revise(caller)["id"])
