"""Rows out and in: another tool asks the questions, and each answer comes back once."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import (
    REVIEWS,
    answered_experiment,
    items,
    new_review,
    outputs_of,
    pairs_of,
    report,
    review_of_outputs,
    say_pass,
    send_answer,
    take,
)

KINDS = ("binary", "continuous", "discrete", "categorical", "text_annotation")
SAID = ("fail", "-0.5", "fair", "good", '=1+1\nnew line, "quoted"\u2028more')


def exported(caller: Caller, review: Any, format: str = "jsonl") -> str:
    answer = caller.get(f"{REVIEWS}/{review['id']}/export?format={format}")
    assert answer.status_code == 200
    return str(answer.getvalue().decode())


def rows_of(text: str, format: str) -> list[dict[str, Any]]:
    if format == "csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.split("\n") if line]


def text_of_rows(rows: list[dict[str, Any]], format: str) -> str:
    if format == "jsonl":
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*rows[0]])
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def send_rows(caller: Caller, review: Any, text: str, format: str = "jsonl") -> Any:
    return caller.post(f"{REVIEWS}/{review['id']}/import", {"format": format, "text": text})


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_every_type_of_answer_comes_back(alice: Caller, format: str) -> None:
    asked = [new_criteria(alice, kind) for kind in KINDS]
    review = new_review(alice, outputs_of(answered_experiment(alice, 2), "good"), *asked)
    rows = rows_of(exported(alice, review, format), format)
    said = {f"answer:{one['name']}": word for one, word in zip(asked, SAID, strict=True)}
    filled = [row | said | {"reviewer": "ann"} for row in rows]
    first, again = (ok(send_rows(alice, review, text_of_rows(filled, format), format)) for _ in range(2))

    assert [row["output"] for row in rows] == ["fine", "fine"]
    assert (first, again) == (
        {"n_kept": 2, "n_repeated": 0, "n_empty": 0},
        {"n_kept": 0, "n_repeated": 2, "n_empty": 0},
    )
    kept = items(alice, review)[0]["answers"][0]
    assert [kept["answers"][one["id"]] for one in asked] == [
        {"value_pass": False},
        {"value_score": -0.5},
        {"value_text": "fair"},
        {"value_text": "good"},
        {"value_text": SAID[4]},
    ]
    assert kept["reviewer"] == "import:ann"


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_what_goes_out_comes_in_as_it_was(alice: Caller, format: str) -> None:
    review, criteria = review_of_outputs(alice)
    say_pass(alice, review, criteria, True, False)

    found = ok(send_rows(alice, review, exported(alice, review, format), format))
    assert found == {"n_kept": 0, "n_repeated": 2, "n_empty": 2}


def test_pairs_come_back_by_side(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice, 8)))
    rows = rows_of(exported(alice, review), "jsonl")
    filled = [row | {"reviewer": "ann", "choice": "first" if row["first"] == "fine" else "second"} for row in rows]
    ok(send_rows(alice, review, text_of_rows(filled, "jsonl")))

    assert {row["first"] for row in rows} == {"fine", "poor"}
    assert {one["answers"][0]["outcome"] for one in items(alice, review)} == {"first"}


def test_no_cell_is_a_formula(alice: Caller) -> None:
    made = answered_experiment(alice, 1, good='=HYPERLINK("https://evil.example")')
    review = new_review(alice, outputs_of(made, "good"), new_criteria(alice, name="@sum"))
    held = take(alice, review, "=cmd")
    send_answer(alice, review, held, (review["criteria"][0], {"value_pass": True}), explanation="+1")
    cells = [cell for row in csv.reader(io.StringIO(exported(alice, review, "csv"))) for cell in row]

    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
    assert "'+1" in cells


@pytest.mark.parametrize(
    ("row", "pointer"),
    [
        ({"item_id": "1"}, "/rows/0/item_id"),
        ({"item_id": "x"}, "/rows/0/item_id"),
        ({"reviewer": ""}, "/rows/0/reviewer"),
        ({"reviewer": "x" * 300}, "/rows/0/reviewer"),
        ({"reviewer": "an\0n"}, "/rows/0/reviewer"),
        ({"explanation": "a\0b"}, "/rows/0/explanation"),
        ({"answer": "maybe"}, "/rows/0/answers"),
    ],
)
def test_it_names_the_row_and_keeps_none(alice: Caller, row: dict[str, str], pointer: str) -> None:
    review, criteria = review_of_outputs(alice)
    good = [
        {"item_id": one["id"], "reviewer": "ann", f"answer:{criteria['name']}": "pass"} for one in items(alice, review)
    ]
    answer = row.pop("answer", "pass")
    bad = good[0] | row | {f"answer:{criteria['name']}": answer}

    assert_problem(send_rows(alice, review, text_of_rows([bad, *good[1:]], "jsonl")), "validation_failed", pointer)
    assert report(alice, review)["n_answers_given"] == 0


def test_a_text_with_a_nul_is_refused(alice: Caller) -> None:
    asked = new_criteria(alice, "text_annotation")
    review = new_review(alice, outputs_of(answered_experiment(alice, 1), "good"), asked)
    row = {"item_id": items(alice, review)[0]["id"], "reviewer": "ann", f"answer:{asked['name']}": "a\0b"}

    assert_problem(send_rows(alice, review, json.dumps(row)), "validation_failed", "/rows/0/answers/0/value_text")


def test_what_is_full_takes_no_more(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 1)
    say_pass(alice, review, criteria, True)
    (item,) = items(alice, review)
    row = {"item_id": item["id"], "reviewer": "ann", f"answer:{criteria['name']}": "pass"}

    assert_problem(send_rows(alice, review, json.dumps(row)), "validation_failed", "/rows/0/item_id")


@pytest.mark.parametrize(
    ("format", "text"),
    [("csv", "a,b\n1,2"), ("csv", 'item_id\n"open'), ("csv", "item_id\n1, 2"), ("jsonl", "[1]")],
)
def test_what_is_no_file_is_said(alice: Caller, format: str, text: str) -> None:
    review, _ = review_of_outputs(alice)

    assert_problem(send_rows(alice, review, text, format), "validation_failed", "/text")


def test_lists_page_by_cursor(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 5)
    other = new_review(alice, outputs_of(answered_experiment(alice)), criteria)
    for path, key, n in ((REVIEWS, "reviews", 2), (f"{REVIEWS}/{review['id']}/items", "items", 5)):
        seen, cursor = [], ""
        while cursor is not None:
            page = ok(alice.get(f"{path}?limit=1" + (f"&cursor={cursor}" if cursor else "")))
            seen += [one["id"] for one in page[key]]
            cursor = page["next_cursor"]
        assert len(set(seen)) == len(seen) == n
    assert_problem(alice.get(f"{REVIEWS}/{other['id']}/items?cursor=x"), "validation_failed", "/cursor")
