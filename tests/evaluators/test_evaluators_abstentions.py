"""What says that the sources do not tell claims nothing, what it stands next to does, and marks of sources claim nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from evaluators.base import CannotScore, Score, effective_settings
from evaluators.grounding.abstentions import abstains
from evaluators.hallucination.citations import CITATIONS
from evaluators.registry import find_evaluator
from tests.evaluators import (
    abstention_brief,
    abstention_domains,
    abstention_examples,
    abstention_frames,
    abstention_library,
    abstention_subjects,
    abstention_templates,
    abstentions_apart,
)
from tests.evaluators.abstention_examples import MUSEUM, QUESTION
from tests.evaluators.samples import make_sample

Case = tuple[tuple[str, tuple[str, ...]], str]
TUNED = (abstention_domains, abstention_frames, abstention_library, abstention_subjects, abstention_templates)


def of_museum(texts: Sequence[str]) -> list[Case]:
    return [((QUESTION, MUSEUM), text) for text in texts]


def score(case: Case, name: str = "hallucination") -> Score:
    (question, contexts), output = case
    found = find_evaluator(name)
    assert found is not None
    settings = effective_settings(found[1], found[0].managed_profiles[0].settings)
    return found[0].score(make_sample(input=question, output=output, contexts=list(contexts)), settings)


def mistaken(cases: Sequence[Case], is_right: Callable[[Score], bool], name: str = "hallucination") -> list[str]:
    return [case[1] for case in cases if not is_right(score(case, name))]


def is_abstention(found: Score) -> bool:
    return found.passed is True and found.extra["abstained"] is True


def passes(found: Score) -> bool:
    return found.passed is True and not found.extra["abstained"]


def fails(found: Score) -> bool:
    return found.passed is False and not found.extra["abstained"]


def declines(found: Score) -> bool:
    return found.extra["evasive"] is True


ABSTENTIONS = [
    *of_museum(abstention_examples.ABSTENTIONS),
    *(case for module in TUNED for case in module.ABSTENTIONS),
]


def test_abstentions_claim_nothing() -> None:
    assert mistaken(ABSTENTIONS, is_abstention) == []


def test_abstentions_held_apart_claim_nothing() -> None:
    cases = abstentions_apart.ABSTENTIONS

    assert len(mistaken(cases, is_abstention)) <= 0.05 * len(cases)


def test_relevance_knows_the_same_abstentions() -> None:
    assert mistaken(ABSTENTIONS, declines, "answer-relevance") == []
    apart = abstentions_apart.ABSTENTIONS
    assert len(mistaken(apart, declines, "answer-relevance")) <= 0.05 * len(apart)


def test_a_claim_next_to_an_abstention_fails() -> None:
    cases = [
        *of_museum((*abstention_examples.EVASIVE_CLAIMS, *abstention_examples.CLAIMS)),
        *abstention_domains.EVASIVE_CLAIMS,
        *abstention_frames.EVASIVE_CLAIMS,
        *abstention_frames.DENIALS,
        *abstention_subjects.CLAIMS,
        *abstention_templates.CLAIMS,
        *abstention_library.CLAIMS,
    ]

    assert mistaken(cases, fails) == []


def test_claims_held_apart_fail() -> None:
    assert mistaken(abstentions_apart.CLAIMS, fails) == []


@pytest.mark.parametrize(
    "text",
    [
        "The museum did not open in 1952.",
        "The documents do not mention prices, but the museum opened in 1999.",
        "The documents do not mention the 20 euro ticket.",
        "The documents say that the museum is not closed on Mondays.",
    ],
)
def test_what_denies_or_presupposes_is_no_abstention(text: str) -> None:
    assert fails(score(((QUESTION, MUSEUM), text)))
    assert not abstains(text, QUESTION)


def test_a_right_claim_next_to_an_abstention_passes() -> None:
    found = score(((QUESTION, MUSEUM), "The documents do not mention prices, but the Harbour Museum opened in 1952."))

    assert (found.passed, found.extra["abstained"]) == (True, False)


def test_the_question_may_be_about_the_text() -> None:
    found = score(
        (("Does the guide mention prices?", MUSEUM), "The guide does not mention prices."), "answer-relevance"
    )

    assert found.extra["evasive"] is False


def test_marks_of_sources_claim_nothing() -> None:
    cases = [*of_museum(abstention_examples.CITED), *abstention_domains.CITED, *abstention_frames.CITED]

    assert mistaken(cases, passes) == []


def test_claims_with_marks_of_sources_still_fail() -> None:
    cases = [*of_museum(abstention_examples.CITED_CLAIMS), *abstention_frames.CITED_CLAIMS]

    assert mistaken(cases, fails) == []


# Templates of their own, drawn up after the rules; no rule was changed for them.
MARKS_APART = (
    "{} (Snippet 9, pages 3 and 4).",
    "{} [doc_id: 14].",
    "Source 2 notes that {}.",
    "{} [[2]](https://example.com/x?y=1).",
    "{} (p. xii).",
    "{} <sup>[4]</sup>",
    "{}\u30108\u2020faq.md\u3011",
    "As described in context 1, {}.",
    "{} {{2}}.",
    "{} (ref. 7; ref. 9).",
)


@pytest.mark.parametrize("mark", MARKS_APART)
def test_marks_held_apart_claim_nothing(mark: str) -> None:
    right = mark.format("the Harbour Museum holds 14,000 ship models")
    wrong = mark.format("the Harbour Museum holds 15,000 ship models")

    assert passes(score(((QUESTION, MUSEUM), right)))
    assert fails(score(((QUESTION, MUSEUM), wrong)))


def test_a_claim_in_brackets_is_no_mark() -> None:
    for text in ("(with 12 rooms)", "(opened in 1962, p. 4)", "(it is closed on Fridays, page 3)", "5 km\u00b2 large"):
        assert CITATIONS.sub("", text) == text


def test_the_former_id_keeps_its_verdicts() -> None:
    for text in ("The documents do not mention ticket prices.", "The Harbour Museum opened in 1952 (Doc 3, p. 12)."):
        found = score(((QUESTION, MUSEUM), text), "retrieval-hallucination-2026-11-23")
        assert found.passed is False
        assert "abstained" not in found.extra


def test_a_bare_verdict_is_still_not_applicable() -> None:
    with pytest.raises(CannotScore, match="no more than yes or no"):
        score(((QUESTION, MUSEUM), "No."))


def test_brief_abstentions_claim_nothing() -> None:
    assert mistaken(abstention_brief.TUNED, is_abstention) == []


def test_claims_like_brief_abstentions_are_judged() -> None:
    assert mistaken(abstention_brief.CLAIMS, lambda found: not found.passed) == []


def test_brief_abstentions_held_apart() -> None:
    missed = mistaken(abstention_brief.APART, is_abstention)
    believed = mistaken(abstention_brief.CLAIMS_APART, lambda found: not found.passed)

    assert len(missed) <= 0.05 * len(abstention_brief.APART)
    assert believed == []
