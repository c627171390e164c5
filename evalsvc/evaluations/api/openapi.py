"""OpenAPI schemas for the routes that no serializer describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiParameter

from evalsvc.evaluations.wire.bulk import MAX_SAMPLES, NDJSON
from evalsvc.evaluations.wire.history_shapes import SCOPE, SINCE
from evalsvc.evaluations.wire.inputs import (
    FORMERLY_PUBLISHED,
    MAX_CONTEXTS,
    MAX_GOLDS,
    MAX_TAG_KEY,
    PUBLISHED,
    SPELLINGS,
)
from evalsvc.evaluations.wire.interval_request import DEFAULT_STRATEGY, INCLUDE, LEVEL, LEVELS, OF
from evalsvc.evaluations.wire.request import MAX_EVALUATORS, MAX_ID, Body
from evalsvc.evaluations.wire.shapes import BatchOfAnswers, EvaluateAnswer, SampleAnswer
from evalsvc.rest.answering.shapes import answer_with, answers_with
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES

DESCRIPTIONS = {
    "evaluators": "What to run; each entry gets one result, in this order.",
    "capture": "What to keep. Default: `all` with `app` or `experiment_id`, else `none`.",
    "confidence_interval_strategy": "The interval to compute over the history before this request.",
    "strip_thinking": "Whether closed blocks of thinking before the output are left out. Default: true.",
    "finish_reason": "What the model's provider says of how the output ended, such as `length`.",
    "app": "The application; not together with `experiment_id`.",
}

TEXT = {"type": ["string", "number", "boolean", "null"]}
# `oneOf` with one type each, and lists of any JSON: for `anyOf`, lists of types, and unions as items of a list OpenAPI
# Generator makes classes that accept no string.
PASSAGES = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "array",
            "maxItems": MAX_CONTEXTS,
            "items": {},
            "description": "Texts, or objects with a `text`, an `id` or both, and `relevance` and `metadata`.",
        },
        {"type": "null"},
    ]
}
PLACED = {
    "title": "ExtractiveAnswer",
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "document_id": {"type": ["string", "null"]},
        "start": {"type": ["integer", "null"], "minimum": 0},
        "end": {"type": ["integer", "null"], "minimum": 0},
        "score": {"type": ["number", "null"]},
    },
    "additionalProperties": True,
    "description": "An extractive answer and where it stands: half-open character offsets into the document.",
}
ANSWER_IN = {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, PLACED, {"type": "null"}]}
ANSWERS_IN = {
    "oneOf": [{"type": "array", "maxItems": MAX_GOLDS, "items": ANSWER_IN}, {"type": "null"}],
    "description": "Every answer that counts as right.",
}
CONVERSATION = {
    "oneOf": [
        {"type": "array", "items": {}, "description": "The messages."},
        {
            "type": "object",
            "additionalProperties": True,
            "description": "An object with `messages`, `tools` and `final_state`, or the attributes of a span; or the"
            " `session_id` of stored spans, with an `agent` where there are several.",
        },
        {"type": "null"},
    ],
    "description": "The messages and calls of tools, in the format of one of the known APIs.",
}
REFERENCE = {
    "oneOf": [
        {"type": "array", "items": {}, "description": "The expected calls, or messages that make them."},
        {
            "type": "object",
            "additionalProperties": True,
            "description": "An object with `tool_calls`, `final_state`, `forbidden` and `max_steps`, as far as known.",
        },
        {"type": "null"},
    ],
    "description": "What was expected of the conversation.",
}
INPUT_SCHEMAS: dict[str, dict[str, Any]] = {
    "input": TEXT,
    "output": ANSWER_IN,
    "contexts": PASSAGES,
    "gold": ANSWER_IN,
    "golds": ANSWERS_IN,
    "system_prompt": TEXT,
    "gold_contexts": PASSAGES,
    "top_k_contexts": PASSAGES,
    "baseline_output": TEXT,
    "conversation": CONVERSATION,
    "reference": REFERENCE,
}


INTERVAL_ASK = {
    "title": "IntervalRequest",
    "description": "The interval to compute: how, of what, and over which scores.",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "strategy": {"enum": [*HISTORY_STRATEGIES], "default": DEFAULT_STRATEGY},
        "level": {"type": "number", "minimum": LEVELS[0], "maximum": LEVELS[1], "default": LEVEL},
        "of": {"enum": [*OF], "description": "Default: `pass` for families whose verdict is the answer."},
        "scope": {**SCOPE, "default": "account"},
        "since": SINCE,
        "include_experiments": {"enum": [*INCLUDE], "description": "Default: `none`; in an experiment `all`."},
        "cluster_by": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_TAG_KEY,
            "description": "The name of a tag, such as a session: scores with equal values are one cluster.",
        },
    },
}


def published_spellings(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a body with the published names of a sample's fields: others are accepted as well."""
    every = {spelling for spellings in SPELLINGS.values() for spelling in spellings}
    published: dict[str, Any] = {}
    for field, spellings in SPELLINGS.items():
        schema = INPUT_SCHEMAS[field] | {"default": None}
        published[PUBLISHED.get(field, field)] = schema
        published |= {name: schema | {"deprecated": True} for name in FORMERLY_PUBLISHED.intersection(spellings)}
    return published | {name: schema for name, schema in properties.items() if name not in every}


