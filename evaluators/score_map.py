"""A profile's map from an evaluator's own scores to probabilities, fitted to labels.

The profile's threshold and every reported score are in the map's units. The family does not depend on the map: it
receives the threshold in its own units, and its score is mapped afterwards.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from evaluators.settings import SettingsProblem
from evaluators.values import JSONValue, Settings

NAME = "score_map"
MOST_STEPS = 500
NOTHING_PASSES = math.nextafter(1.0, 2.0)
_SHARE: dict[str, JSONValue] = {"type": "number", "minimum": 0, "maximum": 1}
SCORE_MAP: dict[str, JSONValue] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_STEPS,
    "items": {
        "type": "object",
        "properties": {"score": _SHARE, "probability": _SHARE},
        "required": ["score", "probability"],
        "additionalProperties": False,
    },
    "description": "Makes scores probabilities: from each `score` on, the answer is `probability`. Both rise from step "
    "to step. `pass_threshold` is then a probability too.",
}


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """Steps in rising order: from each of `starts` on, the probability at the same place of `probabilities`."""

    starts: tuple[float, ...]
    probabilities: tuple[float, ...]

    def probability_of(self, score: float) -> float:
        """Return the probability of a score; what lies below the first step has the first one's."""
        return self.probabilities[max(bisect_right(self.starts, score) - 1, 0)]

    def lowest_score_of(self, probability: float) -> float:
        """Return the lowest score with at least this probability; one above 1 where no score has it."""
        first = bisect_left(self.probabilities, probability)
        if first == len(self.starts):
            return NOTHING_PASSES
        return self.starts[first] if first else 0.0


def get_score_map(settings: Settings) -> ScoreMap | None:
    """Return the map of settings that `check_settings` has let through; None where they have none."""
    if not (steps := _pairs(settings)):
        return None
    starts, probabilities = zip(*steps, strict=True)
    return ScoreMap(starts, probabilities)


def score_map_problems(settings: Settings) -> Iterator[SettingsProblem]:
    """Find steps that do not rise."""
    steps = _pairs(settings)
    for index in range(1, len(steps)):
        for name, before, after in zip(("score", "probability"), steps[index - 1], steps[index], strict=True):
            if after <= before:
                yield SettingsProblem(f"/{NAME}/{index}/{name}", f"must be above {before:g}, that of the step before")


def _pairs(settings: Settings) -> list[tuple[float, float]]:
    steps = settings.get(NAME)
    return [(float(str(step["score"])), float(str(step["probability"]))) for step in _mappings(steps)]


def _mappings(steps: JSONValue) -> list[dict[str, JSONValue]]:
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
