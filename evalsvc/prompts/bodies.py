"""The bodies of calls on prompts, as they come in; unknown fields are ignored, as clients of this wire expect."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from evalsvc.prompts.models import MAX_LABEL
from evalsvc.prompts.services import MAX_LABELS, PromptPlace, PromptText
from evalsvc.rest.bodies.fields import MAX_METADATA_BYTES
from evalsvc.rest.problems import FieldError, Invalid

MAX_BODY = 200_000
Description = Annotated[str, Meta(max_length=10_000)]
LabelName = Annotated[str, Meta(min_length=1, max_length=MAX_LABEL)]


class NewRevisionBody(msgspec.Struct):
    """A text, and the prompt that it is the next revision of."""

    body: Annotated[str, Meta(max_length=MAX_BODY)]
    prompt_id: uuid.UUID | None = None
    prompt_name: str | None = None
    project_id: uuid.UUID | None = None
    project_name: Annotated[str, Meta(max_length=50)] | None = None
    prompt_description: Description | None = None
    metadata: Any = None
    create_only_if_not_exists: bool = False

    def place(self) -> PromptPlace:
        """Return where it belongs."""
        return PromptPlace(self.prompt_id, self.prompt_name, self.project_id, self.project_name)

    def text(self) -> PromptText:
        """Return the text of the revision. Raises Invalid for metadata that is too large for lists."""
        if len(msgspec.json.encode(self.metadata)) > MAX_METADATA_BYTES:
            raise Invalid(FieldError("/metadata", f"At most {MAX_METADATA_BYTES} bytes of JSON."))
        return PromptText(self.body, self.metadata)


class DefinitionBody(msgspec.Struct):
    """What can change of a prompt; null changes nothing."""

    name: str | None = None
    description: Description | None = None


class LabelsBody(msgspec.Struct):
    """Labels to put on a revision, or to take off."""

    labels: Annotated[list[LabelName], Meta(max_length=MAX_LABELS)]
