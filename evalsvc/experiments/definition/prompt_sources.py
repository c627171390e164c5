"""Prompts that a chat config names in place of writing them: looked up once, and pinned to a revision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.prompts.models import PromptRevision
from evalsvc.prompts.selectors import PromptFilters, RevisionFilters, list_prompt_revisions
from evalsvc.prompts.services import normalized_sha256
from evalsvc.rest.problems import FieldError, Invalid

PROMPT_FROM = "prompt_from"
AT = f"/parameters/{PROMPT_FROM}"
ASKED = {"name": str, "project": str, "label": str, "revision": int}
FOUND = {"revision_id": str, "sha256": str}
"""What is noted of the revision that was found; with it the text stands in `prompt`."""


def prompt_source_problems(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """List what is wrong with the name of a prompt: a pointer and a sentence each."""
    reference = parameters.get(PROMPT_FROM)
    if reference is None:
        return
    if not isinstance(reference, Mapping) or not isinstance(reference.get("name"), str):
        yield AT, "Name the prompt: an object with `name`, and with `project`, `label` or `revision` where they matter."
        return
    for key, value in reference.items():
        kind = (ASKED | FOUND).get(key)
        if kind is None:
            yield f"{AT}/{key}", f"`{key}` is not known here; there are {', '.join(ASKED)}."
        elif not isinstance(value, kind) or isinstance(value, bool):
            yield f"{AT}/{key}", f"{value!r:.100} is not a value that `{key}` can have."
    text = parameters.get("prompt")
    if isinstance(text, str) and reference.get("sha256") != normalized_sha256(text):
        yield AT, "The text of `prompt` is not that of this prompt. Give one of both; null takes either away."


def pin_prompt(
    account: Account, parameters: Mapping[str, Any], *, pointer: str, at: str = "/parameters"
) -> dict[str, Any]:
    """Return the parameters with the text of the referenced prompt, and with the identity of its revision.

    `at` is the location of the parameters within what is at `pointer`. A prompt that is pinned already is left as it
    is. Raises Invalid for a prompt that does not exist. Requires the account's scope.
    """
    prompt_source = parameters.get(PROMPT_FROM)
    if prompt_source is None or "prompt" in parameters or list(prompt_source_problems(parameters)):
        return dict(parameters)
    row = _get_revision(account, prompt_source, f"{pointer}{at}/{PROMPT_FROM}")
    label_field = {name: prompt_source[name] for name in ("label",) if name in prompt_source}
    source = {
        "project": row.prompt.project.name,
        "name": row.prompt.name,
        **label_field,
        "revision": row.number,
        "revision_id": str(row.pk),
        "sha256": row.body_sha256,
    }
    return {**parameters, "prompt": row.body, PROMPT_FROM: source}


def unpin_prompt(parameters: Mapping[str, Any], changed: set[str]) -> dict[str, Any]:
    """Return changed parameters of a clone such that another prompt, or another label of it, is looked up again."""
    source = parameters.get(PROMPT_FROM)
    if PROMPT_FROM not in changed or not isinstance(source, Mapping) or "prompt" in changed:
        return dict(parameters)
    pinned_keys = set(FOUND) | ({"revision"} if "label" in source else set())
    reference = {name: value for name, value in source.items() if name not in pinned_keys and value is not None}
    return {**{name: value for name, value in parameters.items() if name != "prompt"}, PROMPT_FROM: reference}


def _get_revision(account: Account, asked: Mapping[str, Any], pointer: str) -> PromptRevision:
    label, number = asked.get("label"), asked.get("revision")
    rows = list_prompt_revisions(
        account=account,
        of=PromptFilters(name=asked["name"], project_name=asked.get("project")),
        filters=RevisionFilters(number=number, label=label, latest_only=label is None and number is None),
    )[:2]
    revisions = list(rows)
    if not revisions:
        raise Invalid(FieldError(pointer, "The account has no such prompt, or no such revision or label of it."))
    if len(revisions) > 1:
        raise Invalid(FieldError(pointer, "Several projects have a prompt of this name; give `project`."))
    return revisions[0]
