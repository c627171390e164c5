"""What each evaluator and metric is, for choosing one: formula, what kind of output it judges, and a judge's calls."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.base import EvaluatorSpec, Family, Field, Settings, effective_settings

DOCUMENTS, EXTRACTIVE, GENERATED = "documents", "extractive_answer", "generated_answer"
OUTPUT_TYPES = (DOCUMENTS, EXTRACTIVE, GENERATED)
ANSWERS = (EXTRACTIVE, GENERATED)
ALL_PARTS, RETRIEVER, GENERATOR = ("retriever", "augmentation", "generator"), ("retriever",), ("generator",)
# Calls of a judge: n retrieved contexts, k in the longer list, m statements or main points of the answer.
NO_CALLS, ONE_CALL, SAMPLED = "0", "1", "n_samples"


@dataclass(frozen=True, slots=True)
class Facts:
    """One thing that can be measured.

    `output_types` are the kinds of output that it says something about; `components` the parts of an application.
    `judge_calls` is a number, or a sum of n (retrieved contexts), k (texts of the longer list), m (statements of the
    answer) and n_samples (a setting, 1 unless said).
    """

    formula: str
    output_types: tuple[str, ...]
    components: tuple[str, ...]
    judge_calls: str = NO_CALLS


_METRICS: dict[str, Facts] = {
    "bleu": Facts(
        "geometric mean of 1- to 4-gram precisions times brevity penalty (sacrebleu)", (GENERATED,), ALL_PARTS
    ),
    "chrf": Facts("F2 of character n-grams, n = 1 to 6 (sacrebleu)", (GENERATED,), ALL_PARTS),
    "rouge1": Facts("F1 of common words", (GENERATED,), ALL_PARTS),
    "rouge2": Facts("F1 of common pairs of words", (GENERATED,), ALL_PARTS),
    "rougeL": Facts("F1 of the longest common subsequence of words", (GENERATED,), ALL_PARTS),
    "levenshtein": Facts("1 - edits / length of the longer text", (GENERATED,), ALL_PARTS),
    "sas": Facts("max(0, cosine of the sentence vectors)", ANSWERS, ALL_PARTS),
    "squad_em": Facts("1 where output and gold answer are equal under SQuAD's normalisation", ANSWERS, ALL_PARTS),
    "squad_f1": Facts("F1 of common words under SQuAD's normalisation", ANSWERS, ALL_PARTS),
    "recall_single_hit": Facts("1 where a relevant document is retrieved", (DOCUMENTS,), RETRIEVER),
    "recall_multi_hit": Facts("relevant and retrieved / relevant", (DOCUMENTS,), RETRIEVER),
    "precision_at_k": Facts("relevant among the first k / k", (DOCUMENTS,), RETRIEVER),
    "mrr": Facts("1 / rank of the first relevant document", (DOCUMENTS,), RETRIEVER),
    "map": Facts("mean over relevant documents of the precision at their ranks", (DOCUMENTS,), RETRIEVER),
    "ndcg": Facts("Σ grade / log2(rank + 1), over that of the best order", (DOCUMENTS,), RETRIEVER),
}
_EVALUATORS: dict[str, Facts] = {
    "exact-match": Facts("1 where output and gold answer are the same characters", ANSWERS, ALL_PARTS),
    "exact-match-normalised": Facts("1 where both are equal when normalised", ANSWERS, ALL_PARTS),
    "exact-match-numeric": Facts("1 where their last numbers are equal", ANSWERS, ALL_PARTS),
    "exact-match-contains": Facts("1 where the output holds the gold answer", ANSWERS, ALL_PARTS),
    "metrics": Facts("the metric that the profile names", OUTPUT_TYPES, ALL_PARTS),
    "pii": Facts("1 where no personal data is found", ANSWERS, GENERATOR),
    "pii-broad": Facts("1 where no personal data, name or address is found", ANSWERS, GENERATOR),
    "pii-judge": Facts("1 where nothing that the judge copies out stands in the output", ANSWERS, GENERATOR, ONE_CALL),
    "toxicity": Facts("1 - chance that the worst passage is toxic", ANSWERS, GENERATOR),
    "toxicity-moderation": Facts("1 - highest score of a category", ANSWERS, GENERATOR, ONE_CALL),
    "phi": Facts("1 - chance that the worst passage is health information", ANSWERS, GENERATOR),
    "judge": Facts("the judge's verdict by the profile's criteria", (GENERATED,), ALL_PARTS, SAMPLED),
    "rag-overall": Facts("mean of the metrics that the sample has inputs for", (GENERATED,), ALL_PARTS, "2 + 2n + m"),
    "answer-similarity": Facts("0 to 5 by the judge, divided by 5", ANSWERS, ALL_PARTS, ONE_CALL),
    "retrieval-precision": Facts("relevant contexts / retrieved contexts", (DOCUMENTS,), RETRIEVER, "n"),
    "augmentation-precision": Facts(
        "relevant contexts in the answer / relevant contexts", (GENERATED,), ("augmentation", "generator"), "2n"
    ),
    "augmentation-accuracy": Facts(
        "contexts in the answer / retrieved contexts", (GENERATED,), ("augmentation", "generator"), "n"
    ),
    "answer-consistency": Facts(
        "main points derivable from the contexts / main points", (GENERATED,), ("augmentation", "generator"), "1 + m"
    ),
    "answer-consistency-binary": Facts(
        "1 where everything in the answer is derivable", (GENERATED,), ("augmentation", "generator"), ONE_CALL
    ),
    "retrieval-k-recall": Facts("relevant and retrieved / relevant in the longer list", (DOCUMENTS,), RETRIEVER, "k"),
    "faithfulness": Facts("supported statements / statements", (GENERATED,), GENERATOR, ONE_CALL),
    "haystack-context-relevance": Facts(
        "1 where anything in the contexts is needed", (DOCUMENTS,), RETRIEVER, ONE_CALL
    ),
    "webhook": Facts("what your server answers", OUTPUT_TYPES, ALL_PARTS),
    "custom": Facts("what the check measures", OUTPUT_TYPES, ALL_PARTS),
    "retrieval-hallucination": Facts("chance that the worst claim is supported", (GENERATED,), GENERATOR),
    "retrieval-hallucination-judge": Facts("supported claims, the worst deciding", (GENERATED,), GENERATOR, SAMPLED),
    "retrieval-answer-relevance": Facts("how well the output answers the question", (GENERATED,), GENERATOR),
    "retrieval-answer-relevance-judge": Facts("the judge's rating, 0 to 1", (GENERATED,), GENERATOR, SAMPLED),
    "retrieval-context-relevance": Facts("how near the best passage is to the question", (DOCUMENTS,), RETRIEVER),
    "retrieval-context-relevance-judge": Facts("the best context's rating, 0 to 1", (DOCUMENTS,), RETRIEVER, "n"),
    "retrieval-context-sufficiency": Facts("chance that the contexts hold the answer", (DOCUMENTS,), RETRIEVER),
    "retrieval-context-sufficiency-judge": Facts("the judge's rating, 0 to 1", (DOCUMENTS,), RETRIEVER, SAMPLED),
}


def facts_of(family: Family, spec: EvaluatorSpec, settings: Settings | None = None) -> Facts:
    """Return what is known of an evaluator, or of the metric that these settings of a profile choose.

    Of a package's own evaluator, what its inputs tell: it judges documents where it reads contexts and no output.
    """
    chosen = effective_settings(spec, settings or {})
    if family.name == "metrics" and isinstance(name := chosen.get("metric"), str) and name in _METRICS:
        return _METRICS[name]
    known = _EVALUATORS.get(_undated(spec.id))
    if known is None or (family.name in ("custom", "judge", "webhook") and settings):
        return _by_inputs(family, spec, chosen, known)
    return known


def metrics_of(family: Family) -> dict[str, Facts]:
    """Return the metrics that profiles of a family choose from, by name; most families are one metric."""
    return dict(_METRICS) if family.name == "metrics" else {}


def metric_inputs(family: Family, metric: str) -> tuple[Field, ...]:
    """Name the inputs of one metric of a family."""
    return family.fields_for({"metric": metric})


def _undated(id: str) -> str:
    return id.rsplit("-", 3)[0]


def _by_inputs(family: Family, spec: EvaluatorSpec, settings: Settings, known: Facts | None) -> Facts:
    fields = family.fields_for(settings)
    types: tuple[str, ...] = OUTPUT_TYPES
    if Field.OUTPUT in fields:
        types = ANSWERS
    elif Field.CONTEXT in fields:
        types = (DOCUMENTS,)
    components = spec.components or (known.components if known else ())
    return Facts(
        known.formula if known else spec.description, types, components, known.judge_calls if known else NO_CALLS
    )
