"""RAG metrics: how well an application retrieves, uses what it retrieved, and answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.gateway import JudgeGateway
from evaluators.judging.client import Asker, owing
from evaluators.judging.injection import injection_signs
from evaluators.judging.samples import failed_for_injection, injection_extra
from evaluators.judging.settings import (
    STRICT,
    fails_injection,
    find_before_strict,
    get_threshold,
    several_questions_settings,
)
from evaluators.rag.measures import Rag, RagValue, overall
from evaluators.settings import TURN, object_schema, unit_setting
from evaluators.values import ALL_PARTS, ANSWERS, DOCUMENTS, GENERATED, GENERATOR, ONE_CALL, RETRIEVER, Facts

_QUESTION = (Field.INPUT, Field.CONTEXT)
_ANSWER = (Field.OUTPUT, Field.CONTEXT)
_BOTH = (Field.INPUT, Field.OUTPUT, Field.CONTEXT)
FIELDS: dict[str, tuple[Field, ...]] = {
    "answer_similarity": (Field.INPUT, Field.OUTPUT, Field.GOLD),
    "retrieval_precision": _QUESTION,
    "augmentation_precision": _BOTH,
    "augmentation_accuracy": _ANSWER,
    "answer_consistency": _ANSWER,
    "answer_consistency_binary": _ANSWER,
    "retrieval_k_recall": (*_QUESTION, Field.TOP_K_CONTEXT),
    "faithfulness": _BOTH,
    "context_relevance": _QUESTION,
}
DEFAULT_SET = (
    "answer_similarity",
    "retrieval_precision",
    "augmentation_precision",
    "augmentation_accuracy",
    "answer_consistency",
)
_OVERALL = "overall"
_SIMILARITY = "answer_similarity"
_SIMILARITY_SINCE, _STRICT_SINCE = "2026-11-20", "2026-11-23"
"""Answer similarity lists and quotes nothing, so there is nothing to be stricter about."""
_AUGMENTED = ("augmentation", "generator")


def _spec(name: str, metric: str, title: str, description: str, facts: Facts) -> EvaluatorSpec:
    return EvaluatorSpec(
        id=f"{name}-{_SIMILARITY_SINCE if metric == _SIMILARITY else _STRICT_SINCE}",
        name=title,
        description=description,
        aliases=(name,),
        default_profile="rag-metrics",
        settings={"metric": metric, **({} if metric == _SIMILARITY else STRICT)},
        formula=facts.formula,
        output_types=facts.output_types,
        components=facts.components,
        judge_calls=facts.judge_calls,
    )


def _get_predecessor(id: str) -> str:
    return id.replace(_STRICT_SINCE, "2026-11-20")


_SPECS = (
    _spec(
        "rag-overall",
        _OVERALL,
        "RAG, overall",
        "The mean of the metrics that the sample has inputs for.",
        Facts("mean of the metrics that the sample has inputs for", (GENERATED,), ALL_PARTS, "2 + 2n + m"),
    ),
    _spec(
        "answer-similarity",
        "answer_similarity",
        "Answer similarity",
        "How near the answer comes to the gold answer in meaning, 0 to 5, divided by 5.",
        Facts("0 to 5 by the judge, divided by 5", ANSWERS, ALL_PARTS, ONE_CALL),
    ),
    _spec(
        "retrieval-precision",
        "retrieval_precision",
        "Retrieval precision",
        "The share of the retrieved contexts that are relevant to the question.",
        Facts("relevant contexts / retrieved contexts", (DOCUMENTS,), RETRIEVER, "n"),
    ),
    _spec(
        "augmentation-precision",
        "augmentation_precision",
        "Augmentation precision",
        "The share of the relevant contexts that the answer uses.",
        Facts("relevant contexts in the answer / relevant contexts", (GENERATED,), _AUGMENTED, "2n"),
    ),
    _spec(
        "augmentation-accuracy",
        "augmentation_accuracy",
        "Augmentation accuracy",
        "The share of the retrieved contexts that the answer uses.",
        Facts("contexts in the answer / retrieved contexts", (GENERATED,), _AUGMENTED, "n"),
    ),
    _spec(
        "answer-consistency",
        "answer_consistency",
        "Answer consistency",
        "The share of the answer's main points that can be derived from the contexts.",
        Facts("main points derivable from the contexts / main points", (GENERATED,), _AUGMENTED, "1 + m"),
    ),
    _spec(
        "answer-consistency-binary",
        "answer_consistency_binary",
        "Answer consistency, binary",
        "Whether all of the answer can be derived from the contexts.",
        Facts("1 where everything in the answer is derivable", (GENERATED,), _AUGMENTED, ONE_CALL),
    ),
    _spec(
        "retrieval-k-recall",
        "retrieval_k_recall",
        "Retrieval k-recall",
        "The share of the relevant texts of the longer list that were retrieved.",
        Facts("relevant and retrieved / relevant in the longer list", (DOCUMENTS,), RETRIEVER, "k"),
    ),
    _spec(
        "faithfulness",
        "faithfulness",
        "Faithfulness",
        "The share of the answer's statements that the contexts support, as Haystack defines it.",
        Facts("supported statements / statements", (GENERATED,), GENERATOR, ONE_CALL),
    ),
    _spec(
        "haystack-context-relevance",
        "context_relevance",
        "Context relevance, Haystack",
        "Whether the contexts hold anything that the question needs, as Haystack defines it.",
        Facts("1 where anything in the contexts is needed", (DOCUMENTS,), RETRIEVER, ONE_CALL),
    ),
)


class RagMetrics(Family):
    """Compute the metrics of Tonic Validate, and Haystack's faithfulness and context relevance, with an LLM.

    Each verdict is a separate yes/no question about one context or one statement; the arithmetic is ours. A metric that
    is undefined for a sample is `not_applicable`, and never 0.
    """

    name = "rag-metrics"
    description = "Measures retrieval, the use of what was retrieved, and the answer; asks an LLM of yours."
    question = "Which part of a RAG application fails?"
    lane = Lane.JUDGE
    binary = False
    required_fields = ()
    optional_fields = (Field.INPUT, Field.OUTPUT, Field.CONTEXT, Field.GOLD, Field.TOP_K_CONTEXT)
    accepts_own_profiles = True
    cards = card_texts.RAG_METRICS
    settings_schema = object_schema(
        {
            **several_questions_settings(),
            "metrics": {
                "type": "array",
                "items": {"type": "string", "enum": list(FIELDS)},
                "minItems": 1,
                "uniqueItems": True,
                "description": "What the overall score is the mean of; without it, Tonic's default set as far as the "
                "sample has the inputs.",
            },
            "unit": unit_setting(TURN),
        }
    )
    managed_profiles = (ManagedProfile("rag-metrics", "Passes from 0.5.", {"pass_threshold": 0.5}),)
    evaluators = (
        *_SPECS,
        *(find_before_strict(spec, _get_predecessor(spec.id)) for spec in _SPECS if spec.settings.get("rules")),
    )

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name what the metric needs; the overall score of the default set makes do with what is there."""
        metric = _metric(settings)
        if metric != _OVERALL:
            return FIELDS[metric]
        if not (metrics := _choose_metrics(settings)):
            return (Field.INPUT, Field.OUTPUT)
        return tuple(dict.fromkeys(field for name in metrics for field in FIELDS[name]))

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Raise an error: scoring requires an LLM."""
        raise CannotScore("not_configured", "RAG metrics need an LLM to ask.")

    async def score_with(
        self, sample: Sample, settings: Settings, gateway: JudgeGateway, *, explain: bool = True
    ) -> Score:
        """Compute the metric; raises CannotScore("not_applicable") if it is undefined for the sample."""
        signs = injection_signs(_scanned(sample, self.fields_for(settings)))
        if signs and fails_injection(settings):
            return failed_for_injection(signs, explain=explain)
        asker = Asker(gateway, settings)
        with owing(asker.answers):
            results = await _measure(sample, settings, asker)
        return Score(
            value=results.value,
            passed=results.value >= get_threshold(settings),
            explanation=results.because if explain else None,
            extra={
                "metric": _metric(settings),
                **results.extra,
                **injection_extra(signs),
                "judge": asker.usage(),
            },
        )


def _metric(settings: Settings) -> str:
    return str(settings.get("metric", _OVERALL))


def _choose_metrics(settings: Settings) -> list[str]:
    names = settings.get("metrics")
    return [str(name) for name in names] if isinstance(names, list) else []


def _scanned(sample: Sample, needed: tuple[Field, ...]) -> tuple[str, ...]:
    """Return the texts on trial: the output, or for metrics of retrieval the contexts."""
    if Field.OUTPUT in needed:
        return (sample.output or "",)
    return (*sample.context_texts, *sample.top_k_texts)


async def _measure(sample: Sample, settings: Settings, asker: Asker) -> RagValue:
    rag = Rag(sample, settings, asker)
    metric = _metric(settings)
    if metric != _OVERALL:
        return await _MEASURES[metric](rag)
    names = _choose_metrics(settings) or [name for name in DEFAULT_SET if all(map(sample.has, FIELDS[name]))]
    if not names:
        raise CannotScore("missing_input", "Send a gold answer, retrieved contexts or both.")
    return await overall({name: partial(_MEASURES[name], rag) for name in names})


_MEASURES: dict[str, Callable[[Rag], Awaitable[RagValue]]] = {
    "answer_similarity": Rag.answer_similarity,
    "retrieval_precision": Rag.retrieval_precision,
    "augmentation_precision": Rag.augmentation_precision,
    "augmentation_accuracy": Rag.augmentation_accuracy,
    "answer_consistency": Rag.answer_consistency,
    "answer_consistency_binary": Rag.answer_consistency_binary,
    "retrieval_k_recall": Rag.retrieval_k_recall,
    "faithfulness": Rag.faithfulness,
    "context_relevance": Rag.context_relevance,
}
