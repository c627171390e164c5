"""What /v1/openapi.json says about the routes that no serializer describes."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from evalsvc.evaluations.wire.inputs import MAX_CONTEXTS, MAX_GOLDS, SPELLINGS
from evalsvc.evaluations.wire.interval_request import INCLUDE, LEVEL, LEVELS, MAX_TAGS, OF
from evalsvc.evaluations.wire.request import MAX_EVALUATORS, MAX_ID, Body
from evalsvc.stats.strategies import STRATEGIES

NULLABLE_TEXT = {"type": ["string", "null"]}
NULLABLE_NUMBER = {"type": ["number", "null"]}
DESCRIPTIONS = {
    "evaluators": "What to run; each entry gets one result, in this order.",
    "capture": "What to keep. Default: `all` with `app` or `experiment_id`, else `none`.",
    "confidence_interval_strategy": "The interval to compute over the history before this request.",
    "app": "The application; not together with `experiment_id`.",
}

TEXT = {"type": ["string", "number", "boolean", "null"]}
PASSAGE = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer", "null"]},
        "text": NULLABLE_TEXT,
        "relevance": NULLABLE_NUMBER,
        "metadata": {"type": ["object", "null"]},
    },
    "additionalProperties": True,
    "description": "A passage has a text, an id or both. `score` is read as `relevance`.",
}
PASSAGES = {
    "anyOf": [
        NULLABLE_TEXT,
        {"type": "array", "maxItems": MAX_CONTEXTS, "items": {"anyOf": [{"type": "string"}, PASSAGE]}},
    ]
}
PLACED = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string"},
        "document_id": NULLABLE_TEXT,
        "start": {"type": ["integer", "null"], "minimum": 0},
        "end": {"type": ["integer", "null"], "minimum": 0},
        "score": NULLABLE_NUMBER,
    },
    "additionalProperties": True,
    "description": "An extractive answer and where it stands: half-open character offsets into the document.",
}
ANSWER_IN = {"anyOf": [TEXT, PLACED]}
ANSWERS_IN = {
    "anyOf": [{"type": "null"}, {"type": "array", "maxItems": MAX_GOLDS, "items": ANSWER_IN}],
    "description": "Every answer that counts as right.",
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
}


ONE_NAME = {"type": "string", "minLength": 1, "maxLength": 255}
SCOPE = {
    "anyOf": [
        {"const": "account"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {
                **{name: ONE_NAME for name in ("app", "project", "experiment")},
                "tags": {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": MAX_TAGS,
                    "additionalProperties": {"type": "string"},
                },
            },
        },
    ]
}
SINCE = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {
                "scores": {"type": "integer", "minimum": 2, "maximum": 1000},
                "revision": {"type": "integer", "minimum": 1},
            },
        },
    ]
}
INTERVAL_ASK = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "strategy": {"enum": [*STRATEGIES], "default": "full-history"},
        "level": {"type": "number", "minimum": LEVELS[0], "maximum": LEVELS[1], "default": LEVEL},
        "of": {"enum": [*OF], "description": "Default: `pass` for families whose verdict is the answer."},
        "scope": {**SCOPE, "default": "account"},
        "since": SINCE,
        "include_experiments": {"enum": [*INCLUDE], "description": "Default: `promoted`; within a scope `none`."},
    },
}


def input_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas of a sample's fields under each of their spellings."""
    return {one: INPUT_SCHEMAS[name] | {"default": None} for name, spellings in SPELLINGS.items() for one in spellings}


