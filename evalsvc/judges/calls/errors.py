"""Read an endpoint's error: what kind it is, and the provider's own sentence without secrets.

Bodies differ by provider: an object or a text under `error`, `detail`, `message` or `errors`, a list of these, HTML, or
plain text. Codes are integers or words. The kind is decided by the status, the codes and a few words of the sentence.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from evalsvc.judges import failures
from evalsvc.judges.calls.endings import CONTENT_FILTER, ERROR
from evalsvc.judges.failures import CallFailed, ErrorKind

MAX_SENTENCE = 300
MAX_CODE = 100
MAX_LEVELS = 6
UNKNOWN_STATUS = 502
BOM = b"\xef\xbb\xbf"
LONG_SECRET = 6
SHARED_CHARS = 8
"""A word that has so many characters in a row in common with a secret is part of it."""

_SENTENCES = ("message", "Message", "msg", "detail", "error", "errors", "error_message", "status_msg", "base_resp")
_CODES = ("code", "status", "status_code", "type", "error_type", "error_code", "reason", "__type", "statusCode")
_STATUSES = {
    **dict.fromkeys(("invalid_api_key", "authentication_error", "auth_error", "unauthenticated"), 401),
    **dict.fromkeys(("permission_error", "permission_denied"), 403),
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted"), 429),
    **dict.fromkeys(("not_found_error", "model_not_found", "notfounderror"), 404),
    **dict.fromkeys(("invalid_request_error", "invalid_argument", "badrequesterror"), 400),
    **dict.fromkeys(("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"), 402),
    **dict.fromkeys(
        ("context_length_exceeded", "string_above_max_length", "content_policy_violation", "content_filter"), 400
    ),
    "timeout": 504,
}
"""What a code in the body of a 200 would have been as a status."""

_BY_CODE = {
    **dict.fromkeys(
        ("content_policy_violation", "content_filter", "responsibleaipolicyviolation", "data_inspection_failed"),
        ErrorKind.CONTENT_POLICY,
    ),
    **dict.fromkeys(
        ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"),
        ErrorKind.CREDIT,
    ),
    **dict.fromkeys(("arrearage", "budget_exceeded", "exceeded_current_quota_error"), ErrorKind.CREDIT),
    **dict.fromkeys(
        ("rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted", "throttlingexception"),
        ErrorKind.RATE_LIMIT,
    ),
    **dict.fromkeys(
        ("context_length_exceeded", "string_above_max_length", "exceed_context_size_error"), ErrorKind.CONTEXT_LENGTH
    ),
    **dict.fromkeys(
        ("invalid_api_key", "api_key_invalid", "authentication_error", "auth_error", "unauthenticated"), ErrorKind.KEY
    ),
    **dict.fromkeys(("account_deactivated", "unsupported_country_region_territory"), ErrorKind.KEY),
    **dict.fromkeys(
        ("model_not_found", "invalid_model", "deploymentnotfound", "model_not_supported", "model_decommissioned"),
        ErrorKind.MODEL,
    ),
}
_SUSPENDED = re.compile(
    r"(?:account|organi[sz]ation|project|api key)\b.{0,40}\b(?:deactivated|suspended|disabled|terminated|banned|denied)"
)
_POLICY = re.compile(
    r"content[ _-]?(?:management )?(?:policy|filter)|moderation|flagged|inappropriate|sensitive|responsible ?ai"
    r"|safety (?:system|filter|polic|guideline|check|reason)|guardrail|usage (?:polic|guideline)|safety_violation"
    r"|prohibited content|harmful|敏感|违规"
)
_CREDIT = re.compile(
    r"credit balance|(?:insufficient|not enough|out of|more) (?:account )?(?:balance|credits?|funds|quota)"
    r"|exceeded your current quota|billing (?:hard )?limit|(?:spend(?:ing)?|budget)\b.{0,20}\b(?:limit|exceeded)"
    r"|good standing|payment required|余额|欠费"
)
_RATE = re.compile(
    r"rate[ _-]?limit|tokens per min|requests per min|\btpm\b|\brpm\b|too many requests|throttl|请求过于频繁|限流"
)
_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|too many tokens|(?:prompt|input) (?:is )?too long"
    r"|reduce the length|maximum number of tokens|maximum (?:input|prompt|sequence) length|input length"
    r"|max_new_tokens` must be|exceeds? the (?:model'?s? )?(?:maximum|max) (?:input|prompt|token)|max_model_len"
    r"|longer than the maximum|max_tokens must be at least 1, got"
)
_KEY = re.compile(
    r"api[ _-]?key|\bkey\b|credential|\btoken\b|bearer|unauthori[sz]ed|authenticat|subscription|signature"
    r"|account|organi[sz]ation|\bproject\b|\bteam\b|country|region|territory|location|permission|not authori[sz]ed"
    r"|not allowed to|virtual network|firewall|ip address|\brole\b|\buser:"
)
_BAD_KEY = re.compile(
    r"(?:invalid|incorrect|missing|expired|no|wrong) (?:api|auth|access|proxy)[ _-]?\w* ?(?:key|token)"
    r"|(?:api|access)[ _-]?(?:key|token)\b.{0,20}\b(?:not valid|invalid|expired|missing|not found|required)"
    r"|security token|location is not supported|country, region"
)
_MODEL = re.compile(
    r"(?:invalid|unknown|unsupported|no such|not a valid) model|\bmodel\b(?!'s).{0,120}?\b(?:not (?:be )?(?:found|exist"
    r"|available|loaded|a valid)|does ?n[o']t exist|unknown|invalid|decommissioned|deprecated|retired|no longer)"
    r"|models? (?:identifier|id)\b.{0,30}\binvalid|deployment\b.{0,60}\bnot (?:exist|found)|access to (?:the )?model"
    r"|no models? loaded|not a valid model|end of life|on-demand throughput"
)
_REQUEST = re.compile(
    r"response_?format|json_?(?:schema|object|mode)|structured|grammar|\btools?\b|tool_choice|function|temperature|top_p"
    r"|\bseed\b|logprobs|max_(?:completion_|output_|new_)?tokens|reasoning_effort|system (?:role|message|prompt)"
    r"|requested parameters|\.role\b|roles must|developer instruction|extra_forbidden|extra inputs"
)
_MODE = re.compile(
    r"response_?format|json_?(?:schema|object)|grammar|structured output|tool_choice|requested parameters"
)
_WRONG_PATH = re.compile(r"unexpected endpoint or method|unknown (?:url|path|route)|no route|cannot post")
_AGAIN = re.compile(
    r"(?:try again|retry|retrying|wait)\D{0,12}?(\d+(?:\.\d+)?) ?(ms|m(?:in)?\b|s|seconds?)", re.IGNORECASE
)
_word = re.compile(r"[^\s'\"`,;()\[\]{}<>]+")
_key_like = re.compile(
    r"\*{2,}|\b(?:sk|pk|rk|gsk|xai|hf|nvapi|key|fw|tgp|csk|pplx)[-_][\w*.-]{6,}|AIza[\w-]{10,}|eyJ[\w-]{10,}"
)
_title = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_tag = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class ErrorBody:
    """What an error's body has: sentences from the outermost, codes in lower case, and the parameter that it names."""

    sentences: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    parameter: str | None = None
    retry_after: float | None = None

    @property
    def sentence(self) -> str:
        """The provider's sentence, as it came."""
        return " ".join(dict.fromkeys(self.sentences))


