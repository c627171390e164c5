"""How an answer is written: numbers, ids, durations, and the same keys whatever happened."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.evaluations.verdicts import Verdict, validation_error
from evalsvc.evaluations.wire import answer as wire
from evalsvc.evaluations.wire.answer import (
    EntryFacts,
    RequestFacts,
    as_number,
    digits,
    duration_of_microseconds,
)
from evalsvc.rest.answering.shapes import to_plain
from tests.evaluators.samples import make_sample

PROJECT, PROFILE = uuid.uuid4(), uuid.uuid4()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
REQUEST = RequestFacts(
    sample=make_sample("q", "a", ("c",), "g", "s"),
    strategy="none",
    id=2**62,
    created_at=NOW,
    project_id=PROJECT,
    app="shop",
    experiment_id=None,
    dataset_id="d",
    dataset_sample_id="12",
    log_id="l",
)
SUCCESS = Verdict("success", score=0.5, passed=True, spans=[[0, 1]], extra={"n": 1}, duration_us=216_000)


def evaluation_result(request: RequestFacts, entry: EntryFacts) -> Any:
    return to_plain(wire.evaluation_result(request, entry))


def result_of(request: RequestFacts, entry: EntryFacts) -> Any:
    return to_plain(wire.build_result(request, entry))


def evaluate_answer(request: RequestFacts, entries: list[EntryFacts]) -> Any:
    return to_plain(wire.evaluate_answer(request, entries))


def entry(verdict: Verdict = SUCCESS, **fields: Any) -> EntryFacts:
    facts: dict[str, Any] = {
        "family": "probe",
        "profile_id": PROFILE,
        "profile_revision": 3,
        "evaluation_id": 2**62 + 1,
    }
    return EntryFacts("probe-1", "patronus:probe", verdict, "always", **facts | fields)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        *((None, None), (0, "PT0S"), (1, "PT0.000001S"), (10, "PT0.00001S"), (216_000, "PT0.216S")),
        *((1_000_000, "PT1S"), (10_000_000, "PT10S"), (61_500_000, "PT61.5S"), (100_000_000, "PT100S")),
    ],
)
def test_a_duration_is_iso_8601(microseconds: int | None, text: str | None) -> None:
    assert duration_of_microseconds(microseconds) == text


@given(st.integers(0, 10**12))
def test_a_duration_keeps_every_microsecond(microseconds: int) -> None:
    text = duration_of_microseconds(microseconds)
    assert text is not None

    assert text.startswith("PT") and text.endswith("S") and "e" not in text
    assert Decimal(text[2:-1]) * 1_000_000 == microseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((None, None), ("", None), ("0", 0), ("12", 12), ("007", "007"), ("-1", -1), ("1.0", None), ("٣", None)),
        *((" 1", None), ("²", None), ("9" * 15, 10**15 - 1), ("1" * 16, "1" * 16), ("1" * 20, None), ("x", None)),
    ],
)
def test_a_sample_id_is_a_number_or_digits_or_null(text: str | None, expected: Any) -> None:
    assert as_number(text) == expected
    assert type(as_number(text)) is type(expected)


@given(st.one_of(st.text(), st.integers().map(str), st.from_regex(r"[0-9]{1,20}", fullmatch=True)))
def test_a_sample_id_is_never_changed(text: str) -> None:
    found = as_number(text)

    assert found is None or str(found) == text
    assert not isinstance(found, int) or abs(found) < 2**53


@given(st.one_of(st.integers(0, 2**63 - 1), st.uuids()))
def test_ids_are_strings_that_lose_nothing(value: Any) -> None:
    text = digits(value)

    assert isinstance(text, str)
    assert type(value)(text) == value


def test_no_id_is_null() -> None:
    assert digits(None) is None
    assert digits(0) == "0"


@pytest.mark.parametrize(
    "verdict",
    [Verdict("pending"), validation_error("missing_input", "Needs it."), Verdict("error", "evaluator_failed", "It.")],
)
def test_only_a_success_has_a_result(verdict: Verdict) -> None:
    found = result_of(REQUEST, entry(verdict))

    assert set(found) == set(result_of(REQUEST, entry()))
    assert found["evaluation_result"] is None
    assert (found["status"], found["error_code"], found["error_message"]) == (
        *(verdict.status, verdict.error_code, verdict.error_message),
    )


def test_a_result_has_the_same_keys_whether_little_or_much_is_known() -> None:
    bare = RequestFacts(sample=make_sample(output="a"), strategy="none")
    poor = evaluation_result(bare, EntryFacts("x", "y", Verdict("success", score=1.0, passed=True), "never"))

    assert set(poor) == set(evaluation_result(REQUEST, entry(captured=True)))
    assert (poor["tags"], poor["additional_info"]["extra"], poor["explain"]) == ({}, None, False)


def test_a_captured_result_says_where_it_is_kept() -> None:
    found = evaluation_result(REQUEST, entry(captured=True))

    assert (found["id"], found["project_id"], found["app"]) == (str(2**62 + 1), str(PROJECT), "shop")
    assert found["created_at"] == NOW
    assert (found["evaluation_duration"], found["dataset_sample_id"]) == ("PT0.216S", 12)
    assert (found["evaluator_profile_public_id"], found["criteria_revision"]) == (str(PROFILE), 3)


def test_a_result_that_is_not_captured_has_no_address_though_its_row_lives_an_hour() -> None:
    found = evaluation_result(REQUEST, entry(captured=False))

    assert [found[name] for name in ("id", "project_id", "app", "experiment_id", "created_at")] == [None] * 5
    assert result_of(REQUEST, entry(captured=False))["evaluation_id"] == str(2**62 + 1)


def test_a_score_of_zero_is_a_score() -> None:
    found = evaluation_result(REQUEST, entry(Verdict("success", score=0.0, passed=False)))

    assert (found["score_raw"], found["score_normalized"], found["pass"]) == (0.0, 0.0, False)


def test_results_come_in_the_order_of_the_entries() -> None:
    answer = evaluate_answer(REQUEST, [entry(evaluation_id=i) for i in (5, 3, 4)])

    assert answer["id"] == str(2**62)
    assert [result["evaluation_id"] for result in answer["results"]] == ["5", "3", "4"]
