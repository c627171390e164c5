"""The pairs behind a claim about two configs: a gate asks the function that every other surface asks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.pairs.clustered import sum_by_cluster
from evalsvc.stats.pairs.common import BoundedScores, Common, advanced, with_lost_trials
from evalsvc.stats.pairs.verdict import PLANNED_END, POST_HOC, Analysis, Verdict, decide_verdict


@dataclass(frozen=True, slots=True)
class PairedRows:
    """Scores of the candidate and of the baseline on the same examples, higher is better; NaN where one is missing.

    Attributes
    ----------
    candidate, baseline : ndarray
        Rescaled to [0, 1] for scores in a range.
    width : float
        Of the range, in the unit of the claim; 1 without one.
    has_range, binary : bool
        What is declared of the scores.
    is_one_run : bool
        Whether both ran in one experiment, which can be monitored before its planned end.
    candidate_ends, baseline_ends : BoundedScores or None
        The same scores with the least and the most that each can be, where trials are lost; None where none are.
    """

    candidate: FloatArray
    baseline: FloatArray
    width: float
    has_range: bool
    binary: bool
    is_one_run: bool
    candidate_ends: BoundedScores | None = None
    baseline_ends: BoundedScores | None = None

    def swap(self) -> PairedRows:
        """Return the same, baseline minus candidate."""
        return replace(
            self,
            candidate=self.baseline,
            baseline=self.candidate,
            candidate_ends=self.baseline_ends,
            baseline_ends=self.candidate_ends,
        )

    def decide(self, alpha: float, clusters: NDArray[np.int_] | None = None) -> Verdict:
        """Return the verdict at the planned end, with an error of alpha on each side.

        Examples
        --------
        >>> ones, zeros = np.ones(8), np.zeros(8)
        >>> PairedRows(ones, zeros, 1.0, True, True, True).decide(0.025).word
        'better'
        """
        common = Common(0, 1)
        if self.candidate.size:
            (common,) = advanced([common], [(self.candidate, self.baseline)], [0])
        if self.candidate_ends is not None and self.baseline_ends is not None:
            common = with_lost_trials(common, self.candidate_ends, self.baseline_ends)
        grouped = None
        if clusters is not None:
            differences = self.candidate - self.baseline
            has_both = np.isfinite(differences)
            grouped = sum_by_cluster(differences[has_both], clusters[has_both])
        basis = PLANNED_END if self.is_one_run else POST_HOC
        return decide_verdict(
            common,
            Analysis(basis, 1.0 - 2.0 * alpha, 1, is_monitored=self.is_one_run),
            binary=self.binary,
            reach=1.0 if self.has_range else None,
            clusters=grouped,
        )
