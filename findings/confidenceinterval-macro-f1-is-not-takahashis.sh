#!/usr/bin/env bash
# confidenceinterval: the interval of macro-F1 is not the one of the paper that it is named after.
#
# Package    confidenceinterval 1.0.5 (metrics of classifiers with intervals, in the manner of scikit-learn), with
#            NumPy.
#
# Expected   `f1_score(..., average="macro")` has the method "takahashi" and cites Takahashi, Yamamoto, Kuchiba and
#            Koyama (2022, "Confidence interval for micro-averaged F1 and macro-averaged F1 scores"). Their variance
#            (section 3.2) is a delta method: twice the sum over classes of F a / s^2 times (F / 2 + a / s), where s is
#            the share of examples that are or were called the class, counted twice if both, and a what is wrong of it;
#            and of p F F' / (s s') over pairs of classes. Confidence of 95 % means that about 95 of 100 such intervals
#            hold the true value.
#
# Seen       The source adds the bracket and the two sums in the denominator where the paper multiplies, and uses counts
#            where the paper has shares. With 185 of 200 right the macro-F1 is .925, and its interval is [.822, 1.028],
#            which passes 1; the paper's is [.888, .961]. With 970 of 1000 right and a rare class, it is [.729, .827] in
#            place of [.707, .849], and of 400 simulated data sets like that one 82 % have an interval with the true
#            value in it.
#
# Matters    Macro-F1 is chosen where a class is rare, and there the interval is too narrow: two classifiers differ
#            "significantly" that do not. On balanced data it is nearly three times too wide, so real progress is noise.
#
# evalsvc    The interval of macro-F1 is a BCa bootstrap over examples (evalsvc/stats/formulas/confusion.py): [.885,
#            .955] and [.696, .847] for the same two tables.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  confidenceinterval==1.0.5 numpy==2.2.6 scipy==1.15.3 scikit-learn==1.7.2 pandas==2.3.3

"$folder/venv/bin/python" - <<'PYTHON'
import sys

import confidenceinterval
import numpy as np

Z = 1.959964
# Rows are actual classes, columns predicted ones; then the half width so far, and that of the paper.
BALANCED = ([[90, 10], [5, 95]], 0.1031, 0.0365)
RARE = ([[950, 10], [20, 20]], 0.0487, 0.0710)


def labels(counts):
    actual, predicted = np.indices((2, 2)).reshape(2, 4)
    return np.repeat(actual, counts), np.repeat(predicted, counts)


def by_package(counts):
    return confidenceinterval.f1_score(*labels(counts), average="macro")


def f1_of(table):
    return 2 * np.diag(table) / (table.sum(axis=0) + table.sum(axis=1))


def by_paper(table):
    """The half width by the formula of section 3.2."""
    n, p = table.sum(), table / table.sum()
    s, f1 = p.sum(axis=0) + p.sum(axis=1), f1_of(p)
    a = s - 2 * np.diag(p)
    pairs = p.T * np.outer(f1, f1) / np.outer(s, s)
    inner = (f1 * a / s**2 * (f1 / 2 + a / s)).sum() + pairs.sum() - np.trace(pairs)
    return Z * np.sqrt(2 * inner / len(p) ** 2 / n)


def by_differences(table):
    """The half width by the delta method, with derivatives by differences: a check of the line above."""
    n, p = table.sum(), table / table.sum()
    steps = [np.eye(1, p.size, i).reshape(p.shape) * 1e-6 for i in range(p.size)]
    slope = np.array([f1_of(p + step).mean() - f1_of(p - step).mean() for step in steps]) / 2e-6
    return Z * np.sqrt(slope @ (np.diag(p.ravel()) - np.outer(p, p)) @ slope / n)


problems = []
for name, (rows, so_far, right) in (("balanced", BALANCED), ("rare", RARE)):
    table = np.array(rows)
    value, (low, high) = by_package(table.ravel())
    paper, check = by_paper(table), by_differences(table)
    ends = f"[{value - paper:.3f}, {value + paper:.3f}]"
    print(f"{name:9} macro-F1 {value:.4f}   package [{low:.3f}, {high:.3f}]   paper {ends}")
    if abs((high - low) / 2 - so_far) > 0.0001:
        problems.append(f"{name}: the package's half width is {(high - low) / 2:.4f}")
    if abs(paper - right) > 0.0001 or abs(paper - check) > 0.0001:
        problems.append(f"{name}: the paper's half width is {paper:.4f}")

table = np.array(RARE[0])
truth, chances, generator = f1_of(table).mean(), table.ravel() / table.sum(), np.random.default_rng(1)
found = [by_package(generator.multinomial(table.sum(), chances))[1] for _ in range(400)]
share = np.mean([low <= truth <= high for low, high in found])
print(f"intervals with the true value in them, of those that claim 95 %: {share:.1%}")
if not 0.78 < share < 0.87:
    problems.append(f"{share:.1%} of the intervals have the true value in them")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
