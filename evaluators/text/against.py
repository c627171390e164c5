"""Format a score relative to the threshold that it is compared with."""

from __future__ import annotations

MOST_PLACES = 6


def compare_with_threshold(value: float, threshold: float) -> str:
    """Return on which side of the threshold a score is; it is never rounded onto the other one.

    Examples
    --------
    >>> compare_with_threshold(0.72, 0.6), compare_with_threshold(0.5999, 0.6)
    ('0.72, at or above the threshold of 0.6', '0.5999, below the threshold of 0.6')
    >>> compare_with_threshold(0.5999999999999999, 0.6)
    'just below the threshold of 0.6'
    """
    side = f"{'at or above' if value >= threshold else 'below'} the threshold of {threshold:g}"
    text = format_distinct(value, threshold)
    return f"just {side}" if text is None else f"{text}, {side}"


def format_distinct(value: float, bound: float) -> str | None:
    """Format a number with two decimals, or more to stay on its side of a bound; None if it takes too many."""
    texts = (f"{value:.{places}f}" for places in range(2, MOST_PLACES + 1))
    return next((text for text in texts if (float(text) >= bound) == (value >= bound)), None)
