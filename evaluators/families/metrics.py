"""Metrics: how near the output comes to the gold answer, and the retrieved texts to those that were wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from evaluators.base import (
    AnswerText,
    EvaluatorSpec,
    Family,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    SettingsProblem,
)
from evaluators.cards.texts import plain as card_texts
from evaluators.retrieval.measured import RETRIEVAL_METRICS, retrieval
from evaluators.score_map import SCORE_MAP
from evaluators.settings import LAST, THRESHOLD, TURN, get_unit, number_setting, object_schema, unit_setting
from evaluators.text.metrics.bleu import sentence_bleu
from evaluators.text.metrics.measured import TEXT_METRICS, MeasuredText, too_long
from evaluators.text.metrics.scope import ANY, SCOPES, in_scope
from evaluators.values import ALL_PARTS, ANSWERS, DOCUMENTS, GENERATED, OUTPUT_TYPES, RETRIEVER, Facts

SAS = "sas"
SCOPED = ("squad_em", "squad_f1")
IDS_IN_TEXTS = "ids-in-texts"
"""The rules since 2026-11-28: of ranking metrics, a text may name a document by its id."""
MAX_CHARS = 1_000_000
"""Output and gold answer together. The API refuses requests well below this."""
FACTS: dict[str, Facts] = {
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
NO_VERDICT = "No threshold: neither pass nor fail."
CUT_OFFS = (1, 3, 5, 10)
RANKING_NAMES = {
    "recall_multi_hit": ("recall", "Recall: the share of the relevant passages that were retrieved"),
    "recall_single_hit": ("recall-single-hit", "Whether any relevant passage was retrieved"),
    "precision_at_k": ("precision", "Precision: the share of the ranks that hold a relevant passage"),
    "mrr": ("mrr", "Reciprocal rank of the first relevant passage"),
    "map": ("map", "Average precision"),
    "ndcg": ("ndcg", "NDCG, with grades where there are any"),
}


def _ranking_profiles() -> Iterator[ManagedProfile]:
    """Yield a profile for each ranking metric at each cut-off, and one without; precision has none without."""
    for metric, (name, description) in RANKING_NAMES.items():
        if metric != "precision_at_k":
            yield _ranking_profile(name, f"{description}, all ranks", metric)
        for k in CUT_OFFS:
            yield _ranking_profile(f"{name}-at-{k}", f"{description}, at {k}", metric, k)


def _ranking_profile(name: str, description: str, metric: str, k: int | None = None) -> ManagedProfile:
    settings: dict[str, JSONValue] = {"metric": metric} if k is None else {"metric": metric, "k": k}
    is_binary = metric == "recall_single_hit" or (k == 1 and metric in ("precision_at_k", "mrr"))
    return (
        _binary_profile(name, description, settings)
        if is_binary
        else ManagedProfile(name, f"{description}. {NO_VERDICT}", settings)
    )


def _binary_profile(name: str, description: str, settings: Settings) -> ManagedProfile:
    """Return a profile of a score that can only be 0 or 1: 1 passes. Its first revision had no threshold."""
    text = f"{description}. Passes with a score of 1."
    return ManagedProfile(name, text, {**settings, "pass_threshold": 1.0}, earlier=(settings,))


_METRICS = EvaluatorSpec(
    id="metrics-2026-11-28",
    name="Text metrics",
    description="The metric that the profile names; 1 is full agreement with the gold answer.",
    aliases=("metrics",),
    settings={"rules": IDS_IN_TEXTS},
    formula="the metric that the profile names",
    output_types=OUTPUT_TYPES,
    components=ALL_PARTS,
)


class Metrics(Family):
    """Compute a text metric between output and gold answer, or a ranking metric over retrieved texts.

    Managed profiles with a score of 0 or 1 pass with 1. The others have no threshold, since none suits every task, and
    their verdict is null; a profile of your own sets `pass_threshold`.
    """

    name = "metrics"
    description = (
        "Measures output against gold answer (BLEU, chrF, ROUGE, SQuAD, edits, meaning), or retrieval by rank."
    )
    question = "Is it the expected answer?"
    lane = Lane.INLINE
    binary = False
    reads_texts = False
    metrics = FACTS
    required_fields = ()
    optional_fields = (Field.OUTPUT, Field.GOLD, Field.CONTEXT, Field.GOLD_CONTEXT)
    accepts_own_profiles = True
    cards = card_texts.METRICS
    settings_schema = object_schema(
        {
            "metric": {
                "type": "string",
                "enum": [*TEXT_METRICS, *RETRIEVAL_METRICS],
                "description": "What to compute. The ROUGE metrics score their F-measure.",
            },
            "k": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10_000,
                "description": "How many ranks a retrieval metric reads: all, but precision_at_k needs a number.",
            },
            "answer_scope": {
                "type": "string",
                "enum": [*SCOPES],
                "default": ANY,
                "description": "Of squad_em and squad_f1: where the answer must stand to count.",
            },
            "pass_threshold": {
                **THRESHOLD,
                "description": "The lowest score that passes; without it, no score passes or fails.",
            },
            "score_map": SCORE_MAP,
            "unit": unit_setting(TURN),
        },
        required=["metric"],
    )
    managed_profiles = (
        ManagedProfile("compute-bleu", f"Sentence BLEU, rounded to two decimals. {NO_VERDICT}", {"metric": "bleu"}),
        ManagedProfile("compute-rouge", f"ROUGE-L F-measure. {NO_VERDICT}", {"metric": "rougeL"}),
        ManagedProfile("compute-chrf", f"Sentence chrF. {NO_VERDICT}", {"metric": "chrf"}),
        ManagedProfile("compute-levenshtein", f"Levenshtein ratio. {NO_VERDICT}", {"metric": "levenshtein"}),
        ManagedProfile("compute-sas", f"Semantic similarity by a small model. {NO_VERDICT}", {"metric": SAS}),
        _binary_profile("compute-squad-em", "SQuAD exact match", {"metric": "squad_em"}),
        ManagedProfile("compute-squad-f1", f"SQuAD token F1. {NO_VERDICT}", {"metric": "squad_f1"}),
        *_ranking_profiles(),
    )
    evaluators = (
        _METRICS,
        _METRICS.former(
            id="metrics-2026-11-01",
            name="Text metrics, earlier",
            description="The same, but ranking metrics match a text with texts alone, never with a document's id.",
        ),
    )

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        """Check that `k`, `answer_scope` and `unit` are there where they mean something."""
        problems, metric = [], settings.get("metric")
        if metric == "precision_at_k" and "k" not in settings:
            problems.append(SettingsProblem("/k", "is required for precision_at_k"))
        elif metric in TEXT_METRICS and "k" in settings:
            problems.append(SettingsProblem("/k", "is for retrieval metrics"))
        if metric not in SCOPED and "answer_scope" in settings:
            problems.append(SettingsProblem("/answer_scope", f"is for {' and '.join(SCOPED)}"))
        if metric in RETRIEVAL_METRICS and get_unit(settings) != LAST:
            problems.append(SettingsProblem("/unit", "is for metrics of answers"))
        return problems

    def lane_of(self, settings: Settings) -> Lane:
        """Use a worker for what needs the sentence model."""
        return Lane.CPU if settings.get("metric") == SAS else Lane.INLINE

    def fields_for(self, settings: Settings) -> tuple[Field, ...]:
        """Name the two inputs that the metric compares."""
        if settings.get("metric") in RETRIEVAL_METRICS:
            return (Field.CONTEXT, Field.GOLD_CONTEXT)
        return (Field.OUTPUT, Field.GOLD)

    def reads(self, settings: Settings) -> tuple[Field, ...]:
        """Name the same two: a metric of ranks reads no answer, and one of answers no contexts."""
        return self.fields_for(settings)

    def has_verdict(self, settings: Settings) -> bool:
        """Return whether the profile sets `pass_threshold`."""
        return "pass_threshold" in settings

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Compute the profile's metric. Raises CannotScore("input_too_long") where the work would have no bound."""
        metric = str(settings["metric"])
        result = _measure(metric, sample, settings)
        threshold = number_setting(settings, "pass_threshold")
        return Score(
            value=result.value,
            passed=None if threshold is None else result.value >= threshold,
            explanation=_explain(result, threshold) if explain else None,
            extra={"metric": metric, **result.extra},
        )

    def warm_up(self) -> None:
        """Import sacrebleu."""
        sentence_bleu("warm", ["up"])


