"""From testing criteria as they were sent to settings of the family `custom`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.selectors import default_connection_facts, list_connections
from evalsvc.problems import FieldError
from evaluators.checks.references import parse_reference
from evaluators.checks.templates import tokens

_MODEL = ("model", "input", "sampling_params")
FIELDS = {
    "string_check": ("input", "reference", "operation"),
    "text_similarity": ("input", "reference", "evaluation_metric", "pass_threshold"),
    "score_model": (*_MODEL, "range", "pass_threshold"),
    "label_model": (*_MODEL, "labels", "passing_labels"),
}
"""What each type of criterion reads; anything else that is sent is stored, and ignored."""
SAMPLING = ("temperature", "max_completion_tokens", "max_completions_tokens")
PYTHON = (
    "`python` graders are not run: no code of yours runs on the server. Run it behind a URL as a webhook evaluator, or "
    "send its scores as those of client-side evaluations."
)


def read_settings(criterion: Any) -> dict[str, Any]:
    """Return the settings of the profile for a criterion. Raises ValueError with the field and what is wrong."""
    if not isinstance(criterion, Mapping):
        raise ValueError("", "A criterion is an object.")
    kind = criterion.get("type")
    if kind == "python":
        raise ValueError("/type", PYTHON)
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError("/type", f"The type of a criterion is one of {', '.join(FIELDS)}.")
    name = criterion.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("/name", "A criterion needs a name.")
    settings = {field: criterion[field] for field in FIELDS[kind] if criterion.get(field) is not None}
    sampling = settings.get("sampling_params")
    if isinstance(sampling, Mapping):
        settings["sampling_params"] = {field: sampling[field] for field in SAMPLING if sampling.get(field) is not None}
    if isinstance(messages := settings.get("input"), list):
        settings["input"] = [_read_message(message) for message in messages]
    return {"type": kind, "name": name, **settings}


def _read_message(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return message
    return {field: message[field] for field in ("role", "content", "type") if message.get(field) is not None}


def find_unknown_columns(settings: Mapping[str, Any], item_schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield each text of a criterion that names a column which the schema of the rows rules out."""
    columns = item_schema.get("properties")
    if item_schema.get("additionalProperties") is not False or not isinstance(columns, Mapping):
        return
    for pointer, text in _iterate_texts(settings, ""):
        for token in tokens(text):
            try:
                column = parse_reference(token).column
            except ValueError:
                continue
            if column is not None and column not in columns:
                yield FieldError(pointer, f"It names item.{column}, and `item_schema` allows no such column.")


def _iterate_texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _iterate_texts(part, f"{pointer}/{name}")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _iterate_texts(part, f"{pointer}/{i}")


def find_model(account: Account, model: str) -> tuple[str | None, str] | None:
    """Return the connection to ask and the model to ask for; None where the account has nothing to ask.

    That is the connection of this name, else one whose model it is, else the default one (None), asked for this model.
    """
    connections = list(list_connections(account=account).filter(is_enabled=True))
    for connection in connections:
        if connection.name == model:
            return connection.name, connection.model
    for connection in connections:
        if connection.model == model:
            return connection.name, model
    try:
        default_connection_facts(account_id=account.pk)
    except UnusableConnection:
        return None
    return None, model
