"""How the answers of configs ended: counts by ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connections

from evalsvc.experiments.models import Config
from evalsvc.judges.calls.endings import ENDINGS, ERROR, STOP
from evalsvc.tenancy.scope import current_role

# A stop is not stored, nor is an error where it is what the status says.
COUNTS = """
SELECT config_id, ending, is_ok, count(*)
FROM (
  SELECT o.config_id, coalesce(s.status, o.status) = 'ok' AS is_ok,
    CASE WHEN s.status IS NULL THEN o.ending WHEN s.status <> 'ok' THEN coalesce(s.ending, 'error') ELSE s.ending END
      AS ending
  FROM experiments_output o LEFT JOIN LATERAL jsonb_to_recordset(o.samples) AS s(ending text, status text) ON true
  WHERE o.config_id = ANY (%s) AND o.ending IS NOT NULL
) answers
WHERE ending IS NOT NULL
GROUP BY 1, 2, 3
"""


def count_endings(configs: Sequence[Config], *, n_samples: int = 1) -> dict[int, dict[str, int]]:
    """Return how many answers of each config ended how, in the order of ENDINGS and without zeros.

    Of several samples of an example each counts. Few answers end otherwise than by a stop, and only these are read.
    """
    named: dict[int, dict[tuple[str, bool], int]] = {config.pk: {} for config in configs}
    with connections[current_role()].cursor() as cursor:
        cursor.execute(COUNTS, [list(named)])
        for config_id, ending, is_ok, n in cursor.fetchall():
            named[config_id][ending, is_ok] = n
    return {config.pk: _complete(config, named[config.pk], n_samples) for config in configs}


def _complete(config: Config, named: Mapping[tuple[str, bool], int], n_samples: int) -> dict[str, int]:
    """Add what is not stored: answers that ended by a stop, and outputs that failed without an answer."""
    counts = dict.fromkeys(ENDINGS, 0)
    for (ending, _), n in named.items():
        counts[ending] += n
    if n_samples == 1:
        counts[ERROR] += config.n_error - sum(n for (_, is_ok), n in named.items() if not is_ok)
    counts[STOP] = (config.n_ok + config.n_error) * n_samples - sum(counts.values())
    return {ending: n for ending, n in counts.items() if n > 0}
