"""Bodies, walked and refused before anything reads a field."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest
from django.conf import settings
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.documents import MAX_DEPTH, walk
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.bodies.parsers import content_length, decode, read_body
from evalsvc.rest.problems import Invalid, Problem, escape, field_errors

ANY = msgspec.json.Decoder()
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.sampled_from(
    ["", "/", "~", "~1", "a.b", "[0]", "0"]
)
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | names
documents = st.recursive(leaves, lambda part: st.lists(part, max_size=4) | st.dictionaries(names, part, max_size=4))


def look_up(document: Any, pointer: str) -> Any:
    """Follow a pointer as RFC 6901 says."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def refused(body: bytes, decoder: Any = ANY) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        decode(body, decoder)
    return [(error.pointer, error.detail) for error in caught.value.errors]


def nested(depth: int, innermost: str = "1") -> bytes:
    return (b"[" * depth) + innermost.encode() + (b"]" * depth)


@given(documents)
def test_every_pointer_leads_to_its_value_or_names_its_key(document: Any) -> None:
    for pointer, value, depth in walk(document):
        found = look_up(document, pointer)
        assert found is value or pointer.endswith(f"/{escape(str(value))}")
        assert depth <= pointer.count("/")


@given(documents)
def test_a_walk_meets_every_value_once(document: Any) -> None:
    def size(part: Any) -> int:
        match part:
            case dict():
                return 1 + len(part) + sum(map(size, part.values()))
            case list():
                return 1 + sum(map(size, part))
        return 1

    assert len(list(walk(document))) == size(document)


@given(documents)
def test_what_can_be_stored_is_decoded_as_it_was_sent(document: Any) -> None:
    assert decode(json.dumps(document).encode(), ANY) == document


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_problem(body: bytes) -> None:
    try:
        decode(body, ANY)
    except Problem as problem:
        assert problem.row.status in {400, 422}


@given(st.lists(names, min_size=1, max_size=5, unique=True), st.data())
def test_a_nul_is_refused_where_it_stands(keys: list[str], data: Any) -> None:
    guilty = data.draw(st.sampled_from(keys))
    body = json.dumps({key: "a\0b" if key == guilty else "fine" for key in keys}).encode()
    assert [pointer for pointer, _ in refused(body)] == [f"/{escape(guilty)}"]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (rb'"\u0000"', [""]),
        (rb'{"a":["x","\u0000"]}', ["/a/1"]),
        (rb'{"a\u0000":1}', ["/a\0"]),
        (b"[9223372036854775807,18446744073709551616]", ["/1"]),
        (b"[-9223372036854775808,-9223372036854775809]", ["/1"]),
        (b'{"a":{"b/c":18446744073709551616}}', ["/a/b~1c"]),
    ],
)
def test_what_cannot_be_stored_is_refused_where_it_stands(body: bytes, pointers: list[str]) -> None:
    assert [pointer for pointer, _ in refused(body)] == pointers


@pytest.mark.parametrize("body", [rb'"\\u0000"', b"18446744073709551615", b"-9223372036854775808", b"true", b"1e300"])
def test_what_only_looks_like_it_passes(body: bytes) -> None:
    assert decode(body, ANY) == json.loads(body)


def test_no_more_than_ten_errors_are_told() -> None:
    assert len(refused(json.dumps(["\0"] * 50).encode())) == 10


def test_the_deepest_document_passes_and_the_next_is_refused() -> None:
    assert decode(nested(MAX_DEPTH), ANY) is not None
    ((pointer, detail),) = refused(nested(MAX_DEPTH + 1))
    assert pointer == "/0" * (MAX_DEPTH + 1)
    assert str(MAX_DEPTH) in detail


def test_many_small_parts_are_not_depth() -> None:
    assert len(decode(b"[" + b",".join([b"[]"] * 5000) + b"]", ANY)) == 5000


