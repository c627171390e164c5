"""Context relevance: whether the retrieved contexts are about the question."""

from __future__ import annotations

from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
)
from evaluators.cards.texts import retrieval as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.grounding.relevance import Nearest, Nearness, has_words, measure_nearness
from evaluators.judging.questions.relevance import judge_context_relevance
from evaluators.judging.settings import (
    EXACTING,
    find_before_exacting,
    find_before_strict,
    get_threshold,
    several_questions_settings,
)
from evaluators.score_map import SCORE_MAP
from evaluators.settings import object_schema
from evaluators.text.against import compare_with_threshold
from evaluators.text.identify import identify
from evaluators.text.language import READS_ENGLISH, require_readable
from evaluators.values import DOCUMENTS

DEFAULT_THRESHOLD = 0.4
COVERAGE_WEIGHT = 1.0
MAX_LISTED = 50


_SMALL = EvaluatorSpec(
    id="retrieval-context-relevance-2026-11-23",
    name="Context relevance, small",
    description="A small sentence model and the words of the question; reads English.",
    aliases=("retrieval-context-relevance", "context-relevance", "context-relevance-small"),
    default_profile="context-relevance",
    settings=READS_ENGLISH,
    components=("retriever",),
    formula="how near the best passage is to the question",
    output_types=(DOCUMENTS,),
)
_BY_JUDGE = EvaluatorSpec(
    id="retrieval-context-relevance-judge-2026-11-30",
    name="Context relevance, judge",
    description="An LLM of yours grades each context by itself; the best one counts.",
    aliases=(
        "retrieval-context-relevance-judge",
        "retrieval-context-relevance-large",
        "context-relevance-judge",
        "context-relevance-large",
    ),
    default_profile="context-relevance",
    settings={"variant": "judge", **EXACTING},
    components=("retriever",),
    formula="the best context's rating, 0 to 1",
    output_types=(DOCUMENTS,),
    judge_calls="n",
)


class ContextRelevance(Family):
    """Score the passage of the contexts that is nearest to the question, by a small model of English and its words."""

    name = "retrieval-context-relevance"
    description = "Measures how near the best passage of the retrieved contexts is to the question."
    question = "Were the right contexts retrieved?"
    lane = Lane.CPU
    judge_variants = ("judge",)
    binary = False
    by_verdict = True
    required_fields = (Field.INPUT, Field.CONTEXT)
    accepts_own_profiles = True
    cards = card_texts.CONTEXT_RELEVANCE
    settings_schema = object_schema({**several_questions_settings(DEFAULT_THRESHOLD), "score_map": SCORE_MAP})
    managed_profiles = (
        ManagedProfile(
            "context-relevance",
            "Passes when a passage of the contexts speaks of what was asked.",
            {"pass_threshold": DEFAULT_THRESHOLD},
        ),
    )
    evaluators = (
        _SMALL,
        _SMALL.former(
            id="retrieval-context-relevance-2026-11-20",
            name="Context relevance, any Latin script",
            description="The same, which also scores other languages in Latin letters, and means little there.",
        ),
        _BY_JUDGE,
        find_before_exacting(_BY_JUDGE, "retrieval-context-relevance-judge-2026-11-23"),
        find_before_strict(_BY_JUDGE, "retrieval-context-relevance-judge-2026-11-20"),
    )

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score the nearest passage. A sample without words to compare scores 0 without the model.

        Raises CannotScore("unsupported_language") for a text in an unsupported language.
        """
        threshold = get_threshold(settings, DEFAULT_THRESHOLD)
        question, contexts = sample.input or "", sample.context_texts
        if because := _nothing_to_compare(question, contexts):
            return Score(0.0, threshold <= 0, because if explain else None, extra={"n_windows": 0})
        readable = require_readable(settings, (question, "The input"), ("\n".join(contexts), "The context"))
        nearest = measure_nearness(question, contexts)
        best = max(nearest.windows, key=_value)
        value = _value(best)
        return Score(
            value=value,
            passed=value >= threshold,
            explanation=_explain(best, threshold) + readable.doubt if explain else None,
            extra={**_extra(nearest, best, len(contexts)), **readable.extra},
        )

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query a judge; if there is nothing to evaluate, return the score of `score`."""
        if _nothing_to_compare(sample.input or "", sample.context_texts):
            return self.score(sample, settings, explain=explain)
        threshold = get_threshold(settings, DEFAULT_THRESHOLD)
        return await judge_context_relevance(sample, settings, gateway, threshold=threshold, explain=explain)

    def warm_up(self) -> None:
        """Load the small model, some 0.3 seconds and 140 MB, and what tells languages, 4 MB."""
        from evaluators.minilm import warm_up

        warm_up()
        identify("warm up")


def _nothing_to_compare(question: str, contexts: tuple[str, ...]) -> str | None:
    if not any(map(has_words, contexts)):
        return "There is no context with a word in it."
    return None if has_words(question) else "The input asks nothing that a context could speak of."


def _value(window: Nearness) -> float:
    return window.value(COVERAGE_WEIGHT)


def _extra(found: Nearest, best: Nearness, n_contexts: int) -> dict[str, JSONValue]:
    scores: list[JSONValue] = [None] * min(n_contexts, MAX_LISTED)
    for window in sorted(found.windows, key=_value):
        if window.index < len(scores):
            scores[window.index] = _value(window)
    return {
        "best_context": best.index,
        "cosine": best.cosine,
        "question_words": best.coverage,
        "contexts": scores,
        "n_windows": found.n_windows,
        "n_windows_read": len(found.windows),
    }


def _explain(best: Nearness, threshold: float) -> str:
    return (
        f"The best context (number {best.index}, counted from 0) has a relevance of "
        f"{compare_with_threshold(_value(best), threshold)}: similarity {best.cosine:.2f}, "
        f"{best.coverage:.0%} of the question's words."
    )