def inlined(part: object, components: Mapping[str, object]) -> Any:
    """Return a part of a schema with each `$ref` replaced by its schema: structs of requests get no component."""
    if isinstance(part, list):
        return [inlined(item, components) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inlined(components[part["$ref"].rpartition("/")[2]], components)
    return {name: inlined(value, components) for name, value in part.items()}


def evaluate_schema() -> dict[str, Any]:
    """Return the JSON Schema of the body of POST /v1/evaluate, from the struct that decodes it."""
    _, components = msgspec.json.schema_components([Body], ref_template="#/components/schemas/{name}")
    body = inlined(components["Body"], components)
    properties = published_spellings({name: dict(part) for name, part in body["properties"].items()})
    properties["evaluators"] |= {"minItems": 1, "maxItems": MAX_EVALUATORS}
    properties["confidence_interval_strategy"] = {
        "oneOf": [{"type": "string", "enum": [*HISTORY_STRATEGIES]}, INTERVAL_ASK, {"type": "null"}],
        "default": None,
    }
    for name in ("dataset_id", "dataset_sample_id", "log_id", "trace_id", "span_id"):
        for part in properties[name].get("anyOf", ()):
            if part.get("type") == "string":
                part["maxLength"] = MAX_ID
    for name, text in DESCRIPTIONS.items():
        properties[name]["description"] = text
    return {"type": "object", "required": ["evaluators"], "properties": properties}


PREFER = OpenApiParameter(
    "Prefer", str, OpenApiParameter.HEADER, description="`wait=N` seconds, `respond-async`, or both (RFC 7240)."
)

EVALUATE: dict[str, Any] = {
    "operation_id": "evaluate",
    "tags": ["evaluations"],
    "request": {"application/json": evaluate_schema()},
    "parameters": [PREFER],
    "responses": {
        (200, "application/json"): answer_with(EvaluateAnswer, "A result per evaluator, each with its own status."),
        (202, "application/json"): answer_with(EvaluateAnswer, "Accepted; fetch the rest at `Location`."),
    },
}


def evaluate_batch_schema() -> dict[str, Any]:
    """Return the JSON Schema of the body of POST /v1/evaluate/batch: what samples share, and the samples."""
    properties = evaluate_schema()["properties"]
    samples = {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_SAMPLES,
        "items": {"type": "object", "properties": properties},
        "description": "Each has the fields of POST /v1/evaluate; what it does not say is what the batch says.",
    }
    return {"type": "object", "required": ["samples"], "properties": {**properties, "samples": samples}}


EVALUATE_BATCH: dict[str, Any] = {
    "operation_id": "evaluate_batch",
    "tags": ["evaluations"],
    "request": {"application/json": evaluate_batch_schema(), NDJSON: {"type": "string"}},
    "parameters": [PREFER],
    "responses": {
        (200, "application/json"): answer_with(BatchOfAnswers, "A row for each sample, in order."),
        (200, NDJSON): answer_with(SampleAnswer, "A line for each sample, in order, as it is done."),
    },
}
STORED_EVALUATE: dict[str, Any] = {
    "operation_id": "evaluate_result",
    "tags": ["evaluations"],
    "parameters": [
        OpenApiParameter("Prefer", str, OpenApiParameter.HEADER, description="`wait=N` seconds for what is pending.")
    ],
    "responses": answers_with(EvaluateAnswer, "The results so far."),
}
