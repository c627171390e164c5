"""What an endpoint's error is about, and the provider's own sentence."""

from __future__ import annotations

import orjson
import pytest

from evalsvc.judges.calls.errors import mask, read_error, read_error_document
from tests.judges.endpoint.failures import FAILING
from tests.judges.endpoint.replies import FailingCase

REPORTED = [case for case in FAILING if case.kind is not None]
KEY = "sk-12ab34cd56efwxyz"


@pytest.mark.parametrize("case", REPORTED, ids=lambda case: f"{case.provider}-{case.name}")
def test_each_error_is_named_and_its_sentence_is_shown(case: FailingCase) -> None:
    sent = case.reply
    if sent.status == 200:
        document = orjson.loads(sent.content)
        failed = read_error_document(document if "error" in document else document["choices"][0], secrets=(KEY,))
    else:
        failed = read_error(sent.status, sent.headers, sent.content, secrets=(KEY,))

    assert failed is not None
    assert (failed.kind, case.sentence in failed.detail) == (case.kind, True), failed.detail
    assert {"refused": failed.code, "input_too_long": "refused"}.get(case.code, case.code) == failed.code


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"Wrong key {KEY}.", "Wrong key …."),
        ("Wrong key sk-12ab3****wxyz", "Wrong key …"),
        ("Wrong key 12ab34cd", "Wrong key …"),
        ("Wrong key gsk_abcdef0123", "Wrong key …"),
        ("The value 2 of 12 is too small", "The value … of 12 is too small"),
        ("The model m does not exist", "The model m does not exist"),
    ],
)
def test_secrets_and_parts_of_them_are_masked(text: str, masked: str) -> None:
    assert mask(text, (KEY, "2")) == masked


def test_a_pause_that_is_only_in_the_sentence_is_read() -> None:
    content = b'{"error": {"message": "Please try again in 7.66s."}}'

    failed = read_error(429, {}, content, secrets=())

    assert failed.retry_after_seconds == 7.66


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (403, b"", "content_policy"),
        (403, b'{"error": {"message": "Your account was suspended for content policy violations"}}', "key"),
        (
            400,
            b'{"error": {"message": "Unsupported value: \'temperature\' does not support 0 with this model."}}',
            None,
        ),
        (400, b'{"error": {"message": "\'response_format\' is not supported with this model."}}', None),
        (404, b'{"error": {"message": "No endpoints found that can handle the requested parameters."}}', None),
        (500, b'{"error": {"message": "failed to parse grammar"}}', None),
        (500, b'{"error": {"message": "The server had an error"}}', "outage"),
        (400, b'{"error": {"message": "ThrottlingException: Rate limit reached"}}', "rate_limit"),
        (498, b"Flex tier capacity exceeded", "outage"),
        (400, b'{"message": "Invocation of model ID m with on-demand throughput is not supported."}', "model"),
        (
            403,
            b'{"code": "The caller does not have permission", "error": "Content violates usage guidelines."}',
            "content_policy",
        ),
        (400, b'{"error": {"message": "max_tokens must be at least 1, got -20"}}', "context_length"),
        (400, b'{"error": "Incorrect API key provided: sk. You can obtain an API key from https://x."}', "key"),
        (429, '{"error": {"code": "1113", "message": "余额不足"}}'.encode(), "credit"),
        (400, '{"error": {"code": "1301", "message": "内容可能包含敏感内容"}}'.encode(), "content_policy"),
        (400, b"[[[[[[[[[1]]]]]]]]]", None),
        (400, b"\xef\xbb\xbf[]", None),
    ],
)
def test_the_kind_follows_the_words(status: int, content: bytes, kind: str | None) -> None:
    assert read_error(status, {}, content, secrets=()).kind == (kind or "parameter")
