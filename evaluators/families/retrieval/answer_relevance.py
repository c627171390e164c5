"""Answer relevance: whether the output answers the question, rightly or wrongly."""

from __future__ import annotations

import re
from dataclasses import replace

from evaluators.base import (
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    UndecidedReason,
)
from evaluators.cards.texts import retrieval as card_texts
from evaluators.cascade import CASCADE
from evaluators.gateway import JudgeGateway
from evaluators.grounding.abstentions import abstains
from evaluators.grounding.kinds import AnswerKind, find_asked_kind, has_kind, is_brief_answer
from evaluators.grounding.refusals import MAX_CHARS, find_refusal
from evaluators.grounding.relevance import Nearest, Nearness, has_words, measure_nearness
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.words import split_words
from evaluators.judging.questions.relevance import judge_answer_relevance
from evaluators.judging.settings import (
    EXACTING,
    find_before_exacting,
    find_before_strict,
    get_threshold,
    judge_settings,
)
from evaluators.relevance.asking_back import asks_back
from evaluators.relevance.yes_or_no import BARE, asks_yes_or_no, is_bare_answer, misses_question
from evaluators.score_map import SCORE_MAP
from evaluators.settings import TURN, UNDECIDED, number_setting, object_schema, unit_setting
from evaluators.text.against import compare_with_threshold
from evaluators.text.identify import identify
from evaluators.text.language import READS_ENGLISH, Readable, require_readable
from evaluators.text.refusals import declines_elsewhere
from evaluators.values import GENERATED, SAMPLED

DEFAULT_THRESHOLD = 0.42
FIRST_THRESHOLD = 0.35
ANSWERS = "answers"
"""The rules of the evaluator since 2026-11-23: asking back is no answer, and more must speak to the question."""
BARE_ANSWERS = "bare-answers"
"""The rules since 2026-11-28: a bare yes or no answers a question of yes or no and no question for more, and more ways
to decline are known."""
_NEWER_RULES = frozenset({ANSWERS, BARE_ANSWERS})
COVERAGE_WEIGHT = 0.3
WITHOUT_KIND = 0.75
"""What the score is multiplied by when, say, a date is asked for and the output has none."""
BRIEF = 0.36
"""The least score of what may be the bare answer ("1998"): it has too few words for the model to see the likeness."""
FIRST_BRIEF = 0.28
FAILS_BELOW, PASSES_FROM, BRIEF_PASSES_FROM = 0.1, 0.65, 0.5
"""What decides: between the first and another of these, right answers and others are about as many. Chosen on the
development sets, whose rows in between are undecided."""
MAX_BESIDE_REFUSAL = 40
"""Words that an output may have beside the sentences that decline, and still decline as a whole."""

# "Does the lease mention pets?" is answered by "The lease does not mention pets."
_ABOUT_THE_TEXT = re.compile(r"\b(?:mention|say|state|specif)\w*\b", re.IGNORECASE)
_TURN = re.compile(r"\b(?:but|however|that\s+said|although|though|nevertheless|still)\b", re.IGNORECASE)


_BY_JUDGE = EvaluatorSpec(
    id="retrieval-answer-relevance-judge-2026-11-30",
    name="Answer relevance, judge",
    description="An LLM of yours decides: on topic, of the right kind, an answer, complete.",
    aliases=(
        "retrieval-answer-relevance-judge",
        "retrieval-answer-relevance-large",
        "answer-relevance-judge",
        "answer-relevance-large",
    ),
    default_profile="answer-relevance",
    settings={"variant": "judge", **EXACTING},
    components=("generator",),
    formula="the judge's rating, 0 to 1",
    output_types=(GENERATED,),
    judge_calls=SAMPLED,
)

_SMALL = EvaluatorSpec(
    id="retrieval-answer-relevance-2026-11-28",
    name="Answer relevance, small",
    description="A small sentence model and the words of the question; reads English.",
    aliases=("retrieval-answer-relevance", "answer-relevance", "answer-relevance-small"),
    default_profile="answer-relevance",
    settings={**READS_ENGLISH, "rules": BARE_ANSWERS},
    components=("generator",),
    formula="how well the output answers the question",
    output_types=(GENERATED,),
)


