"""Sentence-level Google BLEU."""

from __future__ import annotations

from evaluators.text.metrics.overlap import count_shared_ngrams

MAX_N = 4


def sentence_gleu(output: list[str], gold: list[str]) -> float:
    """Score all n-grams of one to four words together: the lower of their precision and recall.

    From Wu et al., Google's Neural Machine Translation System (2016), section 4.3. Unlike BLEU it is symmetric and
    needs no smoothing. Without words on one side, or on both, it is zero.
    """
    counts = [count_shared_ngrams(output, gold, n) for n in range(1, MAX_N + 1)]
    common = sum(count.n_common for count in counts)
    longest = max(sum(count.n_output for count in counts), sum(count.n_gold for count in counts))
    return common / longest if longest else 0.0
