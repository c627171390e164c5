"""What a call to an LLM can end in, apart from an answer."""

from __future__ import annotations

from enum import StrEnum

TIMEOUT = "timeout"
RATE_LIMITED = "rate_limited"
REFUSED = "refused"
BAD_OUTPUT = "bad_output"
CONNECTION = "connection"
BUDGET_EXHAUSTED = "budget_exhausted"
NOT_CONFIGURED = "not_configured"
BUG = "bug"
CODES = (TIMEOUT, RATE_LIMITED, REFUSED, BAD_OUTPUT, CONNECTION, BUDGET_EXHAUSTED, NOT_CONFIGURED, BUG)


class ErrorKind(StrEnum):
    """What an endpoint's error is about."""

    KEY = "key"
    """The key, its account, or the country it is called from."""
    CREDIT = "credit"
    MODEL = "model"
    """The model, or the address that should offer it."""
    CONTEXT_LENGTH = "context_length"
    RATE_LIMIT = "rate_limit"
    CONTENT_POLICY = "content_policy"
    PARAMETER = "parameter"
    """How the request is written: the only kind that another request mode can mend."""
    OUTAGE = "outage"


class CallFailed(Exception):
    """A call that returned no usable answer.

    What it cost anyway is in the token counts and `cost`, which are estimates if `is_estimated`. `detail` is a sentence
    that can be shown to the account: it contains neither the key nor any text that was sent. `is_transient`: the same
    call might succeed later, after `retry_after_seconds` if that is known. `kind` says what the endpoint's own error is
    about; None if it reported none. `status`, `provider_code` and `parameter` are those of the endpoint's response, for
    callers that adapt to its capabilities. `ending` says how the response ended, if there
    was one, and `thinking` contains the model's thinking before that.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        kind: ErrorKind | None = None,
        is_transient: bool = False,
        retry_after_seconds: float | None = None,
        status: int | None = None,
        provider_code: str | None = None,
        parameter: str | None = None,
        ending: str = "error",
        thinking: str = "",
        input_tokens: int = 0,
        output_tokens: int = 0,
        reasoning_tokens: int = 0,
        cost: float | None = None,
        latency_ms: float = 0.0,
        is_estimated: bool = False,
    ) -> None:
        self.code = code
        self.detail = detail
        self.kind = kind
        self.is_transient = is_transient
        self.retry_after_seconds = retry_after_seconds
        self.status = status
        self.provider_code = provider_code
        self.parameter = parameter
        self.ending = ending
        self.thinking = thinking
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.reasoning_tokens = reasoning_tokens
        self.cost = cost
        self.latency_ms = latency_ms
        self.is_estimated = is_estimated
        super().__init__(f"{code}: {detail}")

    @property
    def was_cut(self) -> bool:
        """Return whether the token limit ended the response before it began."""
        return self.ending == "length"


class UnusableConnection(CallFailed):
    """No such connection, or one that cannot be called so: switched off, deleted, of another kind, key unreadable."""

    def __init__(self, detail: str) -> None:
        super().__init__(NOT_CONFIGURED, detail)