@dataclass(frozen=True, slots=True)
class ProviderError:
    """An endpoint's error as it is understood; `sentence` is the provider's own, with secrets masked."""

    kind: ErrorKind
    sentence: str
    status: int
    code: str | None = None
    parameter: str | None = None
    retry_after_seconds: float | None = None

    def to_failure(self) -> CallFailed:
        """Return the failure of the call."""
        code, lead = _describe(self.kind, self.status)
        is_policy = self.kind is ErrorKind.CONTENT_POLICY
        return CallFailed(
            code,
            f"{lead} It says: {self.sentence}" if self.sentence else lead,
            kind=self.kind,
            is_transient=self.kind in (ErrorKind.RATE_LIMIT, ErrorKind.OUTAGE),
            retry_after_seconds=self.retry_after_seconds,
            status=self.status,
            provider_code=self.code,
            parameter=self.parameter,
            ending=CONTENT_FILTER if is_policy else ERROR,
        )


def read_error(status: int, headers: Mapping[str, str], content: bytes, *, secrets: Collection[str]) -> CallFailed:
    """Return the failure of an answer with an error status; `headers` is a mapping that ignores case."""
    body = _read_content(content)
    body.retry_after = parse_retry_after(headers.get("retry-after")) or body.retry_after
    return _to_error(status, body, secrets).to_failure()


