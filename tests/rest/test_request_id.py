"""Request ids, and the log lines that carry them."""

from __future__ import annotations

import json
import logging
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.rest.basics.logs import JSONFormatter, RequestFilter
from evalsvc.rest.basics.request_id import begin_request_id, current_request_id
from evalsvc.rest.problems import Problem, problem_response

OWN = re.compile(r"req_[0-9a-f]{24}")


@pytest.mark.parametrize("offered", ["a" * 8, "a" * 64, "0.1.2.3-_", "--------", "req_0123", "........"])
def test_a_harmless_id_is_taken(offered: str) -> None:
    assert copy_context().run(begin_request_id, offered) == offered


@pytest.mark.parametrize(
    "offered",
    [None, "", "a" * 7, "a" * 65, "aaaa aaaa", "aaaaaaaa\n", "\naaaaaaaa", "aaaa\r\naaaa", "aaaaaaa\u00e9", "١٢٣٤٥٦٧٨", "<script>", '"quoted"', "a,b,c,d,e", "aaaa\0aaaa", "${jndi:x}", "%0d%0aabcd"],
)  # fmt: skip
def test_any_other_is_replaced(offered: str | None) -> None:
    assert OWN.fullmatch(copy_context().run(begin_request_id, offered))


@given(st.text(max_size=70))
def test_an_id_is_always_harmless(offered: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{8,64}", copy_context().run(begin_request_id, offered))


def test_no_two_are_the_same_over_threads() -> None:
    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(lambda _: begin_request_id(None), range(2000)))
    assert len(set(ids)) == 2000


def test_a_thread_knows_its_own_request() -> None:
    def answer(n: int) -> bool:
        mine = begin_request_id(f"request-{n:04}")
        return current_request_id() == mine == f"request-{n:04}"

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(answer, range(200)))


def record(message: str, *values: object, exc_info: object = None) -> logging.LogRecord:
    made = logging.LogRecord("evalsvc.x", logging.WARNING, __file__, 1, message, values, exc_info)  # type: ignore[arg-type]
    assert RequestFilter().filter(made)
    return made


def test_a_log_line_is_one_line_of_json_with_the_id() -> None:
    def write() -> str:
        begin_request_id("request-0001")
        return JSONFormatter().format(record("two\nlines of %s", 'a "name"'))

    text = copy_context().run(write)
    assert "\n" not in text
    line = json.loads(text)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "WARNING",
        "logger": "evalsvc.x",
        "message": 'two\nlines of a "name"',
        "request_id": "request-0001",
    }


def test_an_error_line_holds_the_traceback() -> None:
    try:
        raise KeyError("lost")
    except KeyError:
        text = JSONFormatter().format(record("failed", exc_info=sys.exc_info()))
    assert "KeyError: 'lost'" in json.loads(text)["traceback"]
    assert "\n" not in text


def test_a_problem_names_the_request() -> None:
    def answer() -> bytes:
        begin_request_id("request-0002")
        return problem_response(Problem(code="forbidden")).content

    assert json.loads(copy_context().run(answer))["request_id"] == "request-0002"