def inlined(part: Any, components: dict[str, Any]) -> Any:
    """Return a part of a schema with what it refers to written out: structs of requests are no schemas of their own."""
    if isinstance(part, list):
        return [inlined(one, components) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return inlined(components[part["$ref"].rpartition("/")[2]], components)
    return {name: inlined(one, components) for name, one in part.items()}


def request_schema() -> dict[str, Any]:
    """Return the JSON Schema of a body, from the struct that decodes it."""
    _, components = msgspec.json.schema_components([Body], ref_template="#/components/schemas/{name}")
    body = inlined(components["Body"], components)
    properties = {name: dict(part) for name, part in body["properties"].items()} | input_schemas()
    properties["evaluators"] |= {"minItems": 1, "maxItems": MAX_EVALUATORS}
    properties["confidence_interval_strategy"] = {
        "anyOf": [{"enum": [*STRATEGIES, None]}, INTERVAL_ASK],
        "default": None,
    }
    for name in ("dataset_id", "dataset_sample_id", "log_id", "trace_id", "span_id"):
        for part in properties[name].get("anyOf", ()):
            if part.get("type") == "string":
                part["maxLength"] = MAX_ID
    for name, text in DESCRIPTIONS.items():
        properties[name]["description"] = text
    return {"type": "object", "required": ["evaluators"], "properties": properties}


INTERVAL = {
    "type": ["object", "null"],
    "required": ["strategy", "alpha", "lower", "median", "upper", "n", "method", "degenerate", "warnings"],
    "properties": {
        "strategy": {"type": "string"},
        "alpha": {"type": "number", "description": "The confidence level."},
        "lower": NULLABLE_NUMBER,
        "median": NULLABLE_NUMBER,
        "upper": NULLABLE_NUMBER,
        "n": {"type": "integer", "description": "Scores in the history, at most 1000."},
        "method": NULLABLE_TEXT,
        "degenerate": {"type": "boolean"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "autocorrelation_width_factor": NULLABLE_NUMBER,
        "advice": {"type": ["object", "null"]},
        "reason": {**NULLABLE_TEXT, "description": "Why there are no numbers."},
        "of": {"enum": [*OF], "description": "Of the share that passes, or of the mean score."},
        "n_no_verdict": {"type": "integer", "description": "Scores that nobody judged, which `of: pass` leaves out."},
        "scope": SCOPE,
        "since": {"anyOf": [SINCE, {"type": "null"}]},
        "include_experiments": {"enum": [*INCLUDE]},
        "sources": {
            "type": "object",
            "description": (
                "Where the values come from: `n` and `rate`, their mean, of each part. `evaluation`: captured calls;"
                " `experiment`: outputs of planned experiments that were promoted, of all with `include_experiments:"
                " all`; `import`: scores made elsewhere. The `n` add up to that of the interval."
            ),
            "additionalProperties": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "rate": NULLABLE_NUMBER},
            },
        },
        "drift": {
            "type": ["object", "null"],
            "description": "When the level shifted, the means before and after, and the interval since then.",
        },
        "suggested_since": {
            "type": ["object", "null"],
            "description": "With `mixed_revisions`: a `since` of one revision only.",
        },
    },
}
RESULT = {
    "type": "object",
    "required": [
        "evaluator_id",
        "criteria",
        "profile_name",
        "status",
        "error_code",
        "error_message",
        "evaluation_result",
    ],
    "properties": {
        "evaluator_id": {"type": "string"},
        "criteria": {"type": "string"},
        "profile_name": {"type": "string"},
        "criterion_id": NULLABLE_TEXT,
        "status": {"type": "string", "enum": ["success", "error", "validation_error", "pending"]},
        "error_code": NULLABLE_TEXT,
        "error_message": NULLABLE_TEXT,
        "error_info": {
            "type": ["object", "null"],
            "description": "What is known of a verdict that failed, for example what its judge has used.",
        },
        "evaluation_id": NULLABLE_TEXT,
        "evaluation_result": {
            "type": ["object", "null"],
            "properties": {
                "id": NULLABLE_TEXT,
                "pass": {"type": "boolean"},
                "score_raw": {"type": "number"},
                "explanation": NULLABLE_TEXT,
                "additional_info": {
                    "type": "object",
                    "properties": {
                        "positions": {
                            "type": ["array", "null"],
                            "items": {"type": "array", "items": {"type": "integer"}},
                            "description": "Half-open character offsets into the output.",
                        },
                        "extra": {"type": ["object", "null"]},
                        "confidence_interval": INTERVAL,
                    },
                },
            },
            "additionalProperties": True,
        },
    },
}
WARNING = {
    "type": "object",
    "required": ["pointer", "detail", "did_you_mean"],
    "properties": {
        "pointer": {"type": "string"},
        "detail": {"type": "string"},
        "did_you_mean": {"type": "array", "items": {"type": "string"}},
    },
}
ANSWER = {
    "type": "object",
    "required": ["id", "results"],
    "properties": {
        "id": NULLABLE_TEXT,
        "results": {"type": "array", "items": RESULT},
        "warnings": {
            "type": "array",
            "description": "Only where there is something to say: keys that nothing reads, inputs of the wrong type.",
            "items": WARNING,
        },
    },
}
PREFER = OpenApiParameter(
    "Prefer", str, OpenApiParameter.HEADER, description="`wait=N` seconds, `respond-async`, or both (RFC 7240)."
)

EVALUATE: dict[str, Any] = {
    "operation_id": "evaluate",
    "tags": ["evaluations"],
    "request": {"application/json": request_schema()},
    "parameters": [PREFER],
    "responses": {
        (200, "application/json"): OpenApiResponse(ANSWER, "A result per evaluator, each with its own status."),
        (202, "application/json"): OpenApiResponse(ANSWER, "Accepted; fetch the rest at `Location`."),
    },
}
STORED_EVALUATE: dict[str, Any] = {
    "operation_id": "evaluate_result",
    "tags": ["evaluations"],
    "parameters": [
        OpenApiParameter("Prefer", str, OpenApiParameter.HEADER, description="`wait=N` seconds for what is pending.")
    ],
    "responses": {(200, "application/json"): OpenApiResponse(ANSWER, "The results so far.")},
}
