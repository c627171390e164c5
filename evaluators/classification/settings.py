"""The settings of every model of labels, whether it is behind an endpoint or in a folder."""

from __future__ import annotations

from collections.abc import Iterator

from evaluators.base import Settings, SettingsProblem
from evaluators.classification.comparison import (
    CONTEXT,
    DEFAULT_THRESHOLD,
    FIELDS,
    OUTPUT,
    Task,
    find_placeholders,
    name_texts,
)
from evaluators.settings import THRESHOLD
from evaluators.values import JSONValue

LABEL: dict[str, JSONValue] = {"type": "string", "minLength": 1, "maxLength": 200}
DECIDING: dict[str, JSONValue] = {
    "task": {
        "type": "string",
        "enum": [str(task) for task in Task],
        "description": "What the model decides. `support`: the contexts support the output. `toxicity`: the text is "
        "harmless; the worst window decides. `relevance`: the texts belong together; the best window decides.",
    },
    "texts": {
        "type": "array",
        "items": {"type": "string", "enum": list(FIELDS)},
        "minItems": 1,
        "maxItems": 2,
        "uniqueItems": True,
        "description": "The text or the pair that the model is given, in this order. Default: context and output for "
        "`support`, output for `toxicity`, input and output for `relevance`.",
    },
    "template": {
        "type": "string",
        "minLength": 1,
        "maxLength": 4_000,
        "description": "Joins the texts into one, for models that read no pairs: `{context}`, `{output}` and `{input}` "
        "stand for them.",
    },
    "good_label": {**LABEL, "description": "The label with which a text passes."},
    "bad_label": {**LABEL, "description": "The label with which a text fails, where none stands for good."},
    "split_claims": {
        "type": "boolean",
        "description": "Give the model each sentence of the output by itself. Default: the whole output.",
    },
    "pass_threshold": {**THRESHOLD, "default": DEFAULT_THRESHOLD},
}


def find_problems(settings: Settings) -> Iterator[SettingsProblem]:
    """Yield the problems of the settings that say what a model decides."""
    if "good_label" in settings and "bad_label" in settings:
        yield SettingsProblem("/bad_label", "must not be set together with good_label")
    if settings.get("task") == Task.TOXICITY and not {"good_label", "bad_label"} & set(settings):
        yield SettingsProblem("/good_label", "is required for toxicity, or bad_label: a score alone may mean either")
    labels = settings.get("labels")
    for name in ("good_label", "bad_label"):
        if isinstance(labels, list) and name in settings and settings[name] not in labels:
            yield SettingsProblem(f"/{name}", "must be one of labels")
    texts = set(name_texts(settings))
    if settings.get("task") == Task.SUPPORT and texts != {CONTEXT, OUTPUT}:
        yield SettingsProblem("/texts", "must be context and output, in either order, for support")
    template = settings.get("template")
    if isinstance(template, str) and find_placeholders(template) != texts:
        named = " and ".join(f"{{{name}}}" for name in name_texts(settings))
        yield SettingsProblem("/template", f"must have {named}, and no other text")
