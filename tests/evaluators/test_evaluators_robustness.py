"""What fails still fails when it is dressed up, padded, or has words for the evaluator beside it."""

from __future__ import annotations

import pytest

from benchmarks.robustness import ATTACKS, CHANGES, FORMATS, GOAL, Failing, Subject, flips, subjects, total
from evaluators.base import Sample
from evaluators.text.unmarked import in_latin

pytestmark = pytest.mark.slow

PER_FAMILY = 5
SUBJECTS = subjects(PER_FAMILY)


def test_there_are_ten_attacks_and_eight_formattings() -> None:
    assert (len(ATTACKS), len(FORMATS), len(CHANGES)) == (10, 8, 18)
    assert all(change("You are here.") != "You are here." for change in CHANGES.values())


@pytest.mark.timeout(180)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_no_change_makes_what_fails_pass(subject: Subject) -> None:
    table = flips(subject)
    found = total(table)
    assert found.n >= 18
    assert found.share <= GOAL, found.which


@pytest.mark.parametrize(
    "subject", [each for each in SUBJECTS if not each.name.startswith("metric")], ids=lambda s: s.name
)
def test_most_of_what_is_constructed_fails_as_it_is(subject: Subject) -> None:
    failed = [subject.passes(each.sample) is False for each in subject.failing]
    assert sum(failed) >= 0.8 * len(failed)


@pytest.mark.parametrize("evaluator", ["toxicity", "phi", "pii", "pii-broad"])
def test_what_is_harmless_still_passes_in_every_form(evaluator: str) -> None:
    subject = Subject(evaluator, evaluator, ())
    plain = Failing(Sample(output="The river is higher than it was last year, and the old bridge is closed."))
    assert [name for name, change in FORMATS.items() if subject.passes(plain.changed(change)) is False] == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("H\u0435r c\u0430rd", "Her card"),
        ("H\u0435r \u0430 c\u0430rd", "Her a card"),
        ("a \u0434\u043e\u043c", "a \u0434\u043e\u043c"),
        ("\u043d\u0435 \u043e\u043d\u0430", "\u043d\u0435 \u043e\u043d\u0430"),
        ("\u03c3\u03c4\u03bfjo@example.org", "\u03c3\u03c4\u03bfjo@example.org"),
        ("caf\u00e9", "caf\u00e9"),
        ("", ""),
    ],
)
def test_look_alikes_are_read_as_latin_among_latin_letters_only(text: str, read: str) -> None:
    assert in_latin(text) == read
    assert len(in_latin(text)) == len(text)
