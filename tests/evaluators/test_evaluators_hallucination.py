"""Hallucination: is the output supported by the retrieved contexts?"""

from __future__ import annotations

import math

import pytest

from evaluators.base import Field, JSONValue, Lane, effective_settings
from evaluators.families.retrieval.hallucination import WORST_SENTENCE
from evaluators.registry import find_evaluator
from tests.evaluators.hallucination_examples import FAMILY, QUESTION, RIVER, score
from tests.evaluators.samples import make_sample

# What is supported


@pytest.mark.parametrize(
    "output",
    [
        "240 km",
        "Anna Petrova",
        "Mir",
        "Its longest tributary is the Mir.",
        "The river Sova flows through three countries.",
        "The Sova flows through 3 countries",
        "Yes, the first bridge was built by Anna Petrova in 1906.",
        "Sure! The Mir is 240 km long.",
        "The bridge is not open to cars.",
    ],
)
def test_what_the_context_says_passes(output: str) -> None:
    found = score(output, RIVER)
    assert found.passed is True
    assert found.spans is None


@pytest.mark.parametrize(
    "output",
    [
        "420 km",
        "Boris Dimitrov",
        "The Mir is 310 miles long.",
        "The first bridge was built by Elena Ivanova in 1916.",
        "It was painted by monks of a remote abbey.",
        "The river Sova flows through three countries. It is famous for its salmon.",
        "Its longest tributary is the Mir, which is 240 km long and frozen for most winters.",
        "Prague",
        "I love rivers!",
    ],
)
def test_what_the_context_does_not_say_fails(output: str) -> None:
    found = score(output, RIVER)
    assert found.passed is False
    assert found.spans


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The Mir is 240 km long.", "The Mir is 250 km long."),
        ("The bridge was built by Anna Petrova.", "The bridge was built by Anna Ivanova."),
        ("The bridge is not open to cars.", "The bridge is open to cars."),
        ("The river Sova reaches the Black Sea.", "The river Sova never reaches the Black Sea."),
        ("The river Sova reaches the Black Sea.", "The river Sova reaches the Black Sea and the Red Sea."),
        ("Anna Petrova", "The bridge was built by Anna Petrova's father."),
        ("three countries", "four countries"),
    ],
)
def test_a_changed_number_name_or_negation_costs(right: str, wrong: str) -> None:
    assert score(right, RIVER).value > score(wrong, RIVER).value + 0.05


def test_support_may_come_from_several_contexts() -> None:
    contexts = ("The Sova reaches the Black Sea.", "The Mir is 240 km long.")
    both = "The Sova reaches the Black Sea. The Mir is 240 km long."
    assert score(both, *contexts).passed
    assert not score(both, contexts[0]).passed


@pytest.mark.parametrize(
    ("context", "right", "wrong"),
    [
        ("Столица Франции — Париж.", "Париж", "Лион"),
        ("法国的首都是巴黎。", "巴黎", "里昂"),
        ("عاصمة فرنسا هي باريس", "باريس", "ليون"),
        ("Die Größe beträgt 3,5 m.", "Größe", "Breite"),
    ],
)
def test_it_reads_any_script(context: str, right: str, wrong: str) -> None:
    assert score(right, context).value >= 0.95
    assert score(wrong, context).value < 0.5


# Answers without claims


@pytest.mark.parametrize("output", ["", "  \n", "...", "Sure!", "Thanks!", None])
def test_an_output_without_claims_has_nothing_to_support(output: str | None) -> None:
    found = score(output, RIVER)
    assert (found.value, found.passed, found.spans) == (1.0, True, None)
    assert found.explanation == "The output claims nothing that the contexts would have to support."


@pytest.mark.parametrize(
    "output",
    [
        "I don't know.",
        "The context does not contain information about the longest tributary.",
        "Sorry, I cannot answer the question.",
    ],
)
@pytest.mark.parametrize("contexts", [(), (RIVER,)])
def test_who_declines_claims_nothing(output: str, contexts: tuple[str, ...]) -> None:
    assert score(output, *contexts).value == 1.0


@pytest.mark.parametrize(
    "output",
    [
        "I don't know, but the Mir was named after a Danish admiral.",
        "I don't know. The Mir was named after a Danish admiral.",
        "The context does not say that the Mir was named after a Danish admiral.",
    ],
)
def test_declining_does_not_cover_claims(output: str) -> None:
    assert not score(output, RIVER).passed


