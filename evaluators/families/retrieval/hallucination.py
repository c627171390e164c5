"""Hallucination: is the output supported by the retrieved contexts?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

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
    Span,
)
from evaluators.cards.texts import retrieval as card_texts
from evaluators.cascade import CASCADE
from evaluators.gateway import JudgeGateway
from evaluators.grounding.answers import claiming_sentences, is_bare_verdict, question_coverage
from evaluators.grounding.evidence import Evidence
from evaluators.grounding.nearness import measure_question_distance
from evaluators.grounding.support import SUPPORTED, SentenceSupport, Support, measure_support
from evaluators.hallucination.answer import score_words
from evaluators.judging.questions.claims import judge_claims
from evaluators.judging.questions.covered_claims import judge_covered_claims
from evaluators.judging.settings import (
    EXACTING,
    find_before_exacting,
    find_before_strict,
    get_threshold,
    is_strict,
    judge_settings,
)
from evaluators.score_map import SCORE_MAP
from evaluators.settings import TURN, UNDECIDED, object_schema, unit_setting
from evaluators.values import GENERATED, SAMPLED
from evaluators.veto import VETO

DEFAULT_THRESHOLD = SUPPORTED
MAX_LISTED = 50
MAX_SPANS = 200


WORST_SENTENCE, CLAIMS = "worst-sentence", "claims"
"""The first and the second version: their scores stay as they were."""


_BY_JUDGE = EvaluatorSpec(
    id="retrieval-hallucination-judge-2026-11-30",
    name="Hallucination, judge",
    description="An LLM of yours decides for every claim of every sentence whether a context supports it.",
    aliases=(
        "retrieval-hallucination-judge",
        "retrieval-hallucination-large",
        "hallucination-judge",
        "hallucination-large",
        "lynx-large",
    ),
    default_profile="detect-rag-hallucination",
    settings={"variant": "judge", **EXACTING},
    components=("generator",),
    formula="supported claims, the worst deciding",
    output_types=(GENERATED,),
    judge_calls=SAMPLED,
)

_SMALL = EvaluatorSpec(
    id="retrieval-hallucination-2026-11-28",
    name="Hallucination, small",
    description="Compares words and their order; a number, name or negation that no context has decides alone.",
    aliases=(
        "retrieval-hallucination",
        "hallucination",
        "hallucination-small",
        "lynx",
        "lynx-small",
        "retrieval-hallucination-lynx",
    ),
    default_profile="detect-rag-hallucination",
    components=("generator",),
    formula="chance that all claims are supported",
    output_types=(GENERATED,),
)


class Hallucination(Family):
    """Score how far the words, numbers and names of the contexts support the output, or query a judge.

    The word comparison does not use a model and ignores the settings of judges. The evaluator's `variant` selects the
    version of the word comparison; judges use the first version for samples that they cannot evaluate.
    """

    name = "retrieval-hallucination"
    description = "Measures how far every sentence of the output is supported by the retrieved contexts; 1 is fully."
    question = "Is it supported by the contexts?"
    lane = Lane.INLINE
    judge_variants = ("judge",)
    binary = False
    by_verdict = True
    required_fields = (Field.OUTPUT, Field.CONTEXT)
    optional_fields = (Field.INPUT,)
    accepts_own_profiles = True
    cards = card_texts.HALLUCINATION
    settings_schema = object_schema(
        {
            **judge_settings(DEFAULT_THRESHOLD),
            "undecided": UNDECIDED,
            "cascade": CASCADE,
            "veto": VETO,
            "score_map": SCORE_MAP,
            "unit": unit_setting(TURN),
        }
    )
    managed_profiles = (
        ManagedProfile(
            "detect-rag-hallucination",
            "Passes when the contexts support the worst sentence of the output.",
            {"pass_threshold": DEFAULT_THRESHOLD},
            aliases=("hallucination",),
        ),
    )
    evaluators = (
        _SMALL,
        _SMALL.former(
            id="retrieval-hallucination-2026-11-23",
            name="Hallucination, small, former",
            description="The same, but many abstentions and marks of sources count as claims.",
            settings={"variant": CLAIMS},
        ),
        _SMALL.former(
            id="retrieval-hallucination-2026-11-20",
            name="Hallucination, worst sentence",
            description="Compares words, word pairs, numbers, names and negations; quick, and blind to paraphrase.",
            settings={"variant": WORST_SENTENCE},
            formula="chance that the worst claim is supported",
        ),
        _BY_JUDGE,
        find_before_exacting(_BY_JUDGE, "retrieval-hallucination-judge-2026-11-23"),
        find_before_strict(_BY_JUDGE, "retrieval-hallucination-judge-2026-11-20"),
    )

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the inputs that the variant needs: the newest one needs no question, as summaries have none."""
        return self.required_fields if _is_newest(settings) else (Field.INPUT, *self.required_fields)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score by words, numbers and names. An output that claims nothing passes, and claims without context fail.

        Raises CannotScore("not_applicable") for a bare yes or no, which the first version scores by the question.
        """
        threshold = get_threshold(settings, DEFAULT_THRESHOLD)
        if _is_newest(settings):
            reads_abstentions = settings.get("variant") != CLAIMS
            return score_words(sample, threshold, explain=explain, reads_abstentions=reads_abstentions)
        return self._score_worst_sentence(sample, threshold, explain=explain)

    def _score_worst_sentence(self, sample: Sample, threshold: float, *, explain: bool) -> Score:
        """Score mostly the worst sentence. An output that claims nothing scores 1, and claims without context 0."""
        output, question = sample.output or "", sample.input or ""
        evidence = Evidence(sample.context_texts)
        support = measure_support(output, evidence, spans=claiming_sentences(output, question))
        if not support.sentences:
            value, because = _score_without_claims(output, question, evidence)
            return _plain(value, threshold, because if explain else None)
        if not evidence.words:
            because = "The output makes claims, and no context has a word that could support them."
            return _plain(0.0, threshold, because if explain else None)
        near = measure_question_distance(output, question, sample.context_texts, evidence)
        return _build_score(replace(support, near_question=near), threshold, explain=explain)

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Query a judge about every claim; without an output or a context, compare words instead."""
        if not (sample.output or "").strip() or not any(map(str.strip, sample.context_texts)):
            return self.score(sample, settings, explain=explain)
        threshold = get_threshold(settings, DEFAULT_THRESHOLD)
        ask = judge_covered_claims if is_strict(settings) else judge_claims
        return await ask(sample, settings, gateway, threshold=threshold, explain=explain)