def read_error_document(document: Mapping[str, Any], *, secrets: Collection[str]) -> CallFailed | None:
    """Return the failure that a document with status 200 reports; None when it reports none.

    Its codes stand for the status. An error without any may pass.
    """
    body = _read_document(document)
    if not body.sentences and not body.codes and not body.statuses:
        return None
    known = (_STATUSES[code] for code in body.codes if code in _STATUSES)
    status = next(iter(body.statuses), None) or next(known, None)
    if status is None:
        status = 404 if _WRONG_PATH.search(body.sentence.lower()) else UNKNOWN_STATUS
    return _to_error(status, body, secrets).to_failure()


def read_page(content: bytes) -> str | None:
    """Return what kind of text stands where JSON is expected, with an HTML page's title; None for another one."""
    start = content.removeprefix(BOM).lstrip()[:4096]
    if start.startswith((b"data:", b"event:", b"id:", b":")):
        return "a stream of events"
    if start[:1] == b"<":
        title = _plain_text(start.decode("utf-8", "replace"))
        return f"an HTML page ({printable(title, 100)})" if title else "an HTML page"
    return None


def _to_error(status: int, body: ErrorBody, secrets: Collection[str]) -> ProviderError:
    codes = (printable(mask(code, secrets), MAX_CODE) for code in body.codes)
    return ProviderError(
        kind=_classify(status, body),
        sentence=printable(mask(" ".join(body.sentence.split()), secrets), MAX_SENTENCE),
        status=status,
        code=next(filter(None, codes), None),
        parameter=body.parameter,
        retry_after_seconds=body.retry_after,
    )


def _read_content(content: bytes) -> ErrorBody:
    try:
        document = orjson.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError:
        text = content.decode("utf-8", "replace").strip()
        return ErrorBody(sentences=[_plain_text(text) if text.startswith("<") else text[: 2 * MAX_SENTENCE]])
    return _read_document(document)


def _read_document(document: object) -> ErrorBody:
    body = ErrorBody()
    _collect(document, body, 0)
    body.codes = list(dict.fromkeys(body.codes))
    if found := _AGAIN.search(body.sentence):
        unit = found[2].lower()
        body.retry_after = float(found[1]) * (0.001 if unit == "ms" else 60 if unit.startswith("m") else 1)
    return body


def _collect(value: object, body: ErrorBody, level: int) -> None:
    """Gather sentences and codes from an error's parts, the outermost first."""
    if isinstance(value, str):
        if value.strip():
            body.sentences.append(value.strip())
    elif level < MAX_LEVELS and isinstance(value, list):
        for item in value[:3]:
            _collect(item, body, level + 1)
    elif level < MAX_LEVELS and isinstance(value, Mapping):
        _collect_codes(value, body)
        place = _read_place(value, body)
        before = len(body.sentences)
        for name in _SENTENCES:
            _collect(value.get(name), body, level + 1)
        if place and len(body.sentences) > before:
            body.sentences[before] = f"{place}: {body.sentences[before]}"
        _collect_metadata(value, body, level)


