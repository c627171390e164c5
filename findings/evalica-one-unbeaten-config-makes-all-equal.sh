#!/usr/bin/env bash
# Evalica: one config that never lost makes the strengths of all configs equal.
#
# Package    evalica 0.4.2 (rankings from pairwise comparisons; used for leaderboards of language models).
#
# Expected   `bradley_terry` computes strengths by maximum likelihood. Ford (1957, "Solution of a ranking problem from
#            binary comparisons") showed when finite strengths exist: however the configs are split in two groups,
#            each group must have a win against the other. A config without a loss breaks that rule, and its strength
#            grows without bound. It is still the best, and the odds of the others among themselves stay finite:
#            with 7 wins of `b` against `c` and 3 losses they are 7 to 3. A package can regularize, warn or refuse.
#
# Seen       With one loss in 20 comparisons, `a` leads as it should. Without that loss all three configs have the
#            strength 0.000001, `pairwise_frame` gives every pair 0.5, and there is no warning. `newman`, the model
#            with ties, does the same. The cause in `bradley_terry`: the geometric mean that strengths are divided by
#            is infinite, and the NaN that follow are replaced by the value of `tolerance`.
#            `bootstrap` resamples the comparisons, and a resample of 30 lacks the one loss with the probability
#            (29/30) ** 30 = 0.36. All strengths of such a resample are equal. The percentile interval of the clear
#            winner then begins at 0.000001, far below the estimates of the configs that it beats.
#
# Matters    With few examples an unbeaten candidate is common, and it is the result that a comparison hopes for.
#            The ranking then says that nothing differs.
#
# evalsvc    Strengths carry a small penalty, so they are finite, and every resample of an interval has two imagined
#            examples, in which each pair is won once from either side (docs/statistics.md, "Rankings"). Where `a` was
#            never beaten, it has rank 1 and an interval that is open above (null); where it was beaten once, rank 1
#            and the interval from 0.64 to 3.10, in log odds.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  evalica==0.4.2 numpy==2.2.6 pandas==2.3.3 scipy==1.15.3

"$folder/venv/bin/python" - <<'PYTHON'
import sys
import warnings

import evalica
from evalica import Winner

FLOOR = 1e-6
OTHERS = [("b", "c")] * 7 + [("c", "b")] * 3
UNBEATEN = OTHERS + [("a", "b")] * 10 + [("a", "c")] * 10
BEATEN_ONCE = OTHERS + [("a", "b")] * 10 + [("a", "c")] * 9 + [("c", "a")]


def columns(games):
    """The first of each pair has won."""
    return [first for first, _ in games], [second for _, second in games], [Winner.X] * len(games)


def strengths(method, games):
    return {name: round(float(value), 6) for name, value in sorted(method(*columns(games)).scores.items())}


problems = []


def check(claim, holds):
    if not holds:
        problems.append(claim)


with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for method in (evalica.bradley_terry, evalica.newman):
        once, never = strengths(method, BEATEN_ONCE), strengths(method, UNBEATEN)
        print(f"{method.__name__}, a beaten once:  {once}")
        print(f"{method.__name__}, a never beaten: {never}")
        check(f"{method.__name__} ranks a config that was beaten once", once["a"] > 10 * once["b"] > 10 * once["c"])
        check(f"{method.__name__} makes all equal with an unbeaten config", set(never.values()) == {FLOOR})
    odds = evalica.pairwise_frame(evalica.bradley_terry(*columns(UNBEATEN)).scores)
    print(f"chance of a against b, never beaten: {odds.loc['a', 'b']:.3f}")
    check("the unbeaten config has even chances", odds.loc["a", "b"] == 0.5)

    found = evalica.bootstrap(
        evalica.bradley_terry, *columns(BEATEN_ONCE), n_resamples=1000, bootstrap_method="percentile", random_state=0
    )
    level = float((abs(found.distribution - FLOOR) < 1e-9).all(axis=1).mean())
    print(f"resamples in which all are equal: {level:.3f}, by theory {(29 / 30) ** 30:.3f}")
    print(f"interval of a, beaten once: {found.low['a']:.6f} to {found.high['a']:.3f}")
    check("a third of the resamples have no order", abs(level - (29 / 30) ** 30) < 0.06)
    check("the interval of the winner begins at the floor", abs(found.low["a"] - FLOOR) < 1e-9)

check("there is no warning", not warned)
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
