"""Context relevance: the best passage counts, the order does not, and degenerate inputs ask no model."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

import evaluators.minilm
from evaluators.base import CannotScore, JSONValue, Lane, Score
from evaluators.families.retrieval.context_relevance import MAX_LISTED, ContextRelevance
from evaluators.grounding.relevance import MAX_WINDOWS
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample

FAMILY = ContextRelevance()
QUESTION = "Where does the Arden beetle live?"
BEETLE = "The Arden beetle lives mostly in the oak forests of southern Portugal."
OTHERS = ("Photons carry no electric charge.", "The parliament of Kordia has 120 members.", "Bananas are yellow.")


def score(question: str | None, *contexts: str, **settings: JSONValue) -> Score:
    return FAMILY.score(make_sample(input=question, contexts=contexts), settings)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluators.minilm, "embed", lambda _: pytest.fail("the model was asked"))


def test_a_context_about_the_question_passes() -> None:
    assert score(QUESTION, BEETLE).value > 0.6
    assert score(QUESTION, BEETLE).passed


def test_contexts_about_something_else_fail() -> None:
    assert score(QUESTION, *OTHERS).value < 0.2
    assert not score(QUESTION, *OTHERS).passed


def test_the_best_context_counts_and_is_named() -> None:
    found = score(QUESTION, *OTHERS, BEETLE)
    assert found.value == score(QUESTION, BEETLE).value
    assert found.extra["best_context"] == 3
    scores = found.extra["contexts"]
    assert isinstance(scores, list)
    assert len(scores) == 4
    assert scores[3] == found.value
    assert found.explanation is not None
    assert found.explanation.startswith("The best context (number 3, counted from 0) has a relevance of 0.")


def test_the_order_of_the_contexts_changes_nothing() -> None:
    assert len({score(QUESTION, *order).value for order in permutations((*OTHERS, BEETLE))}) == 1


def test_the_order_changes_nothing_where_not_every_window_is_read() -> None:
    contexts = [f"Context {n} says that bananas are yellow. " * 60 for n in range(20)] + [BEETLE]
    found, backwards = score(QUESTION, *contexts), score(QUESTION, *contexts[::-1])
    assert found.value == backwards.value == score(QUESTION, BEETLE).value
    assert found.extra["n_windows_read"] == MAX_WINDOWS


def test_a_passage_within_a_long_context_is_found() -> None:
    filler = "The parliament of Kordia has 120 members, who are elected every four years. " * 80
    assert score(QUESTION, filler + BEETLE + filler).passed
    assert not score(QUESTION, filler).passed


def test_contexts_without_words_have_no_score() -> None:
    assert score(QUESTION, "...", BEETLE, "").extra["contexts"] == [None, score(QUESTION, BEETLE).value, None]


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("question", "contexts", "because"),
    [
        (QUESTION, (), "There is no context with a word in it."),
        (QUESTION, ("", " \n", "..."), "There is no context with a word in it."),
        ("", (BEETLE,), "The input asks nothing that a context could speak of."),
        (None, (BEETLE,), "The input asks nothing that a context could speak of."),
        ("", (), "There is no context with a word in it."),
    ],
)
def test_degenerate_inputs_score_zero_and_ask_no_model(
    question: str | None, contexts: tuple[str, ...], because: str
) -> None:
    found = score(question, *contexts)
    assert (found.value, found.passed, found.explanation) == (0.0, False, because)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("question", "context"), [("Где живёт жук?", BEETLE), (QUESTION, "Жук живёт в лесах Португалии.")]
)
def test_other_scripts_are_refused(question: str, context: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        score(question, context)
    assert refusal.value.code == "unsupported_language"


@pytest.mark.timeout(120)
def test_the_longest_request_is_scored() -> None:
    contexts = ["word " * 2_000 for _ in range(47)]
    found = score(QUESTION, *contexts, BEETLE)
    assert found.passed
    listed = found.extra["contexts"]
    assert isinstance(listed, list)
    assert len(listed) <= MAX_LISTED


@pytest.mark.parametrize("alias", ["retrieval-context-relevance", "context-relevance", "context-relevance-small"])
def test_every_alias_finds_it(alias: str) -> None:
    found = find_evaluator(alias)
    assert found is not None
    assert found[1].id == "retrieval-context-relevance-2026-11-23"


@pytest.mark.parametrize(("threshold", "passed"), [(0, True), (1, False)])
def test_the_profile_s_threshold_decides(threshold: float, passed: bool) -> None:
    assert score(QUESTION, BEETLE, pass_threshold=threshold).passed is passed


@pytest.mark.parametrize("bad", [-0.1, 1.1, "0.5", None, True, math.nan])
def test_it_refuses_thresholds_outside_the_range(bad: JSONValue) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings({"pass_threshold": bad})] == ["/pass_threshold"]


def test_it_runs_on_the_workers_for_models_and_judges_elsewhere() -> None:
    assert FAMILY.lane_of({}) is Lane.CPU
    assert FAMILY.lane_of({"variant": "judge"}) is Lane.JUDGE