def _is_newest(settings: Settings) -> bool:
    return settings.get("variant") not in (WORST_SENTENCE, *Hallucination.judge_variants)


def _score_without_claims(output: str, question: str, evidence: Evidence) -> tuple[float, str]:
    covered = question_coverage(question, evidence) if is_bare_verdict(output) else None
    if covered is None:
        return 1.0, "The output claims nothing that the contexts would have to support."
    because = f"A bare yes or no is scored by the question: the contexts have {covered:.0%} of its content words."
    return (1 + covered) / 2, because


def _plain(value: float, threshold: float, explanation: str | None) -> Score:
    return Score(value, value >= threshold, explanation, extra={"n_sentences": 0})


def _build_score(found: Support, threshold: float, *, explain: bool) -> Score:
    passed = found.value >= threshold
    weak = tuple(sentence.span for sentence in found.sentences if sentence.value < threshold)
    return Score(
        value=found.value,
        passed=passed,
        explanation=_explain(found, threshold) if explain else None,
        spans=weak[:MAX_SPANS] or None,
        extra=_extra(found, found.worst),
    )


def _explain(found: Support, threshold: float) -> str:
    worst, n_sentences = found.worst, len(found.sentences)
    verdict = "at or above" if found.value >= threshold else "below"
    where = (
        f"the worst of {n_sentences} sentences (characters {worst.span[0]} to {worst.span[1]}) has {worst.value:.2f}"
        if n_sentences > 1
        else "it has one sentence"
    )
    reasons = ", ".join(_reasons(worst))
    if found.near_question is not None:
        reasons += f", and {found.near_question:.2f} is how near this short answer stands to the question's words"
    return f"The support is {found.value:.2f}, {verdict} the threshold of {threshold:g}: {where}, {reasons}."


def _reasons(worst: SentenceSupport) -> Iterator[str]:
    words, pairs = worst.parts.words, worst.parts.pairs
    yield f"of whose words {words:.0%} and of whose word pairs {pairs:.0%} stand in the contexts"
    if worst.numbers:
        yield f"with {len(worst.numbers)} numbers that do not"
    if worst.names:
        yield f"with {len(worst.names)} names that do not"
    if worst.is_negation_off:
        yield "and it denies what they affirm, or the other way round"


def _extra(found: Support, worst: SentenceSupport) -> dict[str, JSONValue]:
    sentences = sorted(found.sentences, key=lambda each: (each.value, each.span))[:MAX_LISTED]
    return {
        "n_sentences": len(found.sentences),
        "worst": worst.value,
        "mean": found.mean,
        "words": worst.parts.words,
        "pairs": worst.parts.pairs,
        "together": worst.parts.together,
        "near_question": found.near_question,
        "negation_differs": worst.is_negation_off,
        "unsupported_numbers": _offsets(where for sentence in found.sentences for where in sentence.numbers),
        "unsupported_names": _offsets(where for sentence in found.sentences for where in sentence.names),
        "sentences": [
            {"start": sentence.span[0], "end": sentence.span[1], "support": sentence.value} for sentence in sentences
        ],
    }


def _offsets(spans: Iterable[Span]) -> list[JSONValue]:
    return [[start, end] for start, end in islice(spans, MAX_LISTED)]
