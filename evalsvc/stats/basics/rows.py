"""Which rows an interval is computed from: the scored ones, and what became of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FailedAs = Literal["worst", "excluded"]


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """The rows of one interval.

    Attributes
    ----------
    n : int
        Rows with a score.
    n_distinct : int or None
        Distinct samples (input, gold answer, contexts) among them; None where samples are not compared.
    n_failed : int
        Rows that the evaluated system failed to answer.
    failed_as : str or None
        ``worst``: each of them counts as the lowest value of the metric's range. ``excluded``: they are left out. None
        without any.
    n_missing : int
        Rows that have no score for another reason: an outage, a spent budget, an evaluator that failed.
    n_undecided : int
        Rows on which the evaluator gave no verdict, so that they neither pass nor fail; not among the missing.
    chosen_among : int or None
        Number of candidates among which this one was selected for its score; None without a selection.
    weighted : bool
        Whether the rows have unequal weights.
    n_eff : float or None
        With weights: how many rows of equal weight would say as much.
    sources : dict of str to int
        Number of rows by source; empty where there is only one.
    """

    n: int
    n_distinct: int | None = None
    n_failed: int = 0
    failed_as: FailedAs | None = None
    n_missing: int = 0
    n_undecided: int = 0
    chosen_among: int | None = None
    weighted: bool = False
    n_eff: float | None = None
    sources: dict[str, int] = field(default_factory=dict)

    @property
    def n_all(self) -> int:
        """Rows in all, scored or not."""
        return self.n + self.n_failed + self.n_missing + self.n_undecided


def describe_rows(rows: IntervalRows, noun: str = "examples") -> str:
    """Return the rows in words.

    Examples
    --------
    >>> describe_rows(IntervalRows(200, n_failed=11, failed_as="worst"))
    '200 of 211 examples, 11 failed and counted as wrong'
    >>> describe_rows(IntervalRows(1000, n_distinct=50), "scores")
    '1000 scores of 50 distinct samples'
    >>> describe_rows(IntervalRows(60, n_missing=4, chosen_among=16))
    '60 of 64 examples, 4 missing, best of 16'
    >>> describe_rows(IntervalRows(88, n_undecided=12))
    '88 of 100 examples, 12 undecided'
    >>> describe_rows(IntervalRows(1000, weighted=True, n_eff=181.3), "scores")
    '1000 scores, weighted, worth 181 of equal weight'
    """
    parts = [f"{rows.n} {noun}" if rows.n == rows.n_all else f"{rows.n} of {rows.n_all} {noun}"]
    if rows.n_distinct is not None and rows.n_distinct < rows.n:
        parts[0] += f" of {rows.n_distinct} distinct sample{'' if rows.n_distinct == 1 else 's'}"
    if rows.n_failed:
        parts.append(f"{rows.n_failed} failed and {'counted as wrong' if rows.failed_as == 'worst' else 'left out'}")
    if rows.n_missing:
        parts.append(f"{rows.n_missing} missing")
    if rows.n_undecided:
        parts.append(f"{rows.n_undecided} undecided")
    if rows.chosen_among is not None and rows.chosen_among > 1:
        parts.append(f"best of {rows.chosen_among}")
    if rows.weighted:
        parts.append("weighted" if rows.n_eff is None else f"weighted, worth {round(rows.n_eff)} of equal weight")
    if len(rows.sources) > 1:
        parts.append("from " + ", ".join(f"{name} {n}" for name, n in rows.sources.items()))
    return ", ".join(parts)
