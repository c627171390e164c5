"""SQL expressions for a score row `s`: its first answer, before any retry, and the value that it counts as.

Races, interim analyses and anytime-valid intervals use them: a score that has been counted is not replaced, so no one
can retry until a decision changes. Estimates and comparisons use the current values.
"""

from __future__ import annotations

from evalsvc.experiments.models import FAILED_OUTPUT

FIRST_VALUE = "(CASE WHEN s.first IS NULL THEN s.value ELSE (s.first ->> 'value')::float8 END)"
FIRST_DENOMINATOR = "(CASE WHEN s.first IS NULL THEN s.denominator ELSE (s.first ->> 'denominator')::float8 END)"
FIRST_ERROR = "(CASE WHEN s.first IS NULL THEN s.error_code ELSE s.first ->> 'error_code' END)"


def build_counted_value(value: str = "s.value", error: str = "s.error_code", *, worst: str = "%s") -> str:
    """Return SQL for the value that a score counts as: `worst` for a failed output, null where it is missing.

    `worst` is a parameter or an expression with the value of `Metric.get_failure_value`; null leaves failures out.
    """
    return f"(CASE WHEN {error} = '{FAILED_OUTPUT}' THEN {worst}::float8 ELSE {value} END)"
