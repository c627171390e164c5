"""Recount comparisons from their judgements and report stored values that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import connections

from evalsvc.comparisons.models import OutputComparison
from evalsvc.comparisons.ranking import is_same_ranking, ranking_view
from evalsvc.evaluations.maintenance.sweep import Finding, recount_each
from evalsvc.tenancy.scope import current_role

RANKING_DIFFERS = "the ranking differs from the judgements"
# Each query lists the rows that violate what its key describes; none must return a row.
CHECKS = {
    "a comparison has ended and has open judgements": """
        SELECT j.id FROM comparisons_judgement j JOIN comparisons_outputcomparison c ON c.id = j.comparison_id
        WHERE c.id = %(comparison)s AND c.state <> 'running' AND j.state = 'open'""",
    "a judgement is of a config that is not compared, or in the other order": """
        SELECT j.id FROM comparisons_judgement j JOIN comparisons_outputcomparison c ON c.id = j.comparison_id
        WHERE c.id = %(comparison)s AND NOT coalesce(
          array_position(c.configs, j.first_id) < array_position(c.configs, j.second_id), false)""",
    "a comparison has more judgements than its budget": """
        SELECT c.id FROM comparisons_outputcomparison c WHERE c.id = %(comparison)s AND c.budget < (
          SELECT count(*) FROM comparisons_judgement j WHERE j.comparison_id = c.id)""",
    "two outputs that are the same were not judged a tie": """
        SELECT j.id FROM comparisons_judgement j JOIN comparisons_outputcomparison c ON c.id = j.comparison_id
        WHERE c.id = %(comparison)s AND c.judge ->> 'kind' = 'pairwise' AND j.first_hash = j.second_hash
          AND j.winner <> 'tie'""",
    "a judgement belongs to another account than its comparison": """
        SELECT j.id FROM comparisons_judgement j JOIN comparisons_outputcomparison c ON c.id = j.comparison_id
        WHERE c.id = %(comparison)s AND c.account_id <> j.account_id""",
}


def recount_comparison(comparison: OutputComparison) -> list[str]:
    """Return what is wrong with a comparison; run it in one snapshot."""
    problems = []
    with connections[current_role()].cursor() as cursor:
        for what, query in CHECKS.items():
            cursor.execute(query, {"comparison": comparison.pk})
            if cursor.fetchone() is not None:
                problems.append(what)
    if comparison.ranking is not None and not is_same_ranking(comparison.ranking, ranking_view(comparison)):
        problems.append(RANKING_DIFFERS)
    return problems


def recount_comparisons(account_id: int | None = None) -> Iterator[tuple[str, Finding | None]]:
    """Recount every comparison of every account, or of one, as the system role; yield each check and what it found."""
    rows = OutputComparison.objects.all()
    if account_id is not None:
        rows = rows.filter(account_id=account_id)

    def recount(id: int) -> Iterable[str]:
        comparison = OutputComparison.objects.filter(pk=id).first()
        return recount_comparison(comparison) if comparison else ()

    return recount_each("comparison", rows, (*CHECKS, RANKING_DIFFERS), recount)
