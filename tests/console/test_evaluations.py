"""The list of evaluations: filters of the address, verdicts side by side, pages, the export."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest

from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.evaluations import hostile_evaluation, is_harmless, kept
from tests.factories import ok
from tests.queries import queries_of


def ids_on(page: str) -> list[str]:
    return [id for id in re.findall(r'class="verdict [a-z]+" href="/console/\d+/evaluations/(\d+)"', page)]


@pytest.fixture
def three(alice: Caller) -> list[str]:
    """A pass, a fail and one without a score."""
    passed = kept(alice, "exact-match", input="Q one", output="yes", gold_answer="yes", tags={"lang": "en"})
    failed = kept(alice, "exact-match", input="Q two", output="no 50%", gold_answer="yes", app="bot")
    error = kept(alice, "exact-match", input="Q three", output="no gold")
    return [*passed, *failed, *error]


@pytest.mark.parametrize(
    ("query", "which"),
    [
        ({}, (2, 1, 0)),
        ({"result": "pass"}, (0,)),
        ({"result": "fail"}, (1,)),
        ({"result": "error"}, (2,)),
        ({"app": "bot"}, (1,)),
        ({"evaluator": "exact-match-2026-11-28", "min": "0.5"}, (0,)),
        ({"max": "0.5"}, (1,)),
        ({"tag": "lang:en"}, (0,)),
        ({"q": "50%"}, (1,)),
        ({"q": "q TWO", "in": "input", "period": "24h"}, (1,)),
        ({"period": "1h", "by": "service"}, (2, 1, 0)),
        ({"until": "2026-01-01T00:00"}, ()),
        ({"by": "people"}, ()),
    ],
)
def test_the_address_holds_the_filters(reader: Visitor, three: list[str], query: Any, which: Any) -> None:
    assert ids_on(reader.text("evaluations", **query)) == [three[i] for i in which]


@pytest.mark.parametrize(
    "query",
    [
        {"min": "many"}, {"tag": "no colon"}, {"project": "x"}, {"since": "yesterday"}, {"experiment": "x"},
        {"q": "x", "since": "2020-01-01T00:00"}, {"q": "x" * 201},
        {"since": "2026-11-02T00:00", "until": "2026-11-01T00:00"},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_at_its_field(reader: Visitor, query: Any) -> None:
    answer = reader.get("evaluations", **query)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()


ODD_YEARS = [
    {"period": "30d", "until": "0001-01-01T00:00"},
    {"q": "x", "until": "0001-01-01T00:00"},
    {"q": "x", "period": "30d", "until": "0001-01-01T00:00"},
    {"since": "0001-01-01T00:00+14:00"},
    {"until": "9999-12-31T23:59-14:00"},
    {"until": "1970-12-31T23:59"},
    {"since": "2090-01-01T00:00"},
]


@pytest.mark.parametrize("query", ODD_YEARS)
def test_odd_years_are_told_at_their_field(reader: Visitor, alice: Caller, query: dict[str, str]) -> None:
    """A period before the first year is none that a computer can write."""
    (field,) = query.keys() & {"since", "until"}
    said = "A time of the years from 1971 to 2089."

    page, file = reader.get("evaluations", **query), reader.get("evaluations/export.csv", **query)
    saved = alice.post("/v1/saved-searches", {"name": "odd", "query": query})
    traces = reader.get("traces", **{name: text for name, text in query.items() if name != "q"})
    review = reader.get("reviews/new", of="evaluations", **query)

    assert (page.status_code, file.status_code, saved.status_code) == (422, 422, 422)
    assert said in page.content.decode()
    assert {"pointer": f"/query/{field}", "detail": said} in saved.json()["errors"]
    assert traces.status_code < 500 and said in traces.content.decode()
    assert review.status_code < 500


@pytest.mark.parametrize("name", ["exact-match", "exact-match-2026-11-28"])
def test_an_alias_finds_what_it_means(reader: Visitor, three: list[str], name: str) -> None:
    page = reader.text("evaluations", evaluator=name)

    assert "The catalogue has no evaluator" not in page
    assert ids_on(page) == ids_on(reader.text("evaluations", evaluator="exact-match-2026-11-28")) != []
    assert b"exact-match-2026-11-28" in b"".join(reader.get("evaluations/export.csv", evaluator=name))


def test_what_is_near_a_name_that_is_unknown_is_said(reader: Visitor, three: list[str]) -> None:
    page = reader.text("evaluations", evaluator="exact-mach")

    assert "The catalogue has no evaluator <bdi>exact-mach</bdi>, or not any more. Did you mean `exact-match`" in page


def test_verdicts_of_a_sample_stand_side_by_side(reader: Visitor, alice: Caller) -> None:
    ids = kept(alice, "exact-match", "pii", input="Q", output="yes", gold_answer="yes")
    page = reader.text("evaluations", evaluator="exact-match-2026-11-28")

    assert ids_on(page) == ids[:1]
    assert f'class="verdict pass beside" href="{reader.at()}evaluations/{ids[1]}"' in page


def test_pages_go_on_by_the_cursor_of_the_address(reader: Visitor, alice: Caller) -> None:
    made = [id for n in range(42) for id in kept(alice, "exact-match", output=str(n), gold_answer="x")]
    first = reader.text("evaluations", result="fail")
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = reader.client.get(following[1].replace("&amp;", "&")).content.decode()

    assert ids_on(first) + ids_on(second) == made[::-1]
    assert 'rel="next"' not in second


def test_a_cursor_of_another_account_begins_anew(reader: Visitor, three: list[str]) -> None:
    assert len(ids_on(reader.text("evaluations", cursor="made-up"))) == 3


def test_it_asks_the_database_few_questions(reader: Visitor, three: list[str]) -> None:
    asked = queries_of(lambda: reader.text("evaluations", app="shop", q="yes"))
    assert len(asked) <= 15, asked


def test_the_export_has_the_same_rows(reader: Visitor, alice: Caller, three: list[str]) -> None:
    kept(alice, "exact-match", input="=HYPERLINK(1)", output="x", gold_answer="y", app="bot")
    answer = reader.get("evaluations/export.csv", app="bot")
    lines = b"".join(answer.streaming_content).decode().splitlines()

    assert "attachment" in answer["Content-Disposition"]
    assert len(lines) == 3
    assert ",'=HYPERLINK(1)," in lines[1]
    assert lines[2].startswith(f"{three[1]},")


def test_the_export_tells_undecided_from_fail(reader: Visitor, alice: Caller) -> None:
    said = {
        "input": "What does it show?",
        "output": "Let me know if you need more.",
        "contexts": ["It shows old boats."],
    }
    kept(alice, "retrieval-hallucination", app="bot", capture="all", **said)
    kept(alice, "exact-match", output="x", gold_answer="y", app="bot")
    text = b"".join(reader.get("evaluations/export.csv", app="bot").streaming_content).decode()

    failed, undecided = csv.DictReader(text.splitlines())
    assert [(row["pass"], row["verdict"], row["why"]) for row in (failed, undecided)] == [
        ("False", "fail", ""),
        ("", "undecided", "no_sentence_decided"),
    ]


def test_the_call_beside_the_page_finds_the_same(reader: Visitor, alice: Caller, three: list[str]) -> None:
    import html
    import json
    import shlex

    page = html.unescape(reader.text("evaluations", result="fail", tag="", app="bot"))
    said = re.search(r"<code>(curl .*?)</code>", page, re.S)
    assert said
    words = shlex.split(said[1].replace("\\\n", " "))
    found = ok(alice.post("/v1/evaluations/search", json.loads(words[words.index("-d") + 1])))
    assert [one["id"] for one in found["evaluations"]] == [three[1]]


def test_texts_of_strangers_stay_texts(reader: Visitor, alice: Caller) -> None:
    hostile_evaluation(alice)
    assert is_harmless(reader.text("evaluations"))


def test_a_new_account_is_told_the_next_step(reader: Visitor) -> None:
    page = reader.text("evaluations")
    assert "No evaluation is kept yet" in page
    assert "No evaluation meets these filters" in reader.text("evaluations", app="shop")


def test_a_stranger_sees_none_of_it(stranger: Visitor, three: list[str]) -> None:
    assert ids_on(stranger.text("evaluations")) == []
    assert three[0].encode() not in b"".join(stranger.get("evaluations/export.csv").streaming_content)
    assert stranger.get("evaluations/export.csv", min="many").status_code == 422
