"""How alike two texts are, by the measures that checks and graders share."""

from __future__ import annotations

from collections.abc import Callable

from evaluators.base import CannotScore
from evaluators.text.bleu import sentence_bleu
from evaluators.text.chrf import sentence_chrf
from evaluators.text.cosine import embedding_cosines
from evaluators.text.edits import fuzzy_ratio, levenshtein_ratio
from evaluators.text.gleu import sentence_gleu
from evaluators.text.overlap import rouge_l, rouge_n, squad_f1
from evaluators.text.tokens import UnicodeTokenizer

MAX_CHARS = 1_000_000
"""Both texts together."""


def similarity(measure: str, output: str, gold: str) -> float:
    """Return how alike two texts are, 0 to 1. Raises CannotScore("input_too_long") where the work has no bound."""
    found = MEASURES[measure](output, gold) if len(output) + len(gold) <= MAX_CHARS else None
    if found is None:
        raise CannotScore("input_too_long", "The two texts are too long to be compared by this measure.")
    return found


def _rouge_n(n: int) -> Callable[[str, str], float]:
    return lambda output, gold: rouge_n(_words(output), _words(gold), n).f1


def _rouge_l(output: str, gold: str) -> float | None:
    found = rouge_l(_words(output), _words(gold))
    return None if found is None else found.f1


def _words(text: str) -> list[str]:
    return UnicodeTokenizer().tokenize(text)


MEASURES: dict[str, Callable[[str, str], float | None]] = {
    "levenshtein": levenshtein_ratio,
    "fuzzy": fuzzy_ratio,
    "bleu": lambda output, gold: sentence_bleu(output, [gold]).score,
    "gleu": lambda output, gold: sentence_gleu(_words(output), _words(gold)),
    "chrf": lambda output, gold: sentence_chrf(output, [gold]),
    "squad_f1": lambda output, gold: squad_f1(output, gold).f1,
    **{f"rouge{n}": _rouge_n(n) for n in range(1, 6)},
    "rougeL": _rouge_l,
    "embedding": lambda output, gold: max(embedding_cosines(output, [gold])[0], 0.0),
}
EMBEDDED = "embedding"
"""The one measure that needs a model."""
