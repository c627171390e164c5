"""Cascade: a profile names a second evaluator, which is asked where the first one cannot decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluators.settings import object_schema
from evaluators.values import JSONValue, Settings

NAME = "cascade"
CASCADE: dict[str, JSONValue] = {
    **object_schema(
        {
            "evaluator": {
                "type": "string",
                "minLength": 1,
                "maxLength": 100,
                "description": "The id or alias of the evaluator to ask; its id is kept.",
            },
            "criteria": {
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "description": "The name of its profile. Default: the evaluator's own. Its revision is kept.",
            },
            "config": {
                "type": "object",
                "description": "Its settings: those of `criteria` when this profile was saved, or without `criteria` "
                "your own.",
            },
        },
        required=["evaluator"],
    ),
    "description": "Ask another evaluator where this one cannot decide. Its verdict then counts, and the score stays "
    "this one's. Texts go to the server that it asks, at its cost. Default: nothing is asked.",
}
"""The setting `cascade` of a family whose scores can be undecided (`Score.undecided`)."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """The evaluator that is asked, by its id, with its settings; `criteria` is the revision they are from."""

    evaluator: str
    criteria: str | None
    settings: Settings


def get_cascade(settings: Settings) -> Cascade | None:
    """Return whom a profile asks where its evaluator cannot decide; None if nobody."""
    value = settings.get(NAME)
    if not isinstance(value, Mapping):
        return None
    criteria, config = value.get("criteria"), value.get("config")
    return Cascade(
        str(value.get("evaluator")),
        str(criteria) if criteria is not None else None,
        config if isinstance(config, Mapping) else {},
    )


def remove_cascade(settings: Settings) -> Settings:
    """Return the settings of the first evaluator alone."""
    return {name: value for name, value in settings.items() if name != NAME} if NAME in settings else settings
