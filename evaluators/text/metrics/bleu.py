"""Sentence-level BLEU, as sacrebleu computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.text.metrics.overlap import same_text


@dataclass(frozen=True, slots=True)
class Bleu:
    """A BLEU score between 0 and 1 and the parts it is made of."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    n_output: int
    n_gold: int


def sentence_bleu(output: str, golds: Sequence[str]) -> Bleu:
    """Score one answer against gold answers, using all of them together as references.

    4-grams, 13a tokens, brevity penalty, exponential smoothing.
    Equals `sacrebleu.sentence_bleu` divided by 100. Texts shorter than four tokens use the orders they have. For a text
    without tokens the library returns 0 regardless of the gold answers; here it matches an identical gold answer.
    """
    from sacrebleu.metrics.bleu import BLEU

    try:
        result = BLEU(effective_order=True).sentence_score(output, list(golds))
    finally:
        _forget_texts()
    if not result.sys_len and any(same_text(output, gold) for gold in golds):
        return Bleu(1.0, (1.0, 1.0, 1.0, 1.0), 1.0, 0, 0)
    return Bleu(
        # Rounding in the library can pass 100 by a hair.
        score=min(max(result.score / 100, 0.0), 1.0),
        precisions=tuple(precision / 100 for precision in result.precisions),
        brevity_penalty=float(result.bp),
        n_output=int(result.sys_len),
        n_gold=int(result.ref_len),
    )


def _forget_texts() -> None:
    # sacrebleu memoises up to 65 536 whole texts in each tokenizer class: memory without end, and customers' words.
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()