class AnswerRelevance(Family):
    """Score how near the output is to the question, by a small model of English, its words and the kind of answer.

    It judges whether the output speaks to the question, not whether it is right.
    """

    name = "retrieval-answer-relevance"
    description = "Measures whether the output speaks to the question, right or wrong; declining scores 0."
    question = "Does it answer the question?"
    lane = Lane.CPU
    judge_variants = ("judge",)
    binary = False
    by_verdict = True
    required_fields = (Field.INPUT, Field.OUTPUT)
    accepts_own_profiles = True
    cards = card_texts.ANSWER_RELEVANCE
    settings_schema = object_schema(
        {
            **judge_settings(DEFAULT_THRESHOLD),
            "undecided": UNDECIDED,
            "cascade": CASCADE,
            "score_map": SCORE_MAP,
            "unit": unit_setting(TURN),
        }
    )
    managed_profiles = (
        ManagedProfile(
            "answer-relevance",
            "Passes when the output speaks to the question.",
            # Without a number: each evaluator has its own line.
            earlier=({"pass_threshold": FIRST_THRESHOLD},),
        ),
    )
    evaluators = (
        _SMALL,
        _SMALL.former(
            id="retrieval-answer-relevance-2026-11-23",
            name="Answer relevance, small, former",
            description="The same, but a bare yes or no often fails, and fewer ways to decline are known.",
            settings={**READS_ENGLISH, "rules": ANSWERS},
        ),
        _SMALL.former(
            id="retrieval-answer-relevance-2026-11-20",
            name="Answer relevance, any Latin script",
            description="The same with a lower line, for any text in Latin letters; what asks back may pass.",
        ),
        _BY_JUDGE,
        find_before_exacting(_BY_JUDGE, "retrieval-answer-relevance-judge-2026-11-23"),
        find_before_strict(_BY_JUDGE, "retrieval-answer-relevance-judge-2026-11-20"),
    )

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score by model and words; an empty output, a repeated question and a refusal score 0 without the model.

        Raises CannotScore("unsupported_language") for a text in an unsupported language.
        """
        threshold = get_threshold(settings, _default_threshold(settings))
        question = sample.input or ""
        output = _remove_echo(sample.output or "", question)
        if because := _says_nothing(question, output):
            return Score(0.0, threshold <= 0, because if explain else None, extra={"evasive": True})
        if settings.get("reads") is not None and declines_elsewhere(output):
            return _declined(threshold, explain=explain)
        abstained = _abstains(output, question) if settings.get("rules") == BARE_ANSWERS else None
        if abstained and not asks_back(output, question):
            return _declined(threshold, explain=explain)
        readable = require_readable(settings, (question, "The input"), (output, "The output"))
        if abstained is None and _declines(output):
            return _declined(threshold, explain=explain)
        if settings.get("rules") in _NEWER_RULES and asks_back(output, question):
            because = "The output asks back instead of answering."
            return Score(0.0, threshold <= 0, because if explain else None, extra={"evasive": True})
        brief = _get_least(question, output, settings)
        nearest = measure_nearness(question, (output,))
        score = _build_score(question, output, nearest, threshold, readable, brief=brief, explain=explain)
        return replace(score, undecided=_find_doubt(score, brief == BARE)) if _may_doubt(settings) else score

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query a judge; if there is nothing to evaluate, return the score of `score`."""
        question = sample.input or ""
        if _says_nothing(question, _remove_echo(sample.output or "", question)):
            return self.score(sample, settings, explain=explain)
        threshold = get_threshold(settings, _default_threshold(settings))
        return await judge_answer_relevance(sample, settings, gateway, threshold=threshold, explain=explain)

    def threshold_for(self, sample: Sample, settings: Settings) -> float | None:
        """Return the lowest score that passes, which is another for the earlier evaluator and the judge."""
        return get_threshold(settings, _default_threshold(settings))

    def warm_up(self) -> None:
        """Load the small model, some 0.3 seconds and 140 MB, and what tells languages, 4 MB."""
        from evaluators.minilm import warm_up

        warm_up()
        identify("warm up")


def _default_threshold(settings: Settings) -> float:
    return DEFAULT_THRESHOLD if settings.get("rules") in _NEWER_RULES else FIRST_THRESHOLD


def _says_nothing(question: str, output: str) -> str | None:
    if not has_words(output):
        return "The output says nothing, or only repeats the question."
    return None if has_words(question) else "The input asks nothing that could be answered."


