"""Exact match: does the output equal the gold answer?"""

from __future__ import annotations

from evaluators.base import EvaluatorSpec, Family, Field, Lane, ManagedProfile, Sample, Score, Settings, SettingsProblem
from evaluators.settings import object_schema, settings_problems
from evaluators.text.normalise import normalise_answer

STRICT = "strict"
NORMALISED = "normalised"


class ExactMatch(Family):
    """Compare output and gold answer, character for character or after normalisation.

    The evaluator's id names the comparison, so that a stored score says how it was made and no default can drift.
    """

    name = "exact-match"
    description = "Passes when the output equals the gold answer."
    lane = Lane.INLINE
    binary = True
    required_fields = (Field.OUTPUT, Field.GOLD)
    settings_schema = object_schema({})
    managed_profiles = (ManagedProfile("exact-match", "Compares as the evaluator's id says."),)
    evaluators = (
        EvaluatorSpec(
            id="exact-match-2026-11-01",
            name="Exact match",
            description="Every character counts: case, spaces and punctuation included.",
            aliases=("exact-match",),
            default_profile="exact-match",
            settings={"mode": STRICT},
        ),
        EvaluatorSpec(
            id="exact-match-normalised-2026-11-01",
            name="Exact match, normalised",
            description="Width, case, English articles, punctuation (signs excepted) and spacing do not count.",
            aliases=("exact-match-normalised", "exact-match-normalized"),
            default_profile="exact-match",
            settings={"mode": NORMALISED},
        ),
    )

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Accept only empty settings: the mode belongs to the evaluator's id."""
        return settings_problems(settings, self.settings_schema)

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        """Score 1 when output and gold are equal in the evaluator's mode (strict when none is given), else 0."""
        output, gold = sample.output or "", sample.gold or ""
        normalised = settings.get("mode") == NORMALISED
        if normalised:
            output, gold = normalise_answer(output), normalise_answer(gold)
        equal = output == gold
        return Score(
            value=float(equal),
            passed=equal,
            explanation=_explain(output, gold, normalised=normalised) if explain else None,
        )


def _explain(output: str, gold: str, *, normalised: bool) -> str:
    when = " after normalisation" if normalised else ""
    if output == gold:
        return f"The output equals the gold answer{when}."
    shared = min(len(output), len(gold))
    place = next((index for index in range(shared) if output[index] != gold[index]), shared)
    if place == shared:
        longer = "longer" if len(output) > len(gold) else "shorter"
        return f"The output is {longer} than the gold answer{when}: {len(output)} characters against {len(gold)}."
    return f"The output first differs from the gold answer at character {place + 1}{when}."
