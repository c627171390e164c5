"""How alike two texts are, by the measures that checks and graders share."""

from __future__ import annotations

from collections.abc import Callable

from evaluators.base import CannotScore
from evaluators.text.metrics.bleu import sentence_bleu
from evaluators.text.metrics.chrf import sentence_chrf
from evaluators.text.metrics.cosine import embedding_cosines
from evaluators.text.metrics.edits import fuzzy_ratio, levenshtein_ratio
from evaluators.text.metrics.gleu import sentence_gleu
from evaluators.text.metrics.overlap import rouge_l, rouge_n, squad_f1, wordless
from evaluators.text.tokens import UnicodeTokenizer

MAX_CHARS = 1_000_000
"""Both texts together."""


def measure_similarity(measure: str, output: str, gold: str) -> float:
    """Return the similarity of two texts, 0 to 1. Raises CannotScore("input_too_long") where the work is unbounded."""
    value = MEASURES[measure](output, gold) if len(output) + len(gold) <= MAX_CHARS else None
    if value is None:
        raise CannotScore("input_too_long", "The two texts are too long to be compared by this measure.")
    return value


def _compare_words(compare: Callable[[list[str], list[str]], float | None]) -> Callable[[str, str], float | None]:
    """Compare two texts by their words; without any on either side, as they are."""

    def measure(output: str, gold: str) -> float | None:
        output_words, gold_words = (UnicodeTokenizer().tokenize(text) for text in (output, gold))
        return compare(output_words, gold_words) if output_words or gold_words else wordless(output, gold).f1

    return measure


def _rouge_n(n: int) -> Callable[[list[str], list[str]], float]:
    return lambda said, wanted: rouge_n(said, wanted, n).f1


def _rouge_l(said: list[str], wanted: list[str]) -> float | None:
    score = rouge_l(said, wanted)
    return None if score is None else score.f1


MEASURES: dict[str, Callable[[str, str], float | None]] = {
    "levenshtein": levenshtein_ratio,
    "fuzzy": fuzzy_ratio,
    "bleu": lambda output, gold: sentence_bleu(output, [gold]).score,
    "gleu": _compare_words(sentence_gleu),
    "chrf": lambda output, gold: sentence_chrf(output, [gold]),
    "squad_f1": lambda output, gold: squad_f1(output, gold).f1,
    **{f"rouge{n}": _compare_words(_rouge_n(n)) for n in range(1, 6)},
    "rougeL": _compare_words(_rouge_l),
    "embedding": lambda output, gold: max(embedding_cosines(output, [gold])[0], 0.0),
}
EMBEDDED = "embedding"
"""The one measure that needs a model."""
