"""A family that answers by itself and, in another of its evaluators, by a judge."""

from __future__ import annotations

from evaluators.base import Family, Lane, Settings, SettingsProblem
from evaluators.settings import settings_problems

JUDGE = "judge"


class FamilyWithJudge(Family):
    """Its evaluators with `variant: judge` ask an LLM (`score_with`), under the same profiles as the others."""

    def check_settings(self, settings: Settings) -> list[SettingsProblem]:
        """Check the settings against the family's schema."""
        return settings_problems(settings, self.settings_schema)

    def lane_of(self, settings: Settings) -> Lane:
        """Send what asks a judge to the judges."""
        return Lane.JUDGE if settings.get("variant") == JUDGE else self.lane
