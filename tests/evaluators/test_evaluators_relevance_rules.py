"""What answer relevance and context sufficiency read since 2026-11-23, and what the earlier evaluators still answer."""

from __future__ import annotations

import pytest

import evaluators.minilm
from evaluators.base import JSONValue, Score, effective_settings
from evaluators.grounding.words import Stems
from evaluators.registry import find_evaluator
from evaluators.relevance.asking_back import asks_back
from evaluators.relevance.one_sentence import stands_in_one_sentence
from tests.evaluators.samples import make_sample

QUESTION = "When did the west wing of the hospital burn down?"


def score(evaluator: str, *, question: str = QUESTION, **sample: JSONValue) -> Score:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    settings = effective_settings(spec, family.managed_profiles[0].settings)
    return family.score(make_sample(input=question, **sample), settings)


ASKING_BACK = [
    "Could you please clarify your question?",
    "Can you provide more details?",
    "What do you mean?",
    "I don't understand. Could you rephrase the question?",
    "Great question! Could you tell me more about which hospital you mean?",
    "Which hospital are you referring to?",
    "Sorry, your question is unclear.",
    "How can I help you today?",
    "Could you clarify which hospital you mean? There are several in Velden.",
    "Which hospital?",
    "I'd be happy to help! To give you the best answer, could you please provide some more context?",
    "Please specify the hospital.",
]

ANSWERING = [
    "It burned down in March 1922.",
    "In March 1922. Could you clarify which hospital you mean?",
    "The west wing burned down in 1922. How can I help you further?",
    "Could you clarify which hospital? If you mean Velden, it burned down in 1922.",
    "A fire in March 1922 destroyed it. Do you want to know more?",
    "The report does not explain what you mean, but it was 1922.",
    "You could write: Could you please clarify the deadline?",
    "",
]


@pytest.mark.parametrize("output", ASKING_BACK)
def test_who_asks_back_does_not_answer(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluators.minilm, "embed", lambda _: pytest.fail("the model was asked"))
    found = score("answer-relevance", output=output)
    assert (found.value, found.passed, found.extra["evasive"]) == (0.0, False, True)
    assert found.explanation == "The output asks back instead of answering."


@pytest.mark.parametrize("output", ANSWERING)
def test_who_answers_may_ask_then(output: str) -> None:
    assert not asks_back(output, QUESTION)


@pytest.mark.parametrize(
    ("question", "output"),
    [
        ("Write three quiz questions about Rome.", "When did Rome fall? Who was Nero? What is a toga?"),
        ("Translate: ¿Qué hora es?", "What time is it?"),
        ("Tell me a joke", "Why did the chicken cross the road?"),
    ],
)
def test_questions_answer_who_wants_them(question: str, output: str) -> None:
    assert not asks_back(output, question)


@pytest.mark.parametrize("output", ["It burned down in March 1922.", "March 1922", "1922"])
def test_an_answer_still_passes(output: str) -> None:
    assert score("answer-relevance", output=output).passed


def test_each_evaluator_has_its_own_line() -> None:
    lines = {}
    for name in ("answer-relevance", "retrieval-answer-relevance-2026-11-20", "answer-relevance-judge"):
        found = find_evaluator(name)
        assert found is not None
        lines[name] = found[0].threshold_for(make_sample(), effective_settings(found[1], {}))
    assert list(lines.values()) == [0.42, 0.35, 0.35]


def test_the_evaluator_of_before_answers_as_before() -> None:
    old = score("retrieval-answer-relevance-2026-11-20", output="Could you please clarify your question?")
    assert old.extra["evasive"] is False
    brief = score("retrieval-answer-relevance-2026-11-20", output="March 1922")
    assert 0.28 <= brief.value < score("answer-relevance", output="March 1922").value


# Context sufficiency


def opened(evaluator: str, context: str) -> Score:
    gold = "The bridge opened in 1932"
    return score(evaluator, question="When did the bridge open?", gold=gold, contexts=[context])


@pytest.mark.parametrize(
    ("gold", "context", "stands"),
    [
        ("The bridge opened in 1932", "The bridge, which opened after long delays in 1932, spans the harbour.", True),
        ("The bridge opened in 1932", "Opened in 1932, the bridge spans the harbour.", True),
        ("Karl Osten opened the hospital", "The hospital, which Karl Osten opened in 1861, grew.", True),
        ("Anna beat Bob", "Bob beat Anna in the final.", False),
        ("The bridge opened in 1932", "The bridge did not open in 1932.", False),
        ("The bridge opened in 1932", "The bridge is old. A shop opened in 1932.", False),
        ("Karl Osten opened the hospital", "The hospital that Anna opened was closed by Karl Osten.", False),
        ("1932", "The bridge opened in 1932.", False),
    ],
)
def test_a_fact_stands_in_one_sentence_in_its_order(gold: str, context: str, stands: bool) -> None:
    assert stands_in_one_sentence(gold, "", [context], Stems()) is stands


@pytest.mark.parametrize(
    "context",
    [
        "The bridge, which opened after long delays in 1932, spans the harbour.",
        "When the bridge was opened at last, in 1932, it was the longest.",
    ],
)
def test_a_subordinate_clause_holds_the_gold_answer(context: str) -> None:
    assert opened("context-sufficiency", context).passed


CLAUSE = "The west wing, which burned down in March of 1922, was never rebuilt."


def test_a_clause_counts_since_the_new_rules_only() -> None:
    old = score("retrieval-context-sufficiency-2026-11-20", gold="March 1922", contexts=[CLAUSE])
    new = score("context-sufficiency", gold="March 1922", contexts=[CLAUSE])
    assert (old.passed, new.passed) == (False, True)
    assert old.value < 0.67
    assert new.extra["in_one_sentence"] is True
    assert "in_one_sentence" not in old.extra


@pytest.mark.parametrize(
    "context", ["In March the archive counted 1922 boxes.", "The wing has 1922 rooms. In March it snows."]
)
def test_the_words_of_a_short_answer_in_another_matter_do_not(context: str) -> None:
    assert not score("context-sufficiency", gold="March 1922", contexts=[context]).passed


def test_without_gold_a_passage_must_speak_to_the_question_more() -> None:
    found = find_evaluator("context-sufficiency")
    earlier = find_evaluator("retrieval-context-sufficiency-2026-11-20")
    assert found is not None
    assert earlier is not None
    lines = [
        family.threshold_for(make_sample(), effective_settings(spec, family.managed_profiles[0].settings))
        for family, spec in (found, earlier)
    ]
    assert lines == [0.55, 0.4]
