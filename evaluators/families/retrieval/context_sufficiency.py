"""Context sufficiency: whether the retrieved contexts contain what the answer needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from evaluators.cascade import CASCADE
from evaluators.gateway import JudgeGateway
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.relevance import has_words
from evaluators.grounding.sufficiency import Sufficiency, question_in_contexts, says_something, support_of_gold
from evaluators.judging.questions.relevance import judge_sufficiency
from evaluators.judging.settings import EXACTING, find_before_exacting, find_before_strict, judge_settings
from evaluators.relevance.one_sentence import support_within_sentences
from evaluators.settings import THRESHOLD, UNDECIDED, number_setting, object_schema
from evaluators.text.against import compare_with_threshold
from evaluators.text.identify import identify
from evaluators.text.language import READS_ENGLISH, Readable, require_readable
from evaluators.values import DOCUMENTS, SAMPLED

DEFAULT_THRESHOLD = 0.7
DEFAULT_THRESHOLD_WITHOUT_GOLD = 0.55
FIRST_THRESHOLD_WITHOUT_GOLD = 0.4
FAILS_BELOW, PASSES_FROM = 0.4, 0.65
"""What decides without a gold answer: in between, contexts that answer and others are about as many. Chosen on the
development set, whose rows in between are undecided."""
CLAUSES = "clauses"
"""The rules of the evaluator since 2026-11-23: a clause may part the gold answer's words, and more must answer."""
DOUBTS = "doubts"
"""The rules since 2026-11-30: without a gold answer, what lies between the two lines is undecided."""
_NEWER_RULES = frozenset({CLAUSES, DOUBTS})
_NOT_ASKED = Readable({})


_SMALL = EvaluatorSpec(
    id="retrieval-context-sufficiency-2026-11-30",
    name="Context sufficiency, small",
    description="Looks for the gold answer's words in the contexts; without one, a small model of English.",
    aliases=("retrieval-context-sufficiency", "context-sufficiency", "context-sufficiency-small"),
    default_profile="context-sufficiency",
    settings={**READS_ENGLISH, "rules": DOUBTS},
    components=("retriever",),
    formula="chance that the contexts hold the answer",
    output_types=(DOCUMENTS,),
)
_BY_JUDGE = EvaluatorSpec(
    id="retrieval-context-sufficiency-judge-2026-11-30",
    name="Context sufficiency, judge",
    description="An LLM of yours decides whether the contexts are enough, and hold the gold answer if any.",
    aliases=(
        "retrieval-context-sufficiency-judge",
        "retrieval-context-sufficiency-large",
        "context-sufficiency-judge",
        "context-sufficiency-large",
    ),
    default_profile="context-sufficiency",
    settings={"variant": "judge", **EXACTING},
    components=("retriever",),
    formula="the judge's rating, 0 to 1",
    output_types=(DOCUMENTS,),
    judge_calls=SAMPLED,
)


