"""The scores of one metric of many configs, side by side, as comparisons read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db import connections

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.failures import get_worst_value
from evalsvc.experiments.inference.firsts import FIRST_ERROR, FIRST_VALUE
from evalsvc.experiments.models import FAILED_OUTPUT, OWN_FAULTS, ExperimentPlan
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.tenancy.scope import current_role

NOT_APPLICABLE = "not_applicable"
SCORES = f"""
SELECT s.config_id, s.pos, s.value, s.error_code, {FIRST_VALUE}, {FIRST_ERROR} FROM experiments_score s
WHERE s.config_id = ANY (%s) AND s.metric = %s AND s.pos >= %s AND s.pos < %s
  AND (s.value IS NOT NULL OR s.error_code IN ('not_applicable', '{FAILED_OUTPUT}') OR s.first IS NOT NULL)
"""  # noqa: S608  # nosec B608  names are ours
FAULTS = """
SELECT config_id, pos FROM experiments_output
WHERE config_id = ANY (%s) AND pos >= %s AND pos < %s AND coalesce(first_error, error_type) = ANY (%s)
"""


class Sheet:
    """Reads scores by position; the last range is cached, because two kinds of pairs request the same one."""

    def __init__(self, plan: ExperimentPlan, metric: Metric, config_ids: Sequence[int]) -> None:
        self._metric = metric
        self._worst = get_worst_value(plan, metric)
        self._config_ids = list(config_ids)
        self._range = (0, 0)
        self._scores: dict[int, FloatArray] = {}
        self._firsts: dict[int, FloatArray] = {}

    def read(self, first: int, last: int) -> dict[int, FloatArray]:
        """Return the scores of every config at positions [first, last), on the scale on which configs are compared.

        The worst where an output failed, unless the plan excludes failures; NaN where a score is missing, infinite
        where the metric does not apply to the example.
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
            cursor.execute(SCORES, [self._config_ids, self._metric.name, first, last])
            for config_id, pos, value, error, first_value, first_error in cursor.fetchall():
                scores[config_id][pos - first] = self._scale_score(value, error)
                firsts[config_id][pos - first] = self._scale_score(first_value, first_error)
        self._scores, self._firsts, self._range = scores, firsts, (first, last)

    def _scale_score(self, value: float | None, error: str | None) -> float:
        if value is None and error == FAILED_OUTPUT:
            value = self._worst
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
