"""First answers, as SQL over a score `s`: what stood there before a retry.

A race decides by them, and so do looks and watched intervals: what was weighed once is not weighed anew, and nobody can
ask again until a decision comes out otherwise. Estimates and comparisons show what stands there now.
"""

from __future__ import annotations

FIRST_VALUE = "(CASE WHEN s.first IS NULL THEN s.value ELSE (s.first ->> 'value')::float8 END)"
FIRST_DENOMINATOR = "(CASE WHEN s.first IS NULL THEN s.denominator ELSE (s.first ->> 'denominator')::float8 END)"
FIRST_ERROR = "(CASE WHEN s.first IS NULL THEN s.error_code ELSE s.first ->> 'error_code' END)"
