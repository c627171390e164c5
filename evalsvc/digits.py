"""Numbers as people write them: so many digits, and nothing rounded to what it is not."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_PLAIN_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
LARGEST, SMALLEST = 1e7, 1e-7
"""Beyond these a power of ten says more than digits do."""
LONGEST, MOST_PLACES = 1e15, 12
"""What is written with the decimals of an interval lies below, and has no more decimals."""
NOISE = 1e-12
"""What is left of sums that should be zero."""


def digits_text(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, thousands in full; whole numbers as they are.

    What is below 1 is not written as 1: 19 999 of 20 000 have more digits instead, as many as tell them from all.

    Examples
    --------
    >>> digits_text(0.87654), digits_text(0.99995), digits_text(44633.7), digits_text(0.00007)
    ('0.8765', '0.99995', '44634', '0.00007')
    """
    size = abs(value)
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "?" if math.isnan(value) else "∞" if value > 0.0 else "-∞"
    if 0.5 < size < 1.0:
        return _below_one(value, digits).rstrip("0")
    if 10.0**digits <= round(size) < LARGEST:
        return f"{value:.0f}"
    return _short(value + 0.0, digits)


def _short(value: float, digits: int, sign: str = "") -> str:
    """Return a number with so many significant digits, and no zeros at its end."""
    text = f"{value:{sign}.{digits}g}"
    return f"{Decimal(text):{sign}f}" if SMALLEST <= abs(value) < 1.0 else text


def estimate_texts(
    value: float | None,
    lower: float | None,
    upper: float | None,
    *,
    signed: bool = False,
    thousands: str = "",
    limit: float | None = None,
) -> tuple[str, str]:
    """Return an estimate and its interval in brackets, with the decimals that the interval supports.

    These are as many as give half of the width two significant digits, as the GUM (JCGM 100:2008, 7.2.6) writes
    uncertainties, and more where an end would be written as the `limit` that it is compared with. Nothing between 0
    and 1 is written as either. An end that is None is open; without both the interval is empty, and the estimate has
    four significant digits. An estimate of None is a question mark.

    Examples
    --------
    >>> estimate_texts(0.82031, 0.78971, 0.84742), estimate_texts(1.0, 0.51011, 1.0)
    (('0.820', '[0.790, 0.847]'), ('1.00', '[0.51, 1.00]'))
    >>> estimate_texts(1358.4, 1266.9, 1448.1), estimate_texts(0.75, None, None)
    (('1358', '[1267, 1448]'), ('0.75', ''))
    >>> estimate_texts(0.82, 0.7996, 0.84, limit=0.8)
    ('0.8200', '[0.7996, 0.8400]')
    """
    places = count_places(value, lower, upper)
    if places is not None and limit is not None:
        # A difference "not worse by 0.05" is compared with -0.05.
        size = abs(limit)
        near = [abs(end) for end in (lower, upper) if end is not None and abs(end) != size]
        while places < MOST_PLACES and any(round(end, places) == round(size, places) for end in near):
            places += 1

    def text(number: float) -> str:
        if places is None or not abs(number) < LONGEST:
            return ("+" if signed and math.isfinite(number) and number >= 0.0 else "") + digits_text(number)
        written = format_places(number, places, signed=signed)
        return f"{Decimal(written):,f}".replace(",", thousands) if thousands and abs(number) >= 1000.0 else written

    estimate = "?" if value is None else text(value)
    if lower is None and upper is None:
        return estimate, ""
    return estimate, f"[{text(-math.inf if lower is None else lower)}, {text(math.inf if upper is None else upper)}]"


def percent_texts(value: float | None, lower: float | None, upper: float | None) -> tuple[str, str]:
    """Return a share and its interval in percent, without the sign, with the decimals that the interval supports.

    Examples
    --------
    >>> percent_texts(0.815, 0.756, 0.863), percent_texts(0.815, None, None)
    (('81.5', '[75.6, 86.3]'), ('81.5', ''))
    """
    estimate, interval = estimate_texts(value, lower, upper)
    return _PLAIN_NUMBER.sub(_write_percent, estimate), _PLAIN_NUMBER.sub(_write_percent, interval)


def _write_percent(found: re.Match[str]) -> str:
    return f"{Decimal(found[0]).scaleb(2):f}"


def count_places(value: float | None, lower: float | None, upper: float | None) -> int | None:
    """Return how many decimals an interval supports; None where it has no width."""
    ends = [end for end in (lower, upper) if end is not None and math.isfinite(end)]
    if len(ends) == 1 and value is not None:
        ends.append(2.0 * value - ends[0])
    half = abs(ends[1] - ends[0]) / 2.0 if len(ends) == 2 else 0.0
    # Decimal fractions miss powers of ten by a little.
    return max(0, 1 - math.floor(math.log10(half) + NOISE)) if NOISE < half < math.inf else None


def format_places(value: float, places: int = 3, *, signed: bool = False) -> str:
    """Return a number with so many decimals; where these would make it 0 or 1 and it is not, with more.

    Examples
    --------
    >>> format_places(0.5), format_places(0.99995), format_places(0.00012), format_places(-0.25, signed=True)
    ('0.500', '0.99995', '0.00012', '-0.250')
    """
    sign, size = "+" if signed else "", abs(value)
    if NOISE < size <= 0.5 * 10.0**-places:
        return _short(value, 2, sign)
    if 0.5 < size < 1.0:
        return _below_one(value, places, sign)
    return f"{value if size > NOISE else 0.0:{sign}.{places}f}"


def level_text(level: float) -> str:
    """Return a level in per cent, to two decimals; one so near to 100 % that it would round there has more."""
    miss = 100.0 * (1.0 - level)
    decimals = 2 if miss <= 0.0 else max(2, 1 - math.floor(math.log10(miss)))
    return f"{100.0 - miss:.{decimals}f}".rstrip("0").rstrip(".") + " %"


def percent_text(share: float) -> str:
    """Return a share in percent, with one decimal; with more where this one would make it none or all and it is not.

    Examples
    --------
    >>> percent_text(0.25), percent_text(0.99996), percent_text(0.0002), percent_text(1.0)
    ('25.0 %', '99.996 %', '0.02 %', '100.0 %')
    """
    for places in range(1, 15):
        text = f"{100.0 * share:.{places}f}"
        if share in (0.0, 1.0) or float(text) not in (0.0, 100.0):
            return f"{text} %"
    return f"{share} of 1"


def _below_one(value: float, places: int, sign: str = "") -> str:
    """Return a number with so many decimals, or with as many more as it takes not to be one."""
    text = f"{value:{sign}.{places}f}"
    if abs(float(text)) < 1.0:
        return text
    return f"{value:{sign}.{-math.floor(math.log10(1.0 - abs(value)))}f}".rstrip("0")
