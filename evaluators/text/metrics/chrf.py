"""Sentence-level chrF, as sacrebleu computes it."""

from __future__ import annotations

from collections.abc import Sequence

from evaluators.text.metrics.overlap import same_text


def sentence_chrf(output: str, golds: Sequence[str]) -> float:
    """Score shared runs of one to six characters, with recall weighted twice: 0 to 1, any script, spaces ignored.

    Equals `sacrebleu.sentence_chrf` divided by 100 (Popović, 2015), except that two texts without characters match, for
    which the library returns 0. Of several gold answers the nearest counts, as in the library.
    """
    if not output.strip() and any(same_text(output, gold) for gold in golds):
        return 1.0
    from sacrebleu.metrics.chrf import CHRF

    result = CHRF().sentence_score(output, list(golds))
    return min(max(float(result.score) / 100, 0.0), 1.0)
