"""A verdict in short form: its evaluator, whether it passed, and its score. Colour is never the only indication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.marks import one_line
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import UNDECIDED, UNDECIDED_TEXTS
from evalsvc.evaluations.wire.scores import get_undecided_families, get_why, to_client_score
from evalsvc.reports.page.elements import element, join_parts
from evalsvc.reports.words import number_text

SIGNS = {"pass": "✓", "fail": "✗", "error": "!", "score": "•", "undecided": "?"}
WORDS = {"pass": "passed", "fail": "failed", "error": "no score", "score": "scored", "undecided": "undecided"}
MAX_NAME = 48
MANAGED = "patronus:"
"""Of the profiles that come with the product: the evaluator's name says what they do."""


def outcome_word(row: Any) -> str:
    """Return `pass`, `fail`, `undecided`, `error`, or `score` where no line is drawn between pass and fail."""
    if row.status != Evaluation.Status.SUCCESS:
        return "error"
    if row.passed is None:
        return UNDECIDED if row.family in get_undecided_families() or get_why(row) else "score"
    return "pass" if row.passed else "fail"


def outcome_words(row: Any) -> str:
    """Return the outcome in words; not every answer has a number."""
    outcome = outcome_word(row)
    return "told in words" if outcome == "score" and get_score(row) is None else WORDS[outcome]


def get_score(row: Any) -> float | None:
    """Return the score that the API shows of a row."""
    score = to_client_score(row.family, row.score, row.passed)
    return None if score is None else float(score)


def evaluation_address(id: int) -> str:
    """Return the page of an evaluation."""
    return page_address("console_evaluation", id)


def format_evaluator_name(row: Any) -> str:
    """Return the evaluator's name, with the profile if it is one of the account's own."""
    profile = one_line(row.profile_name, MAX_NAME)
    name = one_line(row.evaluator_id, MAX_NAME)
    if row.evaluation_type == Evaluation.Type.ANNOTATION:
        return f"label: {one_line(_metric(row), MAX_NAME) or 'by a person'}"
    return f"{name} · {profile}" if profile and not profile.startswith(MANAGED) else name


def _metric(row: Any) -> str:
    if hasattr(row, "metric"):
        return row.metric or ""
    details = getattr(row, "details", None)
    return str(details.get("metric_name") or "") if isinstance(details, dict) else ""


def verdict_chip(row: Any, *, is_met: bool = True) -> SafeString:
    """Return a verdict as a link to its page."""
    outcome = outcome_word(row)
    score = get_score(row)
    text = row.error_code if outcome == "error" else number_text(score) if score is not None else ""
    return element(
        "a",
        element("span", SIGNS[outcome], class_="sign", aria_hidden="true"),
        element("span", format_evaluator_name(row), class_="asked", dir="auto"),
        element("span", f" {outcome_words(row)} ", class_="unseen"),
        element("span", text, class_="figure") if text else None,
        class_=f"verdict {outcome}" if is_met else f"verdict {outcome} beside",
        href=evaluation_address(row.id),
    )


def verdict_chips(rows: Any, met: frozenset[int]) -> SafeString:
    """Return the verdicts of a sample side by side; those that were not searched for are paler."""
    return element("span", *(verdict_chip(row, is_met=row.id in met) for row in rows), class_="verdicts")


def outcome_mark(row: Any) -> SafeString:
    """Return the outcome in a word with its sign."""
    outcome = outcome_word(row)
    return join_parts([element("span", f"{SIGNS[outcome]} {outcome_words(row)}", class_=f"outcome {outcome}")])


def reading_doubt(extra: Mapping[str, Any], passed: bool | None) -> str:
    """Return why there is no verdict, or what a pass cannot have seen: denials in a language that was not read."""
    if because := UNDECIDED_TEXTS.get(str(extra.get(UNDECIDED))):
        return f"Undecided: {because}."
    if not passed or extra.get("read_as") != "words":
        return ""
    return (
        "Not read as English: words and numbers were compared, and a denial is seen by common negators alone, such as "
        "“ne … pas” or “nicht” (not at all by evaluators from before 2026-11-28). A judge reads such texts."
    )
