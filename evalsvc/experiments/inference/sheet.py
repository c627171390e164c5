"""The scores of one metric of many configs, side by side, as comparisons read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.tenancy.scope import current_role

NOT_APPLICABLE = "not_applicable"
SCORES = """
SELECT config_id, pos, value FROM experiments_score
WHERE config_id = ANY (%s) AND metric = %s AND pos >= %s AND pos < %s
  AND (value IS NOT NULL OR error_code = 'not_applicable')
"""


# What a config brings upon itself. An outage, a limit or an empty purse is nobody's fault, so it loses nobody a race.
OWN_FAULTS = ("timeout", "refused", "bad_output", "bug")
FAULTS = """
SELECT config_id, pos FROM experiments_output
WHERE config_id = ANY (%s) AND pos >= %s AND pos < %s AND status <> 'ok' AND error_type = ANY (%s)
"""


class Sheet:
    """Reads scores by positions; what was read last is remembered, as two kinds of pairs ask for the same."""

    def __init__(self, metric: Metric, config_ids: Sequence[int]) -> None:
        self._metric = metric
        self._config_ids = list(config_ids)
        self._range = (0, 0)
        self._scores: dict[int, FloatArray] = {}

    def read(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return the scores of every config at positions [first, last), on the scale on which configs are compared.

        NaN where a score is missing, infinite where the metric does not apply to the example.
        """
        if self._range != (first, last):
            self._scores = self._read(first, last)
            self._range = (first, last)
        return self._scores

    def _read(self, first: int, last: int) -> dict[int, FloatArray]:
        scores = {config_id: np.full(last - first, np.nan) for config_id in self._config_ids}
        with connections[current_role()].cursor() as cursor:
            cursor.execute(SCORES, [self._config_ids, self._metric.name, first, last])
            for config_id, pos, value in cursor.fetchall():
                scores[config_id][pos - first] = np.inf if value is None else self._metric.compared(value)
        return scores

    def with_faults(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return the same, with the worst score there is where a config failed by its own fault."""
        scores = {config_id: row.copy() for config_id, row in self.read(first, last).items()}
        with connections[current_role()].cursor() as cursor:
            cursor.execute(FAULTS, [self._config_ids, first, last, list(OWN_FAULTS)])
            for config_id, pos in cursor.fetchall():
                # What is missing, and no more: there are scores that do not need an output.
                if np.isnan(scores[config_id][pos - first]):
                    scores[config_id][pos - first] = 0.0
        return scores
