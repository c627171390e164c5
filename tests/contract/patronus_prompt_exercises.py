"""The exercises of prompts."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import patronus_api
import pytest

from tests.contract.patronus_clients import Called, parameters_of
from tests.contract.patronus_exercises import exercises, is_aware

TEXT = "  Greet {{ name }}.\n"


def pushed(client: Called, body: str = TEXT, name: str = "greeting", project: str = "bot", **fields: Any) -> Any:
    """Push a revision and return it."""
    answer = client.prompts.create_revision(body=body, prompt_name=name, project_name=project, **fields)
    return answer.prompt_revision


def listed(client: Called, **query: Any) -> list[tuple[str, int]]:
    """Return name and number of the revisions that a query finds."""
    rows = client.prompts.list_revisions(**query).prompt_revisions
    return [(row.prompt_definition_name, row.revision) for row in rows]


@exercises("prompts.create_revision")
def create_prompt_revision(client: Called) -> None:
    made = pushed(client, prompt_description="Says hello.", metadata={"model": "small"})

    assert uuid.UUID(made.id)
    assert (made.body, made.revision, made.metadata, made.labels) == (TEXT, 1, {"model": "small"}, [])
    assert made.normalized_body_sha256 == hashlib.sha256(TEXT.strip().encode()).hexdigest()
    assert (made.prompt_definition_name, made.project_name) == ("greeting", "bot")
    assert is_aware(made.created_at)
    next_one = client.prompts.create_revision(body="Hello!", prompt_id=made.prompt_definition_id).prompt_revision
    assert (next_one.prompt_definition_id, next_one.revision) == (made.prompt_definition_id, 2)
    in_project = client.prompts.create_revision(body="Hi!", prompt_name="greeting", project_id=made.project_id)
    assert in_project.prompt_revision.revision == 3
    with pytest.raises(patronus_api.UnprocessableEntityError, match="already_exists"):
        pushed(client, create_only_if_not_exists=True)
    with pytest.raises(patronus_api.UnprocessableEntityError, match="prompt_name"):
        client.prompts.create_revision(body="Of nothing.")


@exercises("prompts.list_revisions")
def list_prompt_revisions(client: Called) -> None:
    one, two = pushed(client), pushed(client, "Hello!")
    other = pushed(client, name="farewell", project="desk")
    client.prompts.set_labels(one.id, labels=["production"])
    asked: dict[str, Any] = {
        "label": "production",
        "latest_revision_only": False,
        "limit": 5,
        "normalized_body_sha256": one.normalized_body_sha256[:16],
        "offset": 0,
        "project_id": one.project_id,
        "project_name": "bot",
        "prompt_id": one.prompt_definition_id,
        "prompt_name": "greeting",
        "prompt_name_startswith": "gre",
        "revision": 1,
        "revision_id": one.id,
    }
    assert parameters_of(client._target.prompts.list_revisions) == set(asked)

    assert listed(client, **asked) == [("greeting", 1)]
    for name, value in asked.items():
        assert ("greeting", 1) in listed(client, **{name: value}), name
    assert listed(client) == [("farewell", 1), ("greeting", 2), ("greeting", 1)]
    assert listed(client, latest_revision_only=True, project_name="bot") == [("greeting", 2)]
    assert listed(client, prompt_name="greeting", limit=1, offset=1) == [("greeting", 1)]
    assert listed(client, label="production", prompt_id=other.prompt_definition_id) == []
    assert listed(client, revision=0) == listed(client, limit=0) == []
    (found,) = client.prompts.list_revisions(revision_id=two.id).prompt_revisions
    assert found.to_dict() == two.to_dict()


@exercises("prompts.set_labels")
def set_prompt_labels(client: Called) -> None:
    one, two = pushed(client), pushed(client, "Hello!")

    assert client.prompts.set_labels(one.id, labels=["production", "eu"]) is None
    assert client.prompts.set_labels(two.id, labels=["production"]) is None

    labels = {row.revision: row.labels for row in client.prompts.list_revisions().prompt_revisions}
    assert labels == {1: ["eu"], 2: ["production"]}


@exercises("prompts.remove_labels")
def remove_prompt_labels(client: Called) -> None:
    made = pushed(client)
    client.prompts.set_labels(made.id, labels=["production", "eu"])

    assert client.prompts.remove_labels(made.id, labels=["eu", "none"]) is None

    assert client.prompts.list_revisions().prompt_revisions[0].labels == ["production"]


@exercises("prompts.list_definitions")
def list_prompt_definitions(client: Called) -> None:
    made = pushed(client, prompt_description="Says hello.")
    pushed(client, "Hello!")
    pushed(client, name="farewell", project="desk")
    asked: dict[str, Any] = {
        "limit": 5,
        "name": "greeting",
        "name_startswith": "gre",
        "offset": 0,
        "project_id": made.project_id,
        "project_name": "bot",
        "prompt_id": made.prompt_definition_id,
    }
    assert parameters_of(client._target.prompts.list_definitions) == set(asked)

    (found,) = client.prompts.list_definitions(**asked).prompt_definitions

    assert (found.id, found.name, found.description) == (made.prompt_definition_id, "greeting", "Says hello.")
    assert (found.project_id, found.project_name, found.latest_revision) == (made.project_id, "bot", 2)
    assert is_aware(found.created_at) and is_aware(found.updated_at)
    assert [row.name for row in client.prompts.list_definitions().prompt_definitions] == ["farewell", "greeting"]
    assert client.prompts.list_definitions(limit=0).prompt_definitions == []


@exercises("prompts.update_definition")
def update_prompt_definition(client: Called) -> None:
    made = pushed(client, prompt_description="Says hello.")
    pushed(client, name="farewell")

    found = client.prompts.update_definition(made.prompt_definition_id, name="welcome").prompt_definition

    assert (found.name, found.description, found.latest_revision) == ("welcome", "Says hello.", 1)
    found = client.prompts.update_definition(made.prompt_definition_id, description="Warmer.").prompt_definition
    assert (found.name, found.description) == ("welcome", "Warmer.")
    with pytest.raises(patronus_api.UnprocessableEntityError, match="already_exists"):
        client.prompts.update_definition(made.prompt_definition_id, name="farewell")


@exercises("prompts.delete_definitions")
def delete_prompt_definitions(client: Called) -> None:
    made, other, elsewhere = pushed(client), pushed(client, name="farewell"), pushed(client, project="desk")

    assert client.prompts.delete_definitions(prompt_id=made.prompt_definition_id) is None
    assert listed(client) == [("greeting", 1), ("farewell", 1)]
    assert client.prompts.delete_definitions(project_id=elsewhere.project_id) is None
    assert listed(client) == [("farewell", other.revision)]
    with pytest.raises(patronus_api.UnprocessableEntityError, match="filter_required"):
        client.prompts.delete_definitions()
