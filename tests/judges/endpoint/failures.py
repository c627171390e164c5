"""Behaviours that fail, as their providers write them."""

from __future__ import annotations

from typing import Any

from tests.judges.endpoint.replies import FailingCase, completion, error, reply

CLOUDFLARE = "<!DOCTYPE html><html><head><title>{}</title></head><body><h1>{}</h1></body></html>"


def failing(
    provider: str,
    name: str,
    status: int,
    document: object,
    code: str,
    sentence: str,
    *,
    kind: str | None = None,
    calls: int = 1,
    tokens: int = 0,
    **headers: str,
) -> FailingCase:
    """Return a case of one reply."""
    return FailingCase(provider, name, reply(document, status, **headers), code, sentence, calls, tokens, kind)


def google(code: int, status: str, message: str, **fields: Any) -> list[dict[str, Any]]:
    """Return an error of Google's OpenAI-compatible page: a list with one."""
    return [{"error": {"code": code, "message": message, "status": status, **fields}}]


def anthropic(kind: str, message: str) -> dict[str, Any]:
    """Return an error of Anthropic's."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


KEY, CREDIT, MODEL, CONTEXT, RATE, POLICY, PARAMETER, OUTAGE = (
    *("key", "credit", "model", "context_length", "rate_limit", "content_policy", "parameter", "outage"),
)
KEYS = (
    failing(
        *("openai", "wrong-key", 401),
        error("Incorrect API key provided: sk-12*******wxyz.", "invalid_api_key", "invalid_request_error"),
        *("not_configured", "Incorrect API key provided: …"),
        kind=KEY,
    ),
    failing(
        *("openai", "country", 403),
        error("Country, region, or territory not supported", "unsupported_country_region_territory"),
        *("not_configured", "Country, region, or territory not supported"),
        kind=KEY,
    ),
    failing(
        *("azure", "subscription", 401),
        {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong API endpoint."}},
        *("not_configured", "invalid subscription key"),
        kind=KEY,
    ),
    failing(
        *("azure", "firewall", 403),
        {"error": {"code": "403", "message": "Access denied due to Virtual Network/Firewall rules."}},
        *("not_configured", "Virtual Network/Firewall"),
        kind=KEY,
    ),
    failing(
        *("anthropic", "permission", 403),
        anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
        *("not_configured", "does not have permission"),
        kind=KEY,
    ),
    failing(
        *("gemini", "key", 400),
        google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        *("not_configured", "API key not valid"),
        kind=KEY,
    ),
    failing("mistral", "key", 401, {"detail": "Unauthorized"}, "not_configured", "Unauthorized", kind=KEY),
    failing(
        *("litellm", "key", 401),
        error("Authentication Error, Invalid proxy server token passed", "401", "auth_error"),
        *("not_configured", "Invalid proxy server token passed"),
        kind=KEY,
    ),
    failing(
        *("cloudflare", "workers-ai-key", 401),
        {"success": False, "errors": [{"code": 10000, "message": "Authentication error"}], "messages": []},
        *("not_configured", "Authentication error"),
        kind=KEY,
    ),
    failing(
        *("bedrock", "token", 403),
        {"message": "The security token included in the request is invalid."},
        *("not_configured", "security token"),
        kind=KEY,
    ),
)
CREDITS = (
    failing(
        *("openai", "quota", 429),
        error("You exceeded your current quota, please check your plan.", "insufficient_quota", "insufficient_quota"),
        *("budget_exhausted", "exceeded your current quota"),
        kind=CREDIT,
    ),
    failing(
        *("deepseek", "balance", 402),
        error("Insufficient Balance", "invalid_request_error", "unknown_error"),
        *("budget_exhausted", "Insufficient Balance"),
        kind=CREDIT,
    ),
    failing(
        *("anthropic", "balance", 400),
        anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        *("budget_exhausted", "credit balance is too low"),
        kind=CREDIT,
    ),
    failing(
        *("openrouter", "credits", 402),
        {"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}},
        *("budget_exhausted", "requires more credits"),
        kind=CREDIT,
    ),
    failing(
        *("qwen", "arrears", 400),
        error("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"),
        *("budget_exhausted", "good standing"),
        kind=CREDIT,
    ),
    failing(
        *("litellm", "budget", 400),
        error("Budget has been exceeded! Current cost: 1.2, Max budget: 1.0", "400", "budget_exceeded"),
        *("budget_exhausted", "Budget has been exceeded"),
        kind=CREDIT,
    ),
)
MODELS = (
    failing(
        *("openai", "model", 404),
        error("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
        *("not_configured", "does not exist"),
        kind=MODEL,
    ),
    failing(
        *("openai", "model-of-others", 403),
        error("Project `proj_1` does not have access to model `gpt-9`", "model_not_found"),
        *("not_configured", "does not have access to model"),
        kind=MODEL,
    ),
    failing(
        *("azure", "deployment", 404),
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}},
        *("not_configured", "deployment for this resource"),
        kind=MODEL,
    ),
    failing(
        *("mistral", "model", 400),
        {"object": "error", "message": "Invalid model: m-9", "type": "invalid_model", "param": None, "code": "1500"},
        *("not_configured", "Invalid model: m-9"),
        kind=MODEL,
    ),
    failing(
        *("vllm", "model", 404),
        {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404},
        *("not_configured", "The model `m` does not exist."),
        kind=MODEL,
    ),
    failing(
        *("ollama", "model", 404),
        error('model "m" not found, try pulling it first', None, "api_error"),
        *("not_configured", "try pulling it first"),
        kind=MODEL,
    ),
    failing(
        *("openrouter", "model", 400),
        {"error": {"message": "m-9 is not a valid model ID", "code": 400}, "user_id": "u"},
        *("not_configured", "m-9 is not a valid model ID"),
        kind=MODEL,
    ),
    failing(
        *("bedrock", "model-access", 403),
        {"Message": "You don't have access to the model with the specified model ID."},
        *("not_configured", "access to the model"),
        kind=MODEL,
    ),
    failing(
        *("lm studio", "path", 200),
        {"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"},
        *("not_configured", "Unexpected endpoint or method"),
        kind=MODEL,
    ),
    failing("fastapi", "path", 404, {"detail": "Not Found"}, "not_configured", "Not Found", kind=MODEL),
)
LENGTHS = (
    failing(
        *("openai", "context", 400),
        error("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        *("input_too_long", "maximum context length is 8192"),
        kind=CONTEXT,
    ),
    failing(
        *("anthropic", "context", 400),
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        *("input_too_long", "prompt is too long"),
        kind=CONTEXT,
    ),
    failing(
        *("llama.cpp", "context", 400),
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
            }
        },
        *("input_too_long", "available context size"),
        kind=CONTEXT,
    ),
    failing(
        *("tgi", "context", 422),
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 inputs",
            "error_type": "validation",
        },
        *("input_too_long", "must be <= 4096"),
        kind=CONTEXT,
    ),
    failing(
        *("bedrock", "context", 400),
        {"message": "Input is too long for requested model."},
        *("input_too_long", "Input is too long"),
        kind=CONTEXT,
    ),
    failing(
        *("cloudflare", "body", 413),
        CLOUDFLARE.format("413 Request Entity Too Large", "413 Request Entity Too Large"),
        *("input_too_long", "413 Request Entity Too Large"),
        kind=CONTEXT,
    ),
)
POLICIES = (
    failing(
        *("openrouter", "moderation", 403),
        {
            "error": {
                "code": 403,
                "message": "Your chosen model requires moderation and your input was flagged",
                "metadata": {"reasons": ["violence"], "flagged_input": "the text"},
            }
        },
        *("refused", "your input was flagged (violence)"),
        kind=POLICY,
    ),
    failing(
        *("azure", "filter", 400),
        error(
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            "content_filter",
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
        *("refused", "content management policy"),
        kind=POLICY,
    ),
    failing(
        *("qwen", "inspection", 400),
        error("Input data may contain inappropriate content.", "data_inspection_failed"),
        *("refused", "inappropriate content"),
        kind=POLICY,
    ),
    failing(
        *("anthropic", "filter", 400),
        anthropic("invalid_request_error", "Output blocked by content filtering policy"),
        *("refused", "content filtering policy"),
        kind=POLICY,
    ),
    failing(
        *("cloudflare", "blocked", 403),
        CLOUDFLARE.format("Attention Required! | Cloudflare", "Sorry, you have been blocked"),
        *("refused", "Attention Required!"),
        kind=POLICY,
    ),
    failing(
        *("gemini", "safety", 200),
        completion({"role": "assistant", "content": None}, "content_filter: PROHIBITED_CONTENT"),
        *("refused", ""),
        tokens=120,
    ),
    failing(
        *("openai", "refusal", 200),
        completion({"role": "assistant", "content": None, "refusal": "I cannot help with that."}),
        *("refused", ""),
        tokens=120,
    ),
)
PARAMETERS = (
    failing(
        *("mistral", "validation", 422),
        {
            "object": "error",
            "message": {"detail": [{"type": "x", "loc": ["body", "messages", 0], "msg": "Value error, too odd"}]},
            "type": "invalid_request_error",
        },
        *("not_configured", "body.messages.0: Value error, too odd"),
        kind=PARAMETER,
        calls=4,
    ),
    failing(
        *("fastapi", "validation", 422),
        {"detail": [{"loc": ["body", "user"], "msg": "Field required", "type": "missing"}]},
        *("not_configured", "body.user: Field required"),
        kind=PARAMETER,
        calls=4,
    ),
    failing("plain", "text", 400, "Bad Request", "not_configured", "Bad Request", kind=PARAMETER, calls=4),
)
RATES = (
    failing(
        *("groq", "tokens-per-minute", 413),
        error(
            "Request too large for model `m` in organization `org_1` on tokens per minute (TPM): Limit 6000.",
            "rate_limit_exceeded",
            "tokens",
        ),
        *("rate_limited", "tokens per minute (TPM)"),
        kind=RATE,
        retry_after="60",
    ),
    failing(
        *("gemini", "quota", 429),
        google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 34.5s."),
        *("rate_limited", "Please retry in 34.5s"),
        kind=RATE,
    ),
    failing(
        *("bedrock", "throttled", 429),
        {"message": "Too many tokens, please wait before trying again."},
        *("rate_limited", "Too many tokens"),
        kind=RATE,
        retry_after="60",
    ),
    failing(
        *("cloudflare", "rate", 429),
        "error code: 1015",
        *("rate_limited", "error code: 1015"),
        kind=RATE,
        retry_after="60",
    ),
    failing(
        *("mistral", "rate", 429),
        {"message": "Requests rate limit exceeded", "request_id": "r"},
        *("rate_limited", "Requests rate limit exceeded"),
        kind=RATE,
        retry_after="60",
    ),
)
OUTAGES = (
    failing(
        *("anthropic", "overloaded", 529),
        anthropic("overloaded_error", "Overloaded"),
        *("connection", "Overloaded"),
        kind=OUTAGE,
        calls=3,
    ),
    failing(
        *("llama.cpp", "loading", 503),
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        *("connection", "Loading model"),
        kind=OUTAGE,
        calls=3,
    ),
    failing(
        *("cloudflare", "bad-gateway", 502),
        CLOUDFLARE.format("api.example.com | 502: Bad gateway", "Bad gateway"),
        *("connection", "502: Bad gateway"),
        kind=OUTAGE,
        calls=3,
    ),
    failing(
        *("cloudflare", "timeout", 524),
        CLOUDFLARE.format("api.example.com | 524: A timeout occurred", "A timeout occurred"),
        *("timeout", "524: A timeout occurred"),
        kind=OUTAGE,
        calls=3,
    ),
    failing(
        *("openrouter", "provider", 200),
        {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": '{"error": "Worker died"}'}}},
        *("connection", "Provider returned error Worker died"),
        kind=OUTAGE,
        calls=3,
    ),
    failing(
        *("openrouter", "choice", 200),
        {
            "choices": [
                {
                    "error": {"code": 503, "message": "Provider disconnected"},
                    "finish_reason": "error",
                    "message": {"role": "assistant", "content": '{"reas'},
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5},
        },
        *("connection", "Provider disconnected"),
        kind=OUTAGE,
        calls=3,
    ),
)
# The endpoint has worked, and may bill it: the text that was sent is charged by estimate.
ESTIMATE = 40
UNREADABLE = (
    failing("vllm", "stream", 200, "data: {}\n\ndata: [DONE]\n", "bad_output", "a stream of events", tokens=ESTIMATE),
    failing("cloudflare", "html", 200, CLOUDFLARE, "bad_output", "an HTML page", tokens=ESTIMATE),
    failing("proxy", "empty-choices", 200, {"choices": []}, "bad_output", "has no message", tokens=ESTIMATE),
    failing("proxy", "nothing", 200, completion(""), "bad_output", "wrote nothing", tokens=120),
)
FAILING: tuple[FailingCase, ...] = (
    *(*KEYS, *CREDITS, *MODELS, *LENGTHS, *POLICIES, *PARAMETERS, *RATES, *OUTAGES, *UNREADABLE),
)