def _collect_codes(value: Mapping[str, Any], body: ErrorBody) -> None:
    for name in _CODES:
        code = value.get(name)
        if status := _read_status(code):
            body.statuses.append(status)
        elif isinstance(code, str) and 0 < len(code) <= MAX_CODE and code.lower() not in ("error", "none"):
            body.codes.append(code.lower())


def _collect_metadata(value: Mapping[str, Any], body: ErrorBody, level: int) -> None:
    """Read what a router says of the provider behind it, and what Azure and Google put beside their sentence."""
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        raw = metadata.get("raw")
        if isinstance(raw, str) and raw.strip():
            inner = _read_content(raw.encode("utf-8", "replace"))
            body.sentences += inner.sentences
            body.codes += inner.codes
        reasons = metadata.get("reasons")
        if isinstance(reasons, list) and reasons:
            body.sentences.append(f"({', '.join(str(reason)[:50] for reason in reasons[:10])})")
    for inner in (value.get("innererror"), *(value["details"] if isinstance(value.get("details"), list) else ())):
        if isinstance(inner, Mapping):
            _collect_codes(inner, body)


def _read_place(value: Mapping[str, Any], body: ErrorBody) -> str:
    """Note the parameter that an error is about; return where a validator found it."""
    parameter, place = value.get("param"), value.get("loc")
    if isinstance(parameter, str) and parameter not in ("", "None") and body.parameter is None:
        body.parameter = printable(parameter, MAX_CODE)
    if not isinstance(place, list) or not place:
        return ""
    names = [str(part)[:50] for part in place[:6]]
    body.parameter = body.parameter or printable(names[-1], MAX_CODE)
    return ".".join(names)


def _classify(status: int, body: ErrorBody) -> ErrorKind:
    """Return the kind of an error. The order decides: a router's sentence about a flagged text speaks of its model."""
    text = " ".join((*body.codes, body.parameter or "", body.sentence)).lower()
    by_code = next((_BY_CODE[code] for code in body.codes if code in _BY_CODE), None)
    if status >= 500 and by_code is None:
        return _classify_outage(status, text)
    if status == 402:
        return ErrorKind.CREDIT
    # Groq answers a request over its tokens a minute with 413; Google calls a minute's quota a quota to bill.
    if by_code is not None and not (by_code is ErrorKind.RATE_LIMIT and status == 429 and "insufficient" in text):
        return by_code
    if status in (401, 403) and _SUSPENDED.search(text):
        return ErrorKind.KEY
    if status not in (401, 404, 429) and _POLICY.search(text):
        return ErrorKind.CONTENT_POLICY
    if status != 404 and _CREDIT.search(text):
        return ErrorKind.CREDIT
    if status == 429 or (status in (400, 403, 413) and _RATE.search(text)):
        return ErrorKind.RATE_LIMIT
    return _classify_client_error(status, text, body.parameter)


def _classify_client_error(status: int, text: str, parameter: str | None) -> ErrorKind:
    match status:
        case 401 | 407:
            return ErrorKind.KEY
        case 403:
            if _MODEL.search(text) or re.search(r"\bmodels?\b", text):
                return ErrorKind.MODEL
            return ErrorKind.KEY if _KEY.search(text) else ErrorKind.CONTENT_POLICY
        case 404:
            return ErrorKind.PARAMETER if re.search(r"requested parameters|support tool", text) else ErrorKind.MODEL
        case 405 | 410:
            return ErrorKind.MODEL
        case 413:
            return ErrorKind.CONTEXT_LENGTH
        case 408 | 409 | 424 | 425 | 498 | 499:
            return ErrorKind.OUTAGE
        case 451:
            return ErrorKind.CONTENT_POLICY
    if 300 <= status < 400:
        return ErrorKind.MODEL
    if _CONTEXT.search(text):
        return ErrorKind.CONTEXT_LENGTH
    if _BAD_KEY.search(text):
        return ErrorKind.KEY
    if parameter == "model" or (_MODEL.search(text) and not _REQUEST.search(text)):
        return ErrorKind.MODEL
    return ErrorKind.PARAMETER


