"""Copied sentences with one thing changed: wrong versions fail, framed right ones pass. A drift fails here."""

from __future__ import annotations

import random

import pytest

from benchmarks.contrast import FRAMED, REPORTED, RIGHT, WRONG, Copy, Table, constructed, contrast
from evaluators.families.retrieval.hallucination import WORST_SENTENCE, Hallucination

FAMILY = Hallucination()


@pytest.fixture(scope="module", params=[False, True], ids=["looked at", "held apart"])
def table(request: pytest.FixtureRequest) -> Table:
    return contrast(constructed(held_apart=request.param), FAMILY, {})


RARE = ("other modal", "roles exchanged", "fails to", "date with another month")


def test_there_are_enough_versions_of_each_kind(table: Table) -> None:
    assert set(table) >= {*RIGHT, *WRONG} - {*RARE}
    assert all(row.n >= 8 for name, row in table.items() if name not in RARE)


def test_unchanged_sentences_pass(table: Table) -> None:
    assert table["unchanged"].passed == 1.0


@pytest.mark.parametrize("name", [name for name in RIGHT if name.startswith(FRAMED)])
def test_framed_right_sentences_pass(table: Table, name: str) -> None:
    assert table[name].passed >= 0.98


@pytest.mark.parametrize("name", [name for name in WRONG if name not in REPORTED])
def test_wrong_versions_fail(table: Table, name: str) -> None:
    # One of few may pass; of many, a twentieth.
    assert name not in table or table[name].passed <= max(0.05, 1 / table[name].n)


@pytest.mark.parametrize("name", REPORTED)
def test_most_things_of_elsewhere_are_seen_in_a_copied_sentence(table: Table, name: str) -> None:
    # It is for sentences that are copied otherwise: in other words the exchange is not seen.
    assert name not in table or table[name].passed <= 0.35


def test_the_first_version_passed_most_of_what_is_exchanged() -> None:
    old = contrast(constructed(held_apart=True), FAMILY, {"variant": WORST_SENTENCE})
    assert old["name of elsewhere"].passed >= 0.8
    assert old[f"{FRAMED}context"].passed <= 0.2


def test_each_edit_changes_one_thing() -> None:
    copy = Copy(
        "All boats of Anna Petrova were 12 km away and may return.", ("Ivan has 7 boats in Oslo, Ruvo and Rome.",)
    )
    made = {name: edit(copy.text, copy.told, random.Random(0)) for name, edit in WRONG.items()}
    assert made["denied"] == "All boats of Anna Petrova were not 12 km away and may return."
    assert made["other unit"] == "All boats of Anna Petrova were 12 miles away and may return."
    assert made["other quantifier"] == "Some boats of Anna Petrova were 12 km away and may return."
    assert made["other modal"] == "All boats of Anna Petrova were 12 km away and will return."
    assert made["number of elsewhere"] == "All boats of Anna Petrova were 7 km away and may return."
    assert made["roles exchanged"] is None
