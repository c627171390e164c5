"""The trials of the tests that two configs share: what lost ones could change, and which tests got worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.estimates.trials import MOST_TESTS, TestTrials, place_scores, read_keys, read_trials
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.stats.estimates.flakiness import adjust_holm, compute_worse_p
from evalsvc.stats.pairs.common import Common, with_lost_trials
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, WORSE

Counts = dict[int, tuple[int, int]]
"""By position, how many trials of a test passed, and how many ran."""


@dataclass(frozen=True, slots=True)
class PairedTrials:
    """The trials of two configs, and the positions of each test in both."""

    plans: tuple[ExperimentPlan, ExperimentPlan]
    trials: tuple[TestTrials, TestTrials]
    positions: NDArray[np.int_]
    """Shape (n, 2)."""

    def add_lost(self, common: Common) -> Common:
        """Return a comparison with what lost trials could change."""
        first, second = (
            place_scores(self.trials[i], self.plans[i].n_examples).take(self.positions[:, i]) for i in (0, 1)
        )
        return with_lost_trials(common, first, second)

    def screen(self, level: float) -> dict[str, Any]:
        """Return which tests the first config passes less often, and more often, than the second.

        Both are one-sided tests; with each, at the level, no test is named that is equal. Those with the smallest
        p-values are listed.
        """
        counts = _count_by_position(self.trials[0]), _count_by_position(self.trials[1])
        places = [(pos, other) for pos, other in self.positions.tolist() if pos in counts[0] and other in counts[1]]
        pairs = [(counts[0][pos], counts[1][other]) for pos, other in places]
        worse = adjust_holm([compute_worse_p(*first, *second) for first, second in pairs])
        better = adjust_holm([compute_worse_p(*second, *first) for first, second in pairs])
        words = [
            WORSE if down <= 1.0 - level else BETTER if up <= 1.0 - level else INCONCLUSIVE
            for down, up in zip(worse, better, strict=True)
        ]
        listed = sorted(range(len(places)), key=lambda i: (min(worse[i], better[i]), places[i]))[:MOST_TESTS]
        keys = read_keys(self.plans[0].pk, [places[i][0] for i in listed])
        return {
            "level": level,
            "n_tests": len(places),
            "n_worse": words.count(WORSE),
            "n_better": words.count(BETTER),
            "tests": [_test_out(places[i], pairs[i], words[i], min(worse[i], better[i]), keys) for i in listed],
        }


def read_paired_trials(
    sides: Sequence[tuple[ExperimentPlan, Config, Metric]], positions: Sequence[Sequence[int]]
) -> PairedTrials | None:
    """Return the trials of two configs on the tests that both have; None for a metric without trials."""
    if not positions or any(metric.trials is None for _, _, metric in sides):
        return None
    first, second = (
        read_trials(plan, [metric], [config]).get((config.pk, metric.name)) for plan, config, metric in sides
    )
    if first is None or second is None:
        return None
    return PairedTrials((sides[0][0], sides[1][0]), (first, second), np.array(positions))


def _count_by_position(trials: TestTrials) -> Counts:
    columns = (trials.positions.tolist(), trials.counts.passed.tolist(), trials.counts.ran.tolist())
    return {pos: (passed, ran) for pos, passed, ran in zip(*columns, strict=True)}


def _test_out(
    place: tuple[int, int], counts: Sequence[tuple[int, int]], word: str, p_value: float, keys: Mapping[int, str]
) -> dict[str, Any]:
    a, b = ({"pos": pos, "n_passed": passed, "n_trials": ran} for pos, (passed, ran) in zip(place, counts, strict=True))
    return {"example_id": keys.get(place[0]), "a": a, "b": b, "word": word, "adjusted_p": p_value}
