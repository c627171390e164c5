"""Reviews as text: kind, state and agreement."""

from __future__ import annotations

from django.utils.safestring import SafeString

from evalsvc.console.parts.numbers import Number
from evalsvc.reports.page.elements import element
from evalsvc.reviews.findings import LEVEL, ReviewEstimate
from evalsvc.reviews.models import Review
from evalsvc.reviews.selectors import Progress
from evalsvc.stats.agreement.bootstrap import (
    FEW_ITEMS,
    LEAST_ITEMS,
    NO_PAIRS,
    NO_VARIATION,
    NOT_TWO,
    UNEVEN,
    AgreementFigure,
)

KINDS = {
    Review.Kind.OUTPUT: "outputs of an experiment",
    Review.Kind.PAIR: "pairs of outputs",
    Review.Kind.EVALUATION: "evaluations",
    Review.Kind.SPAN: "spans of traces",
}
STATES = {
    "open": ("nobody has answered", "badge"),
    "partial": ("under way", "badge live"),
    "complete": ("complete", "badge good"),
}
REASONS = {
    NO_VARIATION: "all answers are equal: agreement beyond chance is undefined",
    NO_PAIRS: "no item has two answers yet",
    FEW_ITEMS: f"fewer than {LEAST_ITEMS} items with two answers: no interval yet",
    NOT_TWO: "needs exactly two people",
    UNEVEN: "items have different numbers of answers",
    "non_response": "more than a tenth of the items have no answer, and those may be the hard ones",
    "no_interval": "no interval yet",
}
NO_SPREAD = "no interval: one person gave the same answer throughout"
OF_PEOPLE = "for new items and the same people"
DRAWS = {
    "all": "all of them",
    "random": "drawn at random",
    "uncertain": "drawn, sooner where a score is near its threshold",
    "disagreeing": "drawn, sooner where evaluators differ",
}


def state_badge(review: Review, progress: Progress) -> SafeString:
    words, look = ("closed", "badge") if review.closed_at is not None else STATES[progress.state]
    return element("span", words, class_=look)


def is_over(review: Review, progress: Progress) -> bool:
    """Return whether showing the answers can no longer influence other reviewers."""
    return review.closed_at is not None or progress.state == "complete"


def reason_words(reason: str | None) -> str:
    """Return why a number or its interval is missing."""
    return "" if reason is None else REASONS.get(reason, reason.replace("_", " "))


def figure_number(figure: AgreementFigure) -> Number:
    """Return a figure of agreement: 1 is perfect, 0 what chance would bring."""
    return Number(
        figure.value,
        figure.lower,
        figure.upper,
        n=figure.n_items,
        level=LEVEL,
        covers=OF_PEOPLE,
        missing=NO_SPREAD
        if figure.value is not None and figure.reason == NO_VARIATION
        else reason_words(figure.reason),
    )


def estimate_number(found: ReviewEstimate) -> Number:
    """Return an estimate for all items with its interval."""
    value = found.estimate or 0.0
    return Number(
        found.estimate,
        found.lower,
        found.upper,
        n=found.n,
        level=found.level,
        covers="new_data",
        method="" if found.method == "none" else found.method,
        low=min(0.0, value),
        high=max(1.0, value),
        missing=reason_words(found.reason),
    )
