"""Scores of a file in lines: one for each evaluator, and those of the rows that did not pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalsvc.client import EvaluationResult
from evalsvc.client.results.metrics import Metric
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.digits import digits_text, estimate_texts, percent_texts

N_SHOWN = 20
N_NAMED = 5
LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The verdicts of one evaluator on the rows of a file."""

    n: int
    n_passed: int
    n_failed: int
    n_without_score: int
    n_no_threshold: int
    n_undecided: int

    @property
    def is_pass_rate(self) -> bool:
        """Return whether every score passes or fails, or is undecided."""
        return self.n_passed + self.n_failed > 0 and not self.n_no_threshold


def count_outcomes(result: EvaluationResult, name: str) -> Outcomes:
    """Count the verdicts of one evaluator."""
    scores = [row.scores.get(name) or RowScore() for row in result.rows]
    scored = [score for score in scores if score.value is not None]
    n_passed = sum(score.passed is True for score in scored)
    n_failed = sum(score.passed is False for score in scored)
    n_undecided = sum(score.passed is None and "undecided" in (score.extra or {}) for score in scored)
    return Outcomes(
        n=len(scores),
        n_passed=n_passed,
        n_failed=n_failed,
        n_without_score=len(scores) - len(scored),
        n_no_threshold=len(scored) - n_passed - n_failed - n_undecided,
        n_undecided=n_undecided,
    )


def format_summary(metric: Metric, outcomes: Outcomes, *, is_rate: bool, page: str) -> str:
    """Return the line of an evaluator: `hallucination 81.5 % [75.6, 86.3] pass, 163 of 200 → …`."""
    if metric.value is None:
        words = [f"{metric.name} no estimate"]
    elif is_rate:
        rate, ends = percent_texts(metric.value, metric.lower, metric.upper)
        words = [f"{metric.name} {rate} %{ends and f' {ends}'} pass"]
    else:
        words = [f"{metric.name} mean {' '.join(estimate_texts(metric.value, metric.lower, metric.upper)).rstrip()}"]
    if outcomes.is_pass_rate:
        words.append(f"{outcomes.n_passed} of {_count_rows(metric)}" + ("" if is_rate else " pass"))
    else:
        words.append(f"{metric.n} of {metric.N} scored")
    words += [f"{outcomes.n_undecided} undecided"] if outcomes.n_undecided else []
    words += [metric.without_scores] if metric.without_scores else []
    return f"{', '.join(words)} → {page}"


def _count_rows(metric: Metric) -> int:
    """Count the rows of which an estimate is the mean: failures that count as the worst value belong to them."""
    rows = metric.rows or {}
    return metric.n + (rows["n_failed"] if rows.get("failed_as") == "worst" else 0)


def is_pass_rate(result: EvaluationResult, name: str) -> bool:
    """Return whether the mean score is the share that passes: 1 for each pass, 0 for each failure."""
    scores = [row.scores[name] for row in result.rows if name in row.scores and row.scores[name].value is not None]
    return bool(scores) and all(score.passed is not None and score.value == float(score.passed) for score in scores)


def format_rows(result: EvaluationResult, *, is_verbose: bool) -> Iterator[str]:
    """Yield a line for each failure, or for each verdict; rows that have no score for one reason share a line."""
    reasons: dict[tuple[str, str], list[str]] = {}
    lines: list[str] = []
    for row in result.rows:
        for name in result.metrics:
            score = row.scores.get(name) or RowScore()
            if score.value is None:
                reasons.setdefault((name, _find_reason(row, score)), []).append(row.example_id)
            elif is_verbose or score.passed is False:
                lines.append(_format_row(row, name, score))
    shown = lines if is_verbose else lines[:N_SHOWN]
    yield from shown
    if len(shown) < len(lines):
        yield f"… and {len(lines) - len(shown)} more failures: -v shows all"
    for (name, reason), ids in reasons.items():
        yield f"{name}: no score for {_format_ids(ids)}: {reason}"


def _format_row(row: Row, name: str, score: RowScore) -> str:
    verdict = {True: " pass", False: " fail", None: ""}[score.passed]
    reason = " ".join((score.explanation or "").split())[:LONGEST_REASON]
    return f"{row.example_id}: {name} {digits_text(score.value or 0.0, 3)}{verdict}{f': {reason}' if reason else ''}"


def _find_reason(row: Row, score: RowScore) -> str:
    return score.error_message or score.error_code or row.error_message or "not applicable"


def _format_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - N_NAMED} more" if len(ids) > N_NAMED else ""
    return f"{'row' if len(ids) == 1 else 'rows'} {', '.join(ids[:N_NAMED])}{more}"