def _classify_outage(status: int, text: str) -> ErrorKind:
    """Some local servers answer 500 to a request that they cannot take."""
    if status in (500, 501) and _CONTEXT.search(text):
        return ErrorKind.CONTEXT_LENGTH
    if status == 501 or (status == 500 and _MODE.search(text)):
        return ErrorKind.PARAMETER
    return ErrorKind.OUTAGE


def _describe(kind: ErrorKind, status: int) -> tuple[str, str]:
    """Return the code of a failure and the sentence that it begins with."""
    http = f"(HTTP {status})"
    match kind:
        case ErrorKind.KEY if status == 403:
            return failures.NOT_CONFIGURED, f"The endpoint does not admit this key or account {http}."
        case ErrorKind.KEY:
            return failures.NOT_CONFIGURED, f"The endpoint does not accept the key {http}."
        case ErrorKind.CREDIT:
            return failures.BUDGET_EXHAUSTED, f"The endpoint says that its own quota for this key is spent {http}."
        case ErrorKind.MODEL if 300 <= status < 400:
            return failures.NOT_CONFIGURED, f"The endpoint redirects {http}, which is not followed."
        case ErrorKind.MODEL:
            return failures.NOT_CONFIGURED, f"The endpoint does not offer this model at this address {http}."
        case ErrorKind.CONTEXT_LENGTH:
            return failures.REFUSED, f"The text is longer than the model reads {http}."
        case ErrorKind.RATE_LIMIT:
            return failures.RATE_LIMITED, f"The endpoint says that it is called too often {http}."
        case ErrorKind.CONTENT_POLICY:
            return failures.REFUSED, f"The endpoint refuses this text {http}."
        case ErrorKind.PARAMETER:
            return failures.NOT_CONFIGURED, f"The endpoint does not take this request {http}."
    if status in (408, 504, 524):
        return failures.TIMEOUT, f"The endpoint ran out of time itself {http}."
    return failures.CONNECTION, f"The endpoint is in trouble {http}."


def mask(text: str, secrets: Collection[str]) -> str:
    """Return a text without secrets, parts of them, and whatever looks like a key."""
    known = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in known:
        pattern = re.escape(secret)
        text = re.sub(pattern if len(secret) >= LONG_SECRET else rf"(?<!\w){pattern}(?!\w)", "…", text)
    return _word.sub(lambda word: "…" if _is_secret_part(word[0], known) else word[0], text)


def _is_secret_part(word: str, secrets: Collection[str]) -> bool:
    if _key_like.search(word):
        return True
    parts = [word[at : at + SHARED_CHARS] for at in range(len(word) - SHARED_CHARS + 1)]
    return any(part in secret for secret in secrets for part in parts)


def printable(text: str, length: int) -> str:
    """Return a stranger's short text without what cannot be shown or stored."""
    text = text[: 2 * length]
    return text[:length] if text.isprintable() else "".join(filter(str.isprintable, text))[:length]


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read a Retry-After header, in seconds or as a date; None when it is missing or makes no sense."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _read_status(code: object) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None


def _plain_text(page: str) -> str:
    """Return the title of an HTML page and its first words."""
    titles: Iterator[str] = (found[2] for found in _title.finditer(page))
    text = next((title for title in titles if title.strip()), None) or _tag.sub(" ", page)
    return " ".join(html.unescape(_tag.sub(" ", text)).split())[: 2 * MAX_SENTENCE]