@pytest.mark.parametrize("body", [nested(100_000), b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
def test_a_bottomless_body_is_a_problem_and_no_crash(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        decode(body, ANY)
    assert caught.value.row.status in {400, 422}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"{}{}", b"{'a':1}", b"NaN", b'"\xff"', b'"\x00"', b"[1,]", b"\xef\xbb\xbf{}"]
)
def test_broken_json_is_malformed(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        decode(body, ANY)
    assert caught.value.code == "malformed_json"


@pytest.mark.parametrize(
    ("message", "pointer", "detail"),
    [
        (
            "Expected `str`, got `int` - at `$.evaluators[0].evaluator`",
            "/evaluators/0/evaluator",
            "Expected `str`, got `int`.",
        ),
        ("Expected `object`, got `array`", "", "Expected `object`, got `array`."),
        ("Expected `int`, got `str` - at `$[3][10]`", "/3/10", "Expected `int`, got `str`."),
        ("Expected `int`, got `str` - at `$.a[...].b`", "/a", "Expected `int`, got `str`."),
        ("Object missing required field `x` - at `$.a`", "/a", "Object missing required field `x`."),
    ],
)
def test_a_message_becomes_a_pointer_and_a_sentence(message: str, pointer: str, detail: str) -> None:
    error = locate_error(message)
    assert (error.pointer, error.detail) == (pointer, detail)


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    n: int


class Outer(msgspec.Struct):
    items: list[Inner] = []
    named: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("body", "pointer", "word"),
    [
        (b"[]", "", "array"),
        (b'{"items":[{"n":1},{"n":"1"}]}', "/items/1/n", "int"),
        (b'{"items":[{}]}', "/items/0", "`n`"),
        (b'{"items":[{"n":1,"m":1}]}', "/items/0", "`m`"),
        (b'{"named":{"x":{"n":null}}}', "/named/x/n", "null"),
        (b'{"named":{"x":{"n":1},"a/b~":{"n":"1"},"z":{"n":"1"}}}', "/named/a~1b~0/n", "str"),
        (b'{"named":{"x":{"n":1},"y":{}}}', "/named", "`n`"),
        (b'{"named":{"x":7},"items":[', "/named", "int"),
        (b'{"named":{"x":7},"items":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "/named", "int"),
    ],
)
def test_a_wrong_type_is_told_with_its_place(body: bytes, pointer: str, word: str) -> None:
    ((found, detail),) = refused(body, msgspec.json.Decoder(Outer))
    assert found == pointer
    assert word in detail and detail.endswith(".")


@pytest.mark.parametrize("text", ["-1", "1.0", "0x10", "1 ", "+1", "²", "\u0661", "abc"])
def test_a_length_that_is_no_number_is_refused(text: str) -> None:
    request = RequestFactory().post("/")
    request.META["CONTENT_LENGTH"] = text
    with pytest.raises(Problem) as caught:
        content_length(request)
    assert caught.value.code == "bad_request"


def chunked(body: bytes, **meta: Any) -> Any:
    request = RequestFactory().post("/")
    del request.META["CONTENT_LENGTH"]
    request.META |= {"HTTP_TRANSFER_ENCODING": "Chunked", "wsgi.input_terminated": True, "wsgi.input": io.BytesIO(body)}
    return request


def test_a_body_in_chunks_is_read_and_measured() -> None:
    request = chunked(b'{"a":1}')
    assert read_body(request) == b'{"a":1}'
    assert content_length(request) == 7


@pytest.mark.parametrize("more", [0, 1])
def test_a_body_in_chunks_has_the_same_limit(more: int) -> None:
    request = chunked(b"x" * (settings.MAX_BODY_BYTES + more))
    if not more:
        assert len(read_body(request)) == settings.MAX_BODY_BYTES
        return
    with pytest.raises(Problem) as caught:
        read_body(request)
    assert caught.value.code == "body_too_large"


def test_a_body_announced_too_large_is_not_read() -> None:
    request = RequestFactory().post("/")
    request.META["CONTENT_LENGTH"] = str(settings.MAX_BODY_BYTES + 1)
    with pytest.raises(Problem) as caught:
        read_body(request)
    assert caught.value.code == "body_too_large"


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ({"a": ["x", "y"]}, [("/a", "x"), ("/a", "y")]),
        ({"a": {"b/c": ["x"]}}, [("/a/b~1c", "x")]),
        ({"a": [{}, {"b": ["x"]}]}, [("/a/1/b", "x")]),
        ({"a": {"non_field_errors": ["x"]}}, [("/a", "x")]),
        ("x", [("", "x")]),
    ],
)
def test_nested_errors_become_pointers(detail: Any, expected: list[tuple[str, str]]) -> None:
    assert [(error.pointer, error.detail) for error in field_errors(detail)] == expected