class ContextSufficiency(Family):
    """Score whether the contexts contain the gold answer; without one, whether a passage addresses the question.

    With a gold answer, words are compared without a model; without one, a small English model is used.
    """

    name = "retrieval-context-sufficiency"
    description = "Measures whether the retrieved contexts hold what the gold answer says."
    question = "Were the right contexts retrieved?"
    lane = Lane.CPU
    judge_variants = ("judge",)
    binary = False
    by_verdict = True
    required_fields = (Field.INPUT, Field.CONTEXT)
    optional_fields = (Field.GOLD,)
    accepts_own_profiles = True
    cards = card_texts.CONTEXT_SUFFICIENCY
    settings_schema = object_schema(
        {
            **judge_settings(DEFAULT_THRESHOLD),
            "pass_threshold_without_gold": {
                **THRESHOLD,
                "default": DEFAULT_THRESHOLD_WITHOUT_GOLD,
                "description": "The lowest score that passes where there is no gold answer.",
            },
            "undecided": UNDECIDED,
            "cascade": CASCADE,
        }
    )
    managed_profiles = (
        ManagedProfile(
            "context-sufficiency",
            "Passes when the contexts hold what the gold answer says.",
            {"pass_threshold": DEFAULT_THRESHOLD},
            # The line without a gold answer is each evaluator's own.
            earlier=(
                {
                    "pass_threshold": DEFAULT_THRESHOLD,
                    "pass_threshold_without_gold": FIRST_THRESHOLD_WITHOUT_GOLD,
                },
            ),
        ),
    )
    evaluators = (
        _SMALL,
        _SMALL.former(
            id="retrieval-context-sufficiency-2026-11-23",
            name="Context sufficiency, small, former",
            description="The same, but each score passes or fails.",
            settings={**READS_ENGLISH, "rules": CLAUSES},
        ),
        _SMALL.former(
            id="retrieval-context-sufficiency-2026-11-20",
            name="Context sufficiency, any Latin script",
            description="The same with a lower line without a gold answer, in any language in Latin letters.",
        ),
        _BY_JUDGE,
        find_before_exacting(_BY_JUDGE, "retrieval-context-sufficiency-judge-2026-11-23"),
        find_before_strict(_BY_JUDGE, "retrieval-context-sufficiency-judge-2026-11-20"),
    )

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score the gold answer's support or, without one, the question's. Without words to compare, the score is 0.

        A plain yes or no cannot be located in a context: the question is scored instead.

        Raises CannotScore("unsupported_language") if the question is scored and its language is not supported.
        """
        question, contexts = sample.input or "", sample.context_texts
        golds = [gold for gold in sample.gold_texts if says_something(gold)]
        with_gold = bool(golds)
        threshold = _threshold(settings, with_gold=with_gold)
        if not any(map(has_words, contexts)):
            return _nothing("There is no context with a word in it.", threshold, explain=explain)
        if with_gold:
            evidence = Evidence(contexts)
            supports = [_support(gold, question, contexts, evidence, settings) for gold in golds]
            return _build_score(max(supports, key=lambda each: each.value), threshold, explain=explain)
        if not has_words(question):
            return _nothing(
                "The input asks nothing, and there is no gold answer to look for.", threshold, explain=explain
            )
        readable = require_readable(settings, (question, "The input"), ("\n".join(contexts), "The context"))
        score = _build_score(question_in_contexts(question, contexts), threshold, readable, explain=explain)
        is_doubtful = FAILS_BELOW <= score.value < PASSES_FROM and _may_doubt(settings)
        return replace(score, undecided="low_support") if is_doubtful else score

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query a judge; if there is nothing to evaluate, return the score of `score`."""
        if not any(map(has_words, sample.context_texts)) or not has_words(sample.input or ""):
            return self.score(sample, settings, explain=explain)
        threshold = _threshold(settings, with_gold=any(map(has_words, sample.gold_texts)))
        return await judge_sufficiency(sample, settings, gateway, threshold=threshold, explain=explain)

    def threshold_for(self, sample: Sample, settings: Settings) -> float | None:
        """Return the threshold for the sample; it differs for samples without a gold answer."""
        return _threshold(settings, with_gold=has_words(sample.gold or ""))

    def warm_up(self) -> None:
        """Load the small model, some 0.3 seconds and 140 MB, and what tells languages, 4 MB."""
        from evaluators.minilm import warm_up

        warm_up()
        identify("warm up")


def _support(gold: str, question: str, contexts: Sequence[str], evidence: Evidence, settings: Settings) -> Sufficiency:
    if settings.get("rules") in _NEWER_RULES:
        return support_within_sentences(gold, question, contexts, evidence)
    return support_of_gold(gold, question, evidence)


def _may_doubt(settings: Settings) -> bool:
    """Return whether scores can be undecided: not by earlier rules, nor where the profile names a line of its own."""
    return settings.get("rules") == DOUBTS and number_setting(settings, "pass_threshold_without_gold") is None


def _threshold(settings: Settings, *, with_gold: bool) -> float:
    without = DEFAULT_THRESHOLD_WITHOUT_GOLD if settings.get("rules") in _NEWER_RULES else FIRST_THRESHOLD_WITHOUT_GOLD
    name, default = ("pass_threshold", DEFAULT_THRESHOLD) if with_gold else ("pass_threshold_without_gold", without)
    threshold = number_setting(settings, name)
    return default if threshold is None else threshold


def _nothing(because: str, threshold: float, *, explain: bool) -> Score:
    return Score(0.0, threshold <= 0, because if explain else None, extra={"basis": None})


def _build_score(found: Sufficiency, threshold: float, readable: Readable = _NOT_ASKED, *, explain: bool) -> Score:
    passed = found.value >= threshold
    extra: dict[str, JSONValue] = dict(found.parts)
    return Score(
        value=found.value,
        passed=passed,
        explanation=(
            f"The sufficiency is {compare_with_threshold(found.value, threshold)}: {found.because}.{readable.doubt}"
            if explain
            else None
        ),
        extra={"basis": found.basis, **extra, **readable.extra},
    )
