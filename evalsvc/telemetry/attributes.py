"""Names of attributes by what they say of a span, in the conventions that are read.

OpenTelemetry GenAI 1.41 and the older names since 1.27, OpenInference (specification of 2026), OpenLLMetry 0.62, Vercel
AI SDK 3.3 to 5, pydantic-ai (instrumentation versions 1 to 5) and logfire, Langfuse 3, MLflow 3, and Patronus 0.1.
Of several names the first that is set counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EVALUATION_EVENT = "gen_ai.evaluation.result"
PASS_LABELS = {"pass": True, "fail": False}
"""Labels of evaluations that say whether they passed; others, such as `relevant`, are texts."""
INPUTS = (
    *("input.value", "langfuse.observation.input", "traceloop.entity.input", "gen_ai.task.input", "mlflow.spanInputs"),
    *("gen_ai.prompt", "gen_ai.retrieval.query.text", "ai.value", "ai.values"),
)
OUTPUTS = (
    *("output.value", "langfuse.observation.output", "final_result", "ai.response.text", "ai.result.text"),
    *("ai.response.object", "ai.result.object", "traceloop.entity.output", "gen_ai.task.output", "mlflow.spanOutputs"),
    "gen_ai.completion",
)
ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "tool.parameters"),
    *("input.value", "langfuse.observation.input", "traceloop.entity.input"),
)
RESULTS = (
    *("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result"),
    *("output.value", "langfuse.observation.output", "traceloop.entity.output"),
)
TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
TOKENS = {
    "input_tokens": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        *("ai.usage.inputTokens", "ai.usage.promptTokens"),
    ),
    "output_tokens": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        *("ai.usage.outputTokens", "ai.usage.completionTokens"),
    ),
}
COSTS = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")
"""In US dollars."""
MODELS = (
    *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model", "ai.model.id"),
    *("langfuse.observation.model.name", "embedding.model_name", "model_name"),
)
PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
USERS = (
    *("user.id", "enduser.id", "langfuse.user.id", "ai.telemetry.metadata.userId"),
    "traceloop.association.properties.user_id",
)
KINDS = (
    *("gen_ai.operation.name", "openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind"),
    *("pat.span.type", "llm.request.type", "ai.operationId"),
)
KIND_WORDS = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion", "llm", "generation"), "llm"),
    **dict.fromkeys(("execute_tool", "tool", "ai.toolcall"), "tool"),
    **dict.fromkeys(("invoke_agent", "create_agent", "agent"), "agent"),
    **dict.fromkeys(("retriever", "retrieval"), "retriever"),
    **dict.fromkeys(("embedding", "embeddings", "ai.embed", "ai.embedmany"), "embedding"),
    **dict.fromkeys(("evaluator", "evaluation", "eval"), "evaluator"),
    **dict.fromkeys(("reranker", "rerank"), "reranker"),
    "guardrail": "guardrail",
    **dict.fromkeys(("chain", "workflow", "task", "invoke_workflow", "agent_step", "span", "prompt"), "chain"),
}
"""The kind of a span by what the conventions call it."""


def find_value(attributes: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first of some attributes that is set; None without one."""
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def find_text(attributes: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of some attributes that is a text, and not an empty one."""
    return next((value for name in names if isinstance(value := attributes.get(name), str) and value), None)


def find_number(attributes: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """Return the first of some attributes that is a number from 0."""
    values = (attributes.get(name) for name in names)
    return next(
        (value for value in values if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0),
        None,
    )


def count_tokens(attributes: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens that a span says it took, those of its input and of its output."""
    counts = {total: find_number(attributes, names) for total, names in TOKENS.items()}
    return {total: int(count) for total, count in counts.items() if count is not None}


def find_kind(attributes: Mapping[str, Any]) -> str:
    """Return what kind of work a span is: one of the values of KIND_WORDS; empty where it does not say."""
    for name in KINDS:
        word = attributes.get(name)
        if not isinstance(word, str):
            continue
        word = word.lower()
        if word.startswith("ai.") and word.endswith((".dogenerate", ".dostream")):
            return "llm"
        if word.startswith(("ai.generate", "ai.stream")):
            return "chain"
        if kind := KIND_WORDS.get(word.removesuffix(".doembed")):
            return kind
    return ""
