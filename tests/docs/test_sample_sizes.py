"""The sizes that concepts.md names are those of the formulas: Wilson's interval, and the power of a paired difference."""

from __future__ import annotations

import re

from scipy.stats import binomtest, norm

from tests.docs.pages import CHECKOUT

PAGE = (CHECKOUT / "docs" / "concepts.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### How many examples do I need?")[2].partition("\nA history has")[0]
RATES = re.findall(r"^\| (\d+) \| (\d+) % to (\d+) % \|$", SECTION, re.MULTILINE)
PAIRED = re.findall(r"^\| (\d+) %[^|]*\| (\d+) \| (\d+) \| (\d+) \|$", SECTION, re.MULTILINE)


def test_a_rate_is_known_as_well_as_wilson_says() -> None:
    assert len(RATES) == 4
    for n, lower, upper in RATES:
        interval = binomtest(round(0.8 * int(n)), int(n)).proportion_ci(method="wilson")
        assert (round(100 * interval.low), round(100 * interval.high)) == (int(lower), int(upper))


def test_a_paired_difference_is_shown_four_times_in_five() -> None:
    """n = (z₀.₉₇₅ + z₀.₈)² (d - e²) / e², where d is the share on which they differ and e the difference."""
    quantiles = norm.ppf(0.975) + norm.ppf(0.8)
    assert len(PAIRED) == 3
    for share, *sizes in PAIRED:
        d = int(share) / 100
        assert [int(n) for n in sizes] == [round(quantiles**2 * (d - e**2) / e**2) for e in (0.02, 0.05, 0.1)]
