"""SQL expressions for the first answer of a score row `s`: its values before any retry.

Races, interim analyses and anytime-valid intervals use them: a score that has been counted is not replaced, so no one
can retry until a decision changes. Estimates and comparisons use the current values.
"""

from __future__ import annotations

FIRST_VALUE = "(CASE WHEN s.first IS NULL THEN s.value ELSE (s.first ->> 'value')::float8 END)"
FIRST_DENOMINATOR = "(CASE WHEN s.first IS NULL THEN s.denominator ELSE (s.first ->> 'denominator')::float8 END)"
FIRST_ERROR = "(CASE WHEN s.first IS NULL THEN s.error_code ELSE s.first ->> 'error_code' END)"
