"""Context sufficiency: with a gold answer by its words, without one by the question."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

import evaluators.minilm
from evaluators.base import CannotScore, Field, JSONValue, Lane, Score, effective_settings
from evaluators.families.retrieval.context_sufficiency import ContextSufficiency
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample

FAMILY = ContextSufficiency()
QUESTION = "When did the west wing of the hospital burn down?"
SENTENCES = (
    "In 1861 the physician Karl Osten opened a small hospital on the northern edge of Velden.",
    "By the end of the war it had grown to 340 beds and employed more than ninety nurses.",
    "A fire destroyed the west wing in March 1922, but no patients were hurt.",
    "Today the building houses the regional archive and a cafe that is run by volunteers.",
)
FULL = " ".join(SENTENCES)
CUT = " ".join(sentence for sentence in SENTENCES if "1922" not in sentence)


def score(gold: str | None, *contexts: str, question: str | None = QUESTION, **settings: JSONValue) -> Score:
    return FAMILY.score(make_sample(input=question, contexts=contexts, gold=gold), settings)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluators.minilm, "embed", lambda _: pytest.fail("the model was asked"))


# With a gold answer


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("question", "gold"),
    [
        (QUESTION, "March 1922"),
        (QUESTION, "in march 1922."),
        ("Who opened the hospital?", "Karl Osten"),
        ("How many beds did it have?", "340 beds"),
        ("How many nurses did it employ?", "more than 90 nurses"),
        ("What is in the building today?", "The building houses the regional archive."),
    ],
)
def test_a_context_with_the_gold_answer_suffices(question: str, gold: str) -> None:
    found = score(gold, FULL, question=question)
    assert found.passed
    assert found.extra["basis"] == "gold"


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("gold", ["March 1922", "April 1923", "Anna Petrova", "1,340 beds", "Nobody was killed by it"])
def test_a_context_without_it_does_not(gold: str) -> None:
    assert not score(gold, CUT).passed


@pytest.mark.usefixtures("no_model")
def test_scattered_words_are_worth_less_than_the_phrase() -> None:
    scattered = "March is cold. " + "Snow falls on the hills for weeks. " * 8 + "The archive has 1922 boxes."
    assert score("March 1922", FULL).value > score("March 1922", scattered).value + 0.2


@pytest.mark.usefixtures("no_model")
def test_a_gold_answer_near_the_question_is_worth_more() -> None:
    elsewhere = "In March 1922 a bakery opened in Linn."
    assert score("March 1922", FULL).value > score("March 1922", elsewhere).value


@pytest.mark.usefixtures("no_model")
def test_gold_answers_of_any_script_are_read() -> None:
    context = "Столица Франции — Париж."
    assert score("Париж", context, question="Какой город столица Франции?").passed
    assert not score("Лион", context, question="Какой город столица Франции?").passed


# Without


def test_without_gold_a_passage_that_answers_suffices() -> None:
    found = score(None, FULL)
    assert found.passed
    assert found.extra["basis"] == "question"


@pytest.mark.parametrize("gold", [None, "", " ", "..."])
def test_without_gold_a_neighbour_does_not_suffice(gold: str | None) -> None:
    found = score(gold, SENTENCES[1], SENTENCES[3])
    assert found.passed is False
    assert found.extra["basis"] == "question"


def test_without_gold_the_kind_of_answer_is_looked_for() -> None:
    without = "A fire destroyed the west wing of the hospital, but no patients were hurt."
    assert score(None, without).extra["has_what_is_asked_for"] is False
    assert score(None, without).value < score(None, f"{without} That was in 1922.").value


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(("question", "context"), [("Когда сгорело?", FULL), (QUESTION, "Крыло сгорело в марте.")])
def test_without_gold_other_scripts_are_refused(question: str, context: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        score(None, context, question=question)
    assert refusal.value.code == "unsupported_language"


@pytest.mark.parametrize("gold", ["Yes", "no.", "TRUE", "**false**"])
def test_with_a_bare_yes_or_no_the_question_decides(gold: str) -> None:
    question = "Did a fire destroy the west wing of the hospital?"
    good, bad = score(gold, FULL, question=question), score(gold, "Bananas are yellow.", question=question)
    assert (good.passed, bad.passed) == (True, False)
    assert (good.extra["basis"], bad.extra["basis"]) == ("question", "question")
    assert good == score(None, FULL, question=question)


def test_each_basis_has_its_threshold() -> None:
    assert score("March 1922", FULL, pass_threshold=1, pass_threshold_without_gold=0).passed is False
    assert score(None, FULL, pass_threshold=0, pass_threshold_without_gold=1).passed is False
    assert score(None, FULL, pass_threshold=1, pass_threshold_without_gold=0).passed is True


# Either


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("gold", "question", "contexts", "because"),
    [
        ("March 1922", QUESTION, (), "There is no context with a word in it."),
        ("March 1922", QUESTION, ("", " "), "There is no context with a word in it."),
        (None, QUESTION, ("...",), "There is no context with a word in it."),
        (None, "", (FULL,), "The input asks nothing, and there is no gold answer to look for."),
        ("", None, (FULL,), "The input asks nothing, and there is no gold answer to look for."),
    ],
)
def test_degenerate_inputs_score_zero_and_ask_no_model(
    gold: str | None, question: str | None, contexts: tuple[str, ...], because: str
) -> None:
    found = score(gold, *contexts, question=question)
    assert (found.value, found.passed, found.explanation) == (0.0, False, because)


@pytest.mark.parametrize("gold", ["March 1922", None])
def test_the_order_of_the_contexts_changes_nothing(gold: str | None) -> None:
    found = {score(gold, *order).value for order in permutations(SENTENCES[:3])}
    assert len(found) == 1


@pytest.mark.timeout(120)
@pytest.mark.parametrize("gold", ["March 1922", None, "word " * 20_000])
def test_the_longest_request_is_scored(gold: str | None) -> None:
    assert 0.0 <= score(gold, ("word and more " * 40_000)[:380_000]).value <= 1.0


def test_it_needs_input_and_context_and_reads_the_gold_answer() -> None:
    assert FAMILY.missing_fields(make_sample(gold="x"), {}) == [Field.INPUT, Field.CONTEXT]
    assert Field.GOLD in FAMILY.optional_fields


def test_the_bare_name_finds_it() -> None:
    found = find_evaluator("retrieval-context-sufficiency")
    assert found is not None
    assert found[1].id == "retrieval-context-sufficiency-2026-11-30"


@pytest.mark.parametrize("name", ["pass_threshold", "pass_threshold_without_gold"])
@pytest.mark.parametrize("bad", [-0.1, 1.1, "0.5", None, True, math.nan])
def test_it_refuses_thresholds_outside_the_range(name: str, bad: JSONValue) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings({name: bad})] == [f"/{name}"]


def test_it_runs_on_the_workers_for_models_and_judges_elsewhere() -> None:
    assert FAMILY.lane_of({}) is Lane.CPU
    assert FAMILY.lane_of({"variant": "judge"}) is Lane.JUDGE


LYNX = "The sand lynx (Lynx arenae) is a small cat of the deserts of central Turania."
HUNTS = "What does the sand lynx mostly hunt?"


def score_by_id(name: str, *contexts: str, gold: str | None = None, **settings: JSONValue) -> Score:
    found = find_evaluator(name)
    assert found is not None
    sample = make_sample(input=HUNTS, contexts=contexts, gold=gold)
    return FAMILY.score(sample, effective_settings(found[1], settings))


@pytest.mark.parametrize(
    ("contexts", "undecided"),
    [
        ((LYNX, "The sand lynx mostly hunts gerbils."), None),
        (("The metro of Karsk has two lines.",), None),
        ((LYNX,), "low_support"),
    ],
)
def test_without_a_gold_answer_scores_that_tell_nothing_are_undecided(
    contexts: tuple[str, ...], undecided: str | None
) -> None:
    assert score_by_id("context-sufficiency", *contexts).undecided == undecided


def test_a_gold_answer_earlier_rules_and_a_line_of_the_profile_decide_everything() -> None:
    assert score_by_id("context-sufficiency", LYNX, gold="gerbils").undecided is None
    assert score_by_id("retrieval-context-sufficiency-2026-11-23", LYNX).undecided is None
    assert score_by_id("context-sufficiency", LYNX, pass_threshold_without_gold=0.6).undecided is None
