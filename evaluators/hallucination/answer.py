"""The score of the second version: a verdict by words and figures, as a Score."""

from __future__ import annotations

import re
from dataclasses import replace

from evaluators.base import CannotScore, JSONValue, Sample, Score, Span, UndecidedReason
from evaluators.grounding.answers import is_bare_verdict
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.nearness import measure_question_distance
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words
from evaluators.hallucination.explanations import explain as explained
from evaluators.hallucination.explanations import parts
from evaluators.hallucination.frames import Idle
from evaluators.hallucination.scorer import THRESHOLD, Verdict, judge
from evaluators.hallucination.short_answers import is_any_of_several
from evaluators.text.detect import detect_language

UNDECIDED_FROM, UNDECIDED_BELOW = 0.3, 0.75
"""Support that tells nothing where no claim has a problem. Without it, accuracy rises from 0.77 to 0.87 on WiCE and
from 0.86 to 0.90 on BEGIN (development sets), at 62 % and 71 % decided."""
NEAR_WEIGHT = 0.05
"""How much nearness to the question counts for short answers that pass; it never takes their pass."""
MAX_SPANS = 200
MOST_OF_A_SHORT_ANSWER = 200
"""Characters of an answer with few words."""
MOST_OF_TWO_WORDS = 100
MOST_TOLD = 2_000
"""Characters by which the explanation tells a language."""
_FILLING = re.compile(r"\A\W+")
_NOTHING_CLAIMED = "The output claims nothing that the contexts would have to support"
_KINDS = {
    Idle.REFUSAL: "it declines to answer",
    Idle.ABSTENTION: "it declines to answer",
    Idle.QUESTION: "it asks back",
    Idle.OPINION: "it is a personal remark",
    Idle.FRAME: "it is courtesy or framing",
}


def score_words(sample: Sample, threshold: float, *, explain: bool, reads_abstentions: bool) -> Score:
    """Score an output by the words of its contexts.

    Raises CannotScore("not_applicable") for a plain yes or no, which the words of the contexts cannot verify.
    """
    output, question = sample.output or "", sample.input or ""
    verdict, evidence = judge(output, question, sample.context_texts, reads_abstentions=reads_abstentions)
    _require_more_than_a_verdict(output, verdict)
    if not verdict.claims:
        nothing = _plain(verdict.value, threshold, _why_nothing(verdict) if explain else None)
        if not reads_abstentions:
            return nothing
        abstained = _abstained(verdict)
        why: UndecidedReason | None = None if abstained["abstained"] else "no_sentence_decided"
        return replace(nothing, extra={**nothing.extra, **abstained}, undecided=why)
    if not evidence.words:
        because = "The output makes claims, and no context has a word that could support them."
        return _plain(0.0, threshold, because if explain else None)
    # A longer output is not a short answer, and need not be split into words again.
    is_brief = bool(question) and len(output) <= MOST_OF_A_SHORT_ANSWER
    near = measure_question_distance(output, question, sample.context_texts, evidence) if is_brief else None
    value = _adjust_rank(verdict.value, near)
    return Score(
        value=value,
        passed=value >= threshold,
        explanation=explained(verdict, threshold, detect_language(output[:MOST_TOLD])) if explain else None,
        spans=_weak(verdict, value, threshold) or None,
        extra={**parts(verdict, near), **({"abstained": False} if reads_abstentions else {})},
        undecided=_find_doubt(sample, verdict, evidence, value, threshold) if reads_abstentions else None,
    )


def _find_doubt(
    sample: Sample, verdict: Verdict, evidence: Evidence, value: float, threshold: float
) -> UndecidedReason | None:
    """Return why the verdict would be a guess, where no claim has a problem that decides.

    `low_support` is where the support alone would decide and tells nothing; a profile with a threshold of its own, such
    as one fitted to labels, decides by it everywhere.
    """
    if any(claim.checked.problems for claim in verdict.claims):
        return None
    if not verdict.is_readable:
        return "language"
    output, question = sample.output or "", sample.input or ""
    is_short = value >= threshold and question != "" and len(output) <= MOST_OF_TWO_WORDS
    if is_short and is_any_of_several(output, question, sample.context_texts, evidence):
        return "short_answer"
    # That the sources tell no more says nothing of what they tell.
    is_ranked = any(verdict.said.has(kind) for kind in (Idle.QUESTION, Idle.OPINION))
    support = max(value, verdict.support) if verdict.said.has(Idle.ABSTENTION) and not is_ranked else value
    is_within = threshold == THRESHOLD and UNDECIDED_FROM <= support < UNDECIDED_BELOW
    return "low_support" if is_within else None


def _require_more_than_a_verdict(output: str, verdict: Verdict) -> None:
    # "No lo sé" begins with a "no", and declines.
    declines = [why for _, why in verdict.said.idle[:1]] == [Idle.REFUSAL] or verdict.said.has(Idle.ABSTENTION)
    if declines or not is_bare_verdict(_FILLING.sub("", output, count=1)[:MOST_OF_TWO_WORDS]):
        return
    is_small = all(word in FUNCTION_WORDS or word in INTERJECTIONS for word in split_words(output))
    if is_small or not verdict.claims:
        raise CannotScore(
            "not_applicable",
            "The output says no more than yes or no. Comparing words with contexts cannot tell whether it is right; "
            "ask a judge (`hallucination-judge`).",
        )


def _abstained(verdict: Verdict) -> dict[str, JSONValue]:
    return {"abstained": verdict.said.has(Idle.ABSTENTION) or verdict.said.has(Idle.REFUSAL)}


def _why_nothing(verdict: Verdict) -> str:
    kinds = list(dict.fromkeys(_KINDS[kind] for kind in Idle if verdict.said.has(kind)))
    return f"{_NOTHING_CLAIMED}: {', and '.join(kinds)}." if kinds else f"{_NOTHING_CLAIMED}."


def _plain(value: float, threshold: float, explanation: str | None) -> Score:
    return Score(value, value >= threshold, explanation, extra={"n_sentences": 0})


def _adjust_rank(value: float, near: float | None) -> float:
    lowered = value * (1 - NEAR_WEIGHT * (1 - near)) if near is not None else value
    return max(lowered, min(value, THRESHOLD))


def _weak(verdict: Verdict, value: float, threshold: float) -> tuple[Span, ...]:
    """Return the sentences that made the output fail; where none is bad by itself, the worst one."""
    weak = [claim.span for claim in verdict.claims if claim.fails or claim.value < threshold]
    return tuple(weak[:MAX_SPANS]) if value < threshold or weak else ()
