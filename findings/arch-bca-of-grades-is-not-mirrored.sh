#!/usr/bin/env bash
# arch: the BCa interval of graded scores moves when the scale is turned round.
#
# Package    arch 8.0.0 (bootstraps of the econometrics package), with SciPy 1.15.3 as the second source.
#
# Expected   Grades 1 to 5 turned round (6 minus the grade) are the same data. An interval for their mean is turned round
#            with them: [a, b] becomes [6 - b, 6 - a].
#
# Seen       `IIDBootstrap(...).conf_int(np.mean, method="bca")` estimates the bias by the share of resamples that are
#            strictly below the estimate. Means of resampled grades often equal the mean exactly, and all of these count
#            as above it. With one seed, and so the same resamples, the twenty grades give [2.35, 3.55], and turned
#            round [2.45, 3.65]. SciPy counts half of the ties and gives the same ends both times.
#
# Matters    Scores of evaluations are 0 and 1, or grades of a judge. Twenty passes and fails have an interval for the
#            pass rate that is not one minus that for the fail rate, and both ends are too low: a threshold passes or
#            fails by which of the two was asked for.
#
# evalsvc    Counts ties as half (evalsvc/stats/formulas/bca.py); a test turns the grades round.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check arch==8.0.0 numpy==2.2.6 scipy==1.15.3

"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
from arch.bootstrap import IIDBootstrap
from scipy.stats import bootstrap

GRADES = np.array([1, 2, 3, 4, 5] * 4, dtype=float)


def by_arch(scores):
    ends = IIDBootstrap(scores, seed=3).conf_int(np.mean, 2000, method="bca")[:, 0]
    return [round(float(end), 6) for end in ends]


def by_scipy(scores):
    found = bootstrap((scores,), np.mean, n_resamples=2000, method="BCa", random_state=np.random.default_rng(3))
    return [round(float(end), 6) for end in found.confidence_interval]


problems = []
for name, interval, is_mirrored in (("arch", by_arch, False), ("scipy", by_scipy, True)):
    plain, turned = interval(GRADES), interval(6 - GRADES)
    back = [round(6 - end, 6) for end in reversed(turned)]
    print(f"{name:5}  grades {plain}   turned round and back {back}")
    if (plain == back) is not is_mirrored:
        problems.append(name)
if by_arch(GRADES) != [2.35, 3.55] or by_arch(6 - GRADES) != [2.35, 3.55]:
    problems.append("the numbers of arch")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
