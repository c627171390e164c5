"""The scores of one metric of many configs, side by side, as comparisons read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db import connections

from evalsvc.experiments.definition.failures import OWN_FAULTS
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.firsts import FIRST_ERROR, FIRST_VALUE, build_counted_value
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.tenancy.scope import current_role

NOT_APPLICABLE = "not_applicable"
SCORES = f"""
SELECT s.config_id, s.pos, {build_counted_value(worst="%(worst)s")}, s.error_code,
  {build_counted_value(FIRST_VALUE, FIRST_ERROR, worst="%(worst)s")}, {FIRST_ERROR}
FROM experiments_score s
WHERE s.config_id = ANY (%(configs)s) AND s.metric = %(metric)s AND s.pos >= %(first)s AND s.pos < %(last)s
  AND (s.value IS NOT NULL OR s.error_code IN ('not_applicable', 'failed_output') OR s.first IS NOT NULL)
"""  # noqa: S608  # nosec B608  names are ours
# Outputs of earlier releases, the scores of which do not tell who was at fault.
FAULTS = """
SELECT config_id, pos FROM experiments_output
WHERE config_id = ANY (%s) AND pos >= %s AND pos < %s AND coalesce(first_error, error_type) = ANY (%s)
"""


class Sheet:
    """Reads scores by position; the last range is cached, because two kinds of pairs request the same one.

    A failed output has the value that it counts as with the plan's `failures`.
    """

    def __init__(self, metric: Metric, config_ids: Sequence[int], failures: str) -> None:
        self._metric = metric
        self._config_ids = list(config_ids)
        self._worst = metric.get_failure_value(failures)
        self._range = (0, 0)
        self._scores: dict[int, FloatArray] = {}
        self._firsts: dict[int, FloatArray] = {}

    def read(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return the scores of every config at positions [first, last), on the scale on which configs are compared.

        NaN where a score is missing, infinite where the metric does not apply to the example.
        """
        self._ensure(first, last)
        return self._scores

    def read_firsts(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return the same of first answers: as if nothing had been retried."""
        self._ensure(first, last)
        return self._firsts

    def _ensure(self, first: int, last: int) -> None:
        if self._range == (first, last):
            return
        scores, firsts = (
            {config_id: np.full(last - first, np.nan) for config_id in self._config_ids} for _ in range(2)
        )
        with connections[current_role()].cursor() as cursor:
            values = {"configs": self._config_ids, "metric": self._metric.name, "worst": self._worst}
            cursor.execute(SCORES, values | {"first": first, "last": last})
            for config_id, pos, value, error, first_value, first_error in cursor.fetchall():
                scores[config_id][pos - first] = self._scale_score(value, error)
                firsts[config_id][pos - first] = self._scale_score(first_value, first_error)
        self._scores, self._firsts, self._range = scores, firsts, (first, last)

    def _scale_score(self, value: float | None, error: str | None) -> float:
        if value is not None:
            return self._metric.to_comparable(value)
        return np.inf if error == NOT_APPLICABLE else np.nan

    def read_with_faults(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return first answers, with the worst score there is where a config failed by its own fault."""
        scores = {config_id: row.copy() for config_id, row in self.read_firsts(first, last).items()}
        with connections[current_role()].cursor() as cursor:
            cursor.execute(FAULTS, [self._config_ids, first, last, list(OWN_FAULTS)])
            for config_id, pos in cursor.fetchall():
                # What is missing, and no more: there are scores that do not need an output.
                if np.isnan(scores[config_id][pos - first]):
                    scores[config_id][pos - first] = 0.0
        return scores
