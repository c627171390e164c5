"""ROUGE and SQuAD scores between an answer and a gold answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from evaluators.text.normalise import squad_normalise

MAX_LCS_CELLS = 10_000_000_000
"""Largest product of two token counts that the longest common subsequence is computed for: about a second."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of the answer is in the gold answer, how much of the gold is in the answer, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class NgramCounts:
    """n-grams that both have, each as often as both have it, and those of each side."""

    n_common: int
    n_output: int
    n_gold: int


ALL = Overlap(1.0, 1.0, 1.0)
NONE = Overlap(0.0, 0.0, 0.0)


def same_text(output: str, gold: str) -> bool:
    """Return whether two texts are equal, ignoring surrounding whitespace.

    Every text metric falls back to this if neither side has anything that it counts: an empty answer to an unanswerable
    question is correct, as in SQuAD 2.0.
    """
    return output.strip() == gold.strip()


def wordless(output: str, gold: str) -> Overlap:
    """Compare two texts without a word."""
    return ALL if same_text(output, gold) else NONE


def overlap(n_common: int, n_output: int, n_gold: int) -> Overlap:
    """Turn counts into precision, recall and F1; nothing in common, or nothing to compare, is zero."""
    if n_common == 0:
        return NONE
    precision, recall = n_common / n_output, n_common / n_gold
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))


def squad_exact(output: str, gold: str) -> float:
    """Return 1.0 if both are equal in SQuAD's normal form, else 0.0."""
    return float(squad_normalise(output) == squad_normalise(gold))


def squad_f1(output: str, gold: str) -> Overlap:
    """Compare bags of words under SQuAD's normal form; two empty bags agree, one empty bag does not."""
    output_words, gold_words = squad_normalise(output).split(), squad_normalise(gold).split()
    if not output_words and not gold_words:
        return ALL
    return overlap(sum((Counter(output_words) & Counter(gold_words)).values()), len(output_words), len(gold_words))


def rouge_n(output: list[str], gold: list[str], n: int) -> Overlap:
    """Score the n-grams that two token lists share, each as often as both have it."""
    counts = count_shared_ngrams(output, gold, n)
    return overlap(counts.n_common, counts.n_output, counts.n_gold)


def count_shared_ngrams(output: list[str], gold: list[str], n: int) -> NgramCounts:
    """Count the n-grams of two token lists."""
    output_ngrams, gold_ngrams = _ngrams(output, n), _ngrams(gold, n)
    return NgramCounts(sum((output_ngrams & gold_ngrams).values()), output_ngrams.total(), gold_ngrams.total())


def _ngrams(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def rouge_l(output: list[str], gold: list[str]) -> Overlap | None:
    """Score the longest common subsequence of two token lists; None when that would take too long."""
    if len(output) * len(gold) > MAX_LCS_CELLS:
        return None
    return overlap(lcs_length(output, gold), len(output), len(gold))


def lcs_length(left: list[str], right: list[str]) -> int:
    """Count the tokens of the longest common subsequence, one machine word of cells at a time.

    Bit-parallel dynamic programming over Python's big integers (Hyyrö, 2004): a row of the table is one integer, whose
    zero bits mark where the row steps up.
    """
    left, right, n_edges = _trim(left, right)
    common = set(left) & set(right)
    left = [token for token in left if token in common]
    right = [token for token in right if token in common]
    places = _positions(left)
    everything = (1 << len(left)) - 1
    row = everything
    for token in right:
        matched = row & places[token]
        row = ((row + matched) | (row - matched)) & everything
    return n_edges + len(left) - row.bit_count()


def _trim(left: list[str], right: list[str]) -> tuple[list[str], list[str], int]:
    """Cut a common beginning and end, which always belong to a longest common subsequence."""
    start, shortest = 0, min(len(left), len(right))
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[start : len(left) - end], right[start : len(right) - end], start + end


def _positions(tokens: list[str]) -> dict[str, int]:
    # Built from bytes: setting bit by bit in a big integer would copy it for every token.
    flags: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        flags.setdefault(token, []).append(index)
    return {token: _bits(indices) for token, indices in flags.items()}


def _bits(indices: list[int]) -> int:
    buffer = bytearray(indices[-1] // 8 + 1)
    for index in indices:
        buffer[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(buffer, "little")
