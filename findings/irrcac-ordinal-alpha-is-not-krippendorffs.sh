#!/usr/bin/env bash
# irrCAC: "Krippendorff's Alpha" with ordinal weights is not Krippendorff's ordinal alpha.
#
# Package    irrCAC 0.4.4 (agreement between raters, after Gwet's book and his package for R).
#
# Expected   `CAC(ratings, weights="ordinal").krippendorff()` names its answer "Krippendorff's Alpha". Krippendorff
#            (2011, "Computing Krippendorff's Alpha-Reliability") defines the ordinal difference of two grades by how
#            many answers have the grades between them: a step over a common grade is large, a step over a rare
#            one small. His example of four observers has the values .743 (nominal), .815 (ordinal), .849 (interval).
#
# Seen       On his example irrCAC agrees for nominal and interval data (weights "identity" and "quadratic"), and
#            answers .834 for ordinal data. Its ordinal weights are Gwet's: they depend on the positions of the grades
#            alone, not on the answers. Where most answers have one grade the difference is large: for the twenty
#            answers below, mostly 4 of 5, irrCAC says .805, and Krippendorff's formula .567.
#
# Matters    Grades that people or judges give to outputs of a language model are ordinal and mostly good.
#            Krippendorff advises to rely on alpha from .800 and to draw no conclusions below .667. Under one name, the
#            same answers are reliable by one package and of no use by another.
#
# evalsvc    Krippendorff's formula (evalsvc/stats/agreement/figures.py), tested against his table: .815, and .5665 for
#            the second data of this script.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# irrCAC asks for SciPy 1.12.0, which has no wheels for Python 3.13, so its dependencies are named here.
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.2.6 pandas==2.3.3 scipy==1.15.3
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps irrCAC==0.4.4

"$folder/venv/bin/python" - <<'PYTHON'
import sys
from collections import Counter
from itertools import permutations, product

import pandas as pd
from irrCAC.raw import CAC

# Krippendorff 2011: four observers, twelve units; a dot where an observer has said nothing.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
UNITS = [[int(grade) for grade in unit if grade != "."] for unit in zip(*OBSERVERS)]
TABLE = pd.DataFrame([[float(grade) if grade != "." else None for grade in unit] for unit in zip(*OBSERVERS)])
# Two raters, twenty answers, nearly all of them good.
RATED = [(4, 4)] * 14 + [(2, 2), (1, 1)] + [(4, 3)] * 2 + [(4, 5)] * 2


def by_definition(units, difference):
    """Alpha as 1 - D_o / D_e, written out."""
    units = [unit for unit in units if len(unit) > 1]
    counts = Counter(grade for unit in units for grade in unit)
    n = counts.total()
    seen = sum(sum(difference(c, k, counts) for c, k in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    by_chance = sum(counts[c] * counts[k] * difference(c, k, counts) for c, k in product(counts, counts))
    return 1 - (n - 1) * seen / by_chance


def nominal(c, k, counts):
    return float(c != k)


def interval(c, k, counts):
    return float(c - k) ** 2


def ordinal(c, k, counts):
    low, high = min(c, k), max(c, k)
    return (sum(counts[grade] for grade in range(low, high + 1)) - (counts[c] + counts[k]) / 2) ** 2


def by_package(table, weights):
    found = CAC(table, weights=weights, categories=[1, 2, 3, 4, 5]).krippendorff()["est"]
    return found["coefficient_name"], float(found["coefficient_value"])


problems = []


def show(data, kind, defined, weights, table, expected):
    name, value = by_package(table, weights)
    print(f"{data}, {kind:8}  definition {defined:.5f}   irrCAC, weights={weights!r}: {name} {value:.5f}")
    if name != "Krippendorff's Alpha" or (round(defined, 3), round(value, 3)) != expected:
        problems.append(f"{data}, {kind}")


show("four observers", "nominal", by_definition(UNITS, nominal), "identity", TABLE, (0.743, 0.743))
show("four observers", "interval", by_definition(UNITS, interval), "quadratic", TABLE, (0.849, 0.849))
show("four observers", "ordinal", by_definition(UNITS, ordinal), "ordinal", TABLE, (0.815, 0.834))
rated = pd.DataFrame(RATED, columns=["first", "second"])
show("twenty answers", "ordinal", by_definition(RATED, ordinal), "ordinal", rated, (0.567, 0.805))
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
