"""What a race promises, by simulation: the best is kept as often as stated, and a designer's hindsight wins nothing."""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.race.elimination import (
    Contender,
    Rules,
    advance,
    advance_all,
    decide,
    differences,
    e_value,
    new_pair,
)


def race(scores: np.ndarray, drawn: Rules) -> set[int]:
    """Look after every tenth example; return the configs left."""
    left = set(range(len(scores)))
    found = {(a, b): new_pair(a, b, 0, None) for a in left for b in left if a != b}
    for end in range(10, 401, 10):
        racing = [pair for key, pair in found.items() if set(key) <= left]
        rows = [differences(scores[p.winner, end - 10 : end], scores[p.loser, end - 10 : end]) for p in racing]
        found |= {(p.winner, p.loser): p for p in advance_all(racing, rows, 400, None)}
        contenders = [Contender(i, i + 1, 0, end, i in left) for i in range(len(scores))]
        left -= {drop.loser for drop in decide(drawn, contenders, found)}
    return left


def test_race_safe_keeps_the_best_of_equals_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    kept = 0
    for _ in range(60):
        # Six configs, the last better by a single example: whoever stops it does so by chance.
        scores = np.array([rng.permutation(np.repeat([1.0, 0.0], [240 + (i == 5), 160 - (i == 5)])) for i in range(6)])
        kept += 5 in race(scores, Rules("race_safe", 0.8, 6, 6, None, 400, (400,)))

    # Three standard errors below four in five.
    assert kept / 60 >= 0.8 - 3 * math.sqrt(0.16 / 60)


def test_a_designer_who_saw_the_answers_wins_nothing_by_them() -> None:
    rng = np.random.default_rng(8)
    won = won_by_hindsight = 0
    for _ in range(100):
        original = (rng.random(400) < 0.7).astype(float)
        poor = (rng.random(400) < 0.5).astype(float)
        clone = np.r_[np.maximum(original, rng.random(400) < 0.9)[:200], poor[200:]]
        honest = new_pair(2, 1, 200, None)
        naive = new_pair(2, 1, 0, None)
        reached = [False, False]
        for end in range(10, 401, 10):
            row = differences(clone[end - 10 : end], original[end - 10 : end])
            naive = advance(naive, row, 400, None)
            honest = advance(honest, row, 400, None) if end > 200 else honest
            reached = [reached[0] or e_value(honest) >= 20.0, reached[1] or e_value(naive) >= 20.0]
        won += reached[0]
        won_by_hindsight += reached[1]

    assert won <= 5
    assert won_by_hindsight >= 95
