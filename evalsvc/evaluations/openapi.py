"""What /v1/openapi.json says about the routes that no serializer describes."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from evalsvc.evaluations.call import MAX_CONTEXTS, MAX_EVALUATORS, MAX_ID, Body
from evalsvc.stats.strategies import STRATEGIES

NULLABLE_TEXT = {"type": ["string", "null"]}
NULLABLE_NUMBER = {"type": ["number", "null"]}
DESCRIPTIONS = {
    "evaluators": "What to run; each entry gets one result, in this order.",
    "capture": "What to keep. Default: `all` with `app` or `experiment_id`, else `none`.",
    "confidence_interval_strategy": "The interval to compute over the history before this request.",
    "app": "The application; not together with `experiment_id`.",
}

LISTS = (
    *("task_context", "evaluated_model_retrieved_context"),
    *("top_k_context", "evaluated_model_top_k_context"),
    *("gold_context", "evaluated_model_gold_context"),
)


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
    properties = {name: dict(part) for name, part in body["properties"].items()}
    properties["evaluators"] |= {"minItems": 1, "maxItems": MAX_EVALUATORS}
    properties["confidence_interval_strategy"] = {"enum": [*STRATEGIES, None], "default": None}
    for name in LISTS:
        for part in properties[name]["anyOf"]:
            if part.get("type") == "array":
                part["maxItems"] = MAX_CONTEXTS
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
ANSWER = {
    "type": "object",
    "required": ["id", "results"],
    "properties": {"id": NULLABLE_TEXT, "results": {"type": "array", "items": RESULT}},
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
    "responses": {(200, "application/json"): OpenApiResponse(ANSWER, "The results so far.")},
}