def _remove_echo(output: str, question: str) -> str:
    """Remove sentences that repeat the question word for word: they are similar to it and contain no answer."""
    question_words = split_words(question)
    if not question_words or not set(question_words).issubset(split_words(output)):
        return output
    sentences = (output[slice(*span)] for span in split_sentences(output))
    return " ".join(sentence for sentence in sentences if split_words(sentence) != question_words)


def _abstains(output: str, question: str) -> bool | None:
    is_about_the_text = asks_yes_or_no(question) and _ABOUT_THE_TEXT.search(question)
    return False if is_about_the_text else abstains(output, question)


def _declines(output: str) -> bool:
    """Return whether the output as a whole declines.

    A contrast ("but ...") introduces an answer, unless that part also declines.
    """
    refusals_found = [(span, find_refusal(output, span)) for span in split_sentences(output)]
    refusals = [refusal for _, refusal in refusals_found if refusal is not None]
    if not refusals or _turns(output, refusals[-1][1]):
        return False
    others = (output[slice(*span)] for span, refusal in refusals_found if refusal is None)
    return sum(len(split_words(other)) for other in others) <= MAX_BESIDE_REFUSAL


def _get_least(question: str, output: str, settings: Settings) -> float | None:
    """Return the least score of a brief answer; None for a bare yes or no to a question that asks for more."""
    if settings.get("rules") != BARE_ANSWERS:
        return BRIEF if settings.get("rules") in _NEWER_RULES else FIRST_BRIEF
    if is_bare_answer(output, question):
        return BARE
    return None if misses_question(output, question) else BRIEF


def _declined(threshold: float, *, explain: bool) -> Score:
    because = "The output declines to answer."
    return Score(0.0, threshold <= 0, because if explain else None, extra={"evasive": True})


def _turns(output: str, start: int) -> bool:
    turn = _TURN.search(output, start)
    return turn is not None and find_refusal(output, (turn.end(), min(turn.end() + MAX_CHARS, len(output)))) is None


def _build_score(
    question: str,
    output: str,
    found: Nearest,
    threshold: float,
    readable: Readable,
    *,
    brief: float | None,
    explain: bool,
) -> Score:
    best = max(found.windows, key=lambda window: window.value(COVERAGE_WEIGHT))
    kind = find_asked_kind(question)
    is_there = brief is not None and (kind is None or has_kind(output, kind, question))
    is_brief = brief is not None and (brief == BARE or is_brief_answer(output, kind, question))
    value = best.value(COVERAGE_WEIGHT) * (1.0 if is_there else WITHOUT_KIND)
    value = brief + (1 - brief) * value if brief is not None and is_brief else value
    return Score(
        value=value,
        passed=value >= threshold,
        explanation=_explain(best, kind, is_there, value, threshold) + readable.doubt if explain else None,
        extra={
            "cosine": best.cosine,
            "question_words": best.coverage,
            "asks_for": None if kind is None else str(kind),
            "has_what_is_asked_for": is_there,
            "brief": is_brief,
            "evasive": False,
            "n_windows": found.n_windows,
            **readable.extra,
        },
    )


def _may_doubt(settings: Settings) -> bool:
    """Return whether scores can be undecided: not by earlier rules, nor where the profile names a line of its own."""
    return settings.get("rules") == BARE_ANSWERS and number_setting(settings, "pass_threshold") is None


def _find_doubt(score: Score, is_bare: bool) -> UndecidedReason | None:
    """Return why a score decides nothing. An answer of another kind than was asked for fails, whatever its likeness."""
    extra = score.extra
    if extra["brief"]:
        return None if is_bare or score.value >= BRIEF_PASSES_FROM else "short_answer"
    is_of_another_kind = extra["asks_for"] is not None and not extra["has_what_is_asked_for"]
    if score.value < FAILS_BELOW or score.value >= PASSES_FROM or (is_of_another_kind and not score.passed):
        return None
    return "low_support"


def _explain(best: Nearness, kind: AnswerKind | None, is_there: bool, value: float, threshold: float) -> str:
    missing = "" if is_there else f"; the question asks for {f'a {kind}' if kind else 'more'}, and none is seen"
    return (
        f"The relevance is {compare_with_threshold(value, threshold)}: similarity {best.cosine:.2f}, "
        f"{best.coverage:.0%} of the question's words{missing}."
    )
