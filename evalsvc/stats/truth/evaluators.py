"""Which of several evaluators agrees best with people, on the same labelled rows.

Of several equal evaluators some look better than others: the one that agrees most often was chosen by the same labels
that it is compared on. All pairs are compared at once, each at 1 - alpha / m for the m pairs, so that the differences
from the chosen one hold together with any choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsvc.stats.agreement.bootstrap import AgreementFigure
from evalsvc.stats.agreement.kappa import kappa_of_counts
from evalsvc.stats.formulas.confusion import Proportion
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.pairs.comparison import new_data_difference
from evalsvc.stats.pairs.leader import select_leader
from evalsvc.stats.pairs.paired import PairedInterval, compute_differences
from evalsvc.stats.pairs.simultaneous import n_comparisons, simultaneous_level


@dataclass(frozen=True, slots=True)
class EvaluatorAgreement:
    """How far one of several evaluators agrees with people.

    Attributes
    ----------
    agreement : Proportion
        The share of rows with the verdict that people give.
    sensitivity, specificity : Proportion
        Of the rows that people pass (fail), the share that the evaluator passes (fails).
    kappa : AgreementFigure
        Agreement corrected for chance.
    difference : PairedInterval or None
        Its share of agreement less that of the best one, simultaneous with all other differences; None for the best.
    """

    agreement: Proportion
    sensitivity: Proportion
    specificity: Proportion
    kappa: AgreementFigure
    difference: PairedInterval | None

    @property
    def is_worse(self) -> bool:
        """Whether it agrees less often than the best one, as far as these labels can tell."""
        return self.difference is not None and self.difference.upper is not None and self.difference.upper < 0.0


def compare_evaluators(
    labels: Sequence[bool], verdicts: Sequence[Sequence[bool]], *, level: float = 0.95
) -> list[EvaluatorAgreement]:
    """Return how far each evaluator agrees with people, and by how much less than the one that agrees best.

    The best one loses no paired difference (`select_leader`); ties go to the first.

    Parameters
    ----------
    labels : sequence of bool, shape (n,)
        What people say of each row.
    verdicts : sequence of sequence of bool, shape (k, n)
        What each evaluator says of the same rows.
    level : float
        Confidence level of each figure by itself, and of all differences together.

    Examples
    --------
    >>> labels = [True] * 60 + [False] * 40
    >>> best, other = compare_evaluators(labels, [labels, [True] * 75 + [False] * 25])
    >>> best.difference is None, other.difference.value, other.is_worse
    (True, -0.15, True)
    """
    agrees = np.array(verdicts, dtype=bool) == np.array(labels, dtype=bool)
    rows = agrees.astype(np.float64)
    best = select_leader(range(len(rows)), lambda first, second: compute_differences(rows[first], rows[second]))
    each = simultaneous_level(level, n_comparisons(len(rows)))
    differences = [
        new_data_difference(compute_differences(row, rows[best]), level=each, binary=True, reach=1.0) for row in rows
    ]
    return [
        _describe(labels, verdict_row, None if place == best else differences[place], level)
        for place, verdict_row in enumerate(verdicts)
    ]


def _describe(
    labels: Sequence[bool], verdicts: Sequence[bool], difference: PairedInterval | None, level: float
) -> EvaluatorAgreement:
    counts = Counter(zip(labels, verdicts, strict=True))
    both_pass, missed, false_pass, both_fail = (
        counts[label, verdict] for label in (True, False) for verdict in (True, False)
    )
    return EvaluatorAgreement(
        _proportion(both_pass + both_fail, len(labels), level),
        _proportion(both_pass, both_pass + missed, level),
        _proportion(both_fail, both_fail + false_pass, level),
        kappa_of_counts(both_pass, missed, false_pass, both_fail, level),
        difference,
    )


def _proportion(successes: int, n: int, level: float) -> Proportion:
    if not n:
        return Proportion(None, None, None, 0, "none")
    return Proportion(successes / n, *clopper_pearson(successes, n, level), n, "clopper-pearson")
