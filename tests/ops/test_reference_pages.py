"""/docs/reference: every call on a page, in groups with Evaluate first, found by a search, with what the document says."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from evalsvc.ops.reference.calls import call_groups, find_call, search_calls
from evalsvc.ops.reference.keys import kind_in_words, shape_keys


def read(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    return html.unescape(answer.content.decode())


def test_every_operation_has_its_page_and_evaluate_is_the_first() -> None:
    document = Client().get("/v1/openapi.json").json()
    names = [op["operationId"] for methods in document["paths"].values() for op in methods.values()]
    linked = re.findall(r'href="/docs/reference/([\w-]+)"', read("/docs/reference"))

    assert (linked[0], sorted(linked)) == ("evaluate", sorted(names))
    assert [group.name for group in call_groups()] == [tag["name"] for tag in document["tags"]]


def test_a_page_shows_what_was_sent_and_answered() -> None:
    page = read("/docs/reference/evaluate")

    assert '"output": "Write to jo@example.com"' in page and '"lower": null' in page
    assert "curl -X POST" in page
    assert 'href="/docs/api/evaluate#post-v1evaluate"' in page


def test_all_pages_are_there_and_have_no_style_or_script_of_their_own() -> None:
    for group in call_groups():
        for call in group.calls:
            page = read(f"/docs/reference/{call.name}")
            assert call.path in page
            assert not re.search(
                r"<(style|script)|<[^>]+ (style|on\w+)=", page.partition("<main")[2].partition("<pre")[0]
            )


def test_curl_sends_the_example_and_names_ids_as_variables() -> None:
    evaluate, lease = find_call("evaluate"), find_call("lease_review_item")
    assert evaluate is not None and lease is not None

    body = re.findall(r"-d '(.*)'$", evaluate.curl, re.DOTALL)
    assert json.loads(body[0])["evaluators"][0] == {"evaluator": "pii"}
    assert '"$EVALSVC_URL/v1/reviews/${id}/lease"' in lease.curl


@pytest.mark.parametrize(("query", "name"), [("lease", "lease_review_item"), ("/v1/gates", "decide_gate")])
def test_a_word_finds_its_calls(query: str, name: str) -> None:
    found = [call.name for group in search_calls(query) for call in group.calls]

    assert name in found and "evaluate" not in found
    assert f"/docs/reference/{name}" in read(f"/docs/reference?q={query}")


@pytest.mark.parametrize("query", ["xyzzy", "<script>alert(1)</script>", "%00", "a" * 5000, "'\"&"])
def test_any_search_is_answered_and_shown_as_text(query: str) -> None:
    answer = Client().get("/docs/reference", {"q": query})

    assert answer.status_code == 200 and b"<script>alert" not in answer.content
    assert b"No call has all of these words" in answer.content


def test_the_guide_of_a_call_leads_to_its_page_and_back() -> None:
    guide = read("/docs/api/reviews")
    assert '<a href="/docs/reference/post-v1reviewsidlease">Every key of POST /v1/reviews/{id}/lease</a>' in guide

    answer = Client().get("/docs/reference/post-v1reviewsidlease")
    assert (answer.status_code, answer["Location"]) == (302, "/docs/reference/lease_review_item")
    assert 'href="/docs/api/reviews#post-v1reviewsidlease"' in read(answer["Location"])


def test_there_is_no_page_of_another_name() -> None:
    assert Client().get("/docs/reference/nobody").status_code == 404


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": ["string", "null"]}, "text or null"),
        ({"type": "array", "items": {"type": "integer"}}, "list of whole number"),
        ({"anyOf": [{"$ref": "#/components/schemas/Problem"}, {"type": "null"}]}, "Problem or null"),
        ({"enum": ["a", None]}, "one of a, null"),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({}, "any JSON"),
    ],
)
def test_a_type_in_words(schema: dict[str, Any], kind: str) -> None:
    assert kind_in_words(schema) == kind


def test_keys_within_keys_are_written_out_and_end() -> None:
    problem = {"$ref": "#/components/schemas/Problem"}
    errors = next(key for key in shape_keys(problem) if key.name == "errors")

    assert [key.name for key in errors.keys] == ["pointer", "detail"]
    assert all(key.text for key in shape_keys(problem))