OTHER_NAMES = {
    "rouge-l": "compute-rouge",
    "rougel": "compute-rouge",
    "semantic-answer-similarity": "compute-sas",
    "recall-multi-hit": "recall",
}


@cache
def metric_names() -> Mapping[str, str]:
    """Return the names by which a metric is known without its evaluator, with the managed profiles that they mean."""
    profiles = [profile.name for profile in Metrics.managed_profiles]
    short_names = {name.removeprefix("compute-").removeprefix("squad-"): name for name in profiles}
    squad_names = {name.removeprefix("compute-"): name for name in profiles}
    return {**OTHER_NAMES, **squad_names, **short_names}


def find_metric_profile(name: str) -> str | None:
    """Return the managed profile that a name of a metric means, such as `mrr`, `f1` or `ndcg@10`; None for others."""
    return metric_names().get(name.lower().replace("_", "-").replace("@", "-at-"))


def _measure(metric: str, sample: Sample, settings: Settings) -> MeasuredText:
    if metric in RETRIEVAL_METRICS:
        k = settings.get("k")
        reads_ids = settings.get("rules") == IDS_IN_TEXTS
        return retrieval(metric, sample, k if isinstance(k, int) else None, reads_ids=reads_ids)
    output, golds = sample.output or "", sample.gold_texts or ("",)
    if len(output) + sum(map(len, golds)) > MAX_CHARS:
        raise too_long(f"Output and gold answers are longer than {MAX_CHARS} characters together.")
    scope = str(settings.get("answer_scope", ANY))
    return TEXT_METRICS[metric](output, golds) if scope == ANY else _scoped(metric, sample, scope)


def _scoped(metric: str, sample: Sample, scope: str) -> MeasuredText:
    """Compare with the gold answers in the required scope; if there are none, the answer is wrong."""
    golds = sample.golds or ()
    indexes = in_scope(sample.answer or AnswerText(sample.output or ""), golds, scope)
    extra: dict[str, JSONValue] = {"answer_scope": scope, "n_in_scope": len(indexes)}
    if not indexes:
        return MeasuredText(0.0, f"No gold answer stands where the output's does ({scope})", extra)
    result = TEXT_METRICS[metric](sample.output or "", [golds[index].text for index in indexes])
    nearest = result.extra.get("gold_index", 0)
    index = indexes[nearest if isinstance(nearest, int) else 0]
    return replace(result, extra={**result.extra, **extra, **({"gold_index": index} if len(golds) > 1 else {})})


def _explain(measured: MeasuredText, threshold: float | None) -> str:
    if threshold is None:
        return f"{measured.because}."
    verdict = "reaches" if measured.value >= threshold else "is below"
    return f"{measured.because}, which {verdict} the threshold of {threshold:g}."