@pytest.mark.parametrize("output", ["Yes", "no.", "Yes!", "No"])
def test_a_bare_yes_or_no_is_scored_by_the_question(output: str) -> None:
    near = score(output, RIVER, question="Does the Sova reach the Black Sea?")
    far = score(output, RIVER, question="Is chess older than backgammon?")
    assert near.passed is True
    assert far.passed is False
    assert (
        near.explanation == "A bare yes or no is scored by the question: the contexts have 100% of its content words."
    )


@pytest.mark.parametrize("contexts", [(), ("",), (" ", "\n"), ("...",)])
def test_claims_without_context_score_zero(contexts: tuple[str, ...]) -> None:
    found = score("The Mir is 240 km long.", *contexts)
    assert (found.value, found.passed) == (0.0, False)
    assert found.explanation == "The output makes claims, and no context has a word that could support them."


def test_a_missing_context_is_an_empty_one() -> None:
    assert FAMILY.score(make_sample(output="The Mir is long."), {}).value == 0.0
    assert FAMILY.score(make_sample(output="The Mir is long."), {"variant": WORST_SENTENCE}).value == 0.0


# Names and settings


@pytest.mark.parametrize(
    "alias",
    [
        "hallucination",
        "hallucination-small",
        "lynx",
        "lynx-small",
        "retrieval-hallucination",
        "retrieval-hallucination-lynx",
    ],
)
def test_every_alias_finds_it(alias: str) -> None:
    found = find_evaluator(alias)
    assert found is not None
    assert found[1].id == "retrieval-hallucination-2026-11-28"


@pytest.mark.parametrize(("threshold", "passed"), [(0, True), (0.6, False), (1, False)])
def test_the_profile_s_threshold_decides(threshold: float, passed: bool) -> None:
    assert score("The Mir is 420 km long.", RIVER, pass_threshold=threshold).passed is passed


@pytest.mark.parametrize("bad", [-0.1, 1.1, "0.5", None, True, math.nan])
def test_it_refuses_thresholds_outside_the_range(bad: JSONValue) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings({"pass_threshold": bad})] == ["/pass_threshold"]


def test_the_first_version_is_found_by_its_id_and_scores_as_it_did() -> None:
    found = find_evaluator("retrieval-hallucination-2026-11-20")
    assert found is not None
    family, spec = found
    settings = effective_settings(spec, family.managed_profiles[0].settings)
    assert (spec.aliases, family.fields_for(settings)) == ((), (Field.INPUT, Field.OUTPUT, Field.CONTEXT))
    sample = make_sample(input=QUESTION, output="The Mir is 420 km long. Cows swim there.", contexts=(RIVER,))
    assert family.score(sample, settings).value == pytest.approx(0.0925556, abs=1e-6)


def test_it_runs_within_the_request_and_judges_elsewhere() -> None:
    assert FAMILY.lane_of({}) is Lane.INLINE
    assert FAMILY.lane_of({"variant": "judge"}) is Lane.JUDGE


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("The museum in Oslo is open on Mondays.", "The museum in Oslo is not open on Mondays."),
        ("The museum in Oslo is open on Mondays.", "The museum in Oslo isn't open on Mondays."),
        ("Children can not enter the hall for free.", "Children can enter the hall for free."),
        ("Paris was never the capital of Spain.", "Paris was the capital of Spain."),
    ],
)
def test_a_copied_sentence_with_not_put_in_or_taken_out_fails(context: str, said: str) -> None:
    denied = score(said, context, "Tickets cost 12 euros.")

    assert score(context, context, "Tickets cost 12 euros.").passed
    assert (denied.passed, denied.extra["negation_differs"]) == (False, True)


@pytest.mark.parametrize(
    "output",
    [
        "Sure! The answer is 240 km.",
        "The correct answer is: 240 km",
        "Great question! The Mir is 240 km long. I hope this helps!",
        "I'd be happy to help! The Mir is 240 km long. Let me know if you have any other questions.",
        "Here is the answer: The Mir is 240 km long. Feel free to ask if you need anything else.",
    ],
)
def test_politeness_claims_nothing(output: str) -> None:
    assert score(output, RIVER).passed
    assert not score(output.replace("240", "310"), RIVER).passed


@pytest.mark.parametrize(
    "output",
    [
        "The answer is not 240 km.",
        "I hope this helps the Mir.",
        "Great question! Anna Petrova had twins.",
        "Feel free to ask Ivan.",
        "You need help.",
    ],
)
def test_politeness_hides_no_claim(output: str) -> None:
    assert not score(output, RIVER).passed
