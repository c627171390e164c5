"""Perfect, empty, half: what a system is worth must not depend on how its data came in or how it was scored.

For every importer, every metric that fits its data and every way to a score, a perfect system scores 1, one that says
nothing 0, one that is perfect on every second example one half, and all ways agree to the last digit. Where silence is
no fault it passes, and a system that says what it must not scores 0; where silence has no value, no number is made up.
"""

from __future__ import annotations

import pytest

from evalsvc.stats.estimates.bounds import is_only_bounded
from evaluators.registry import families
from tests.ways.bench import WAYS, Bench
from tests.ways.cases import CASES, LEFT_OUT, Found

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("bench", CASES, indirect=True)
def test_a_system_is_worth_the_same_by_every_way(bench: Bench) -> None:
    found = {way: measure(bench) for way, measure in WAYS.items()}
    for way, by_system in found.items():
        for system in bench.case.systems:
            assert near(by_system[system], bench.case.worth(system)) == {}, (way, system)
            assert near(by_system[system], found["evaluate"][system]) == {}, (way, system)


def near(found: dict[str, Found], wanted: dict[str, Found]) -> dict[str, tuple[Found | None, Found | None]]:
    """The metrics in which two tables differ.

    An experiment has no estimate where a tenth or more of the scores are missing.
    """
    names = {
        name for name in found.keys() | wanted.keys() if found.get(name) != pytest.approx(wanted.get(name), abs=1e-12)
    }
    return {name: (found.get(name), wanted.get(name)) for name in names if not is_withheld(found, wanted, name)}


def is_withheld(found: dict[str, Found], wanted: dict[str, Found], name: str) -> bool:
    """Whether a metric has no estimate in one table because so many scores are missing, and is else the same."""
    mine, theirs = found.get(name), wanted.get(name)
    if mine is None or theirs is None or mine[1:] != theirs[1:] or None not in (mine.value, theirs.value):
        return False
    return is_only_bounded(mine.n, mine.n_error)


def test_every_evaluator_is_measured_or_left_out_with_a_reason() -> None:
    measured = {metric["evaluator"] for case in CASES.values() for metric in case.metrics.values()}
    for family in families():
        for spec in family.evaluators:
            if not spec.aliases:
                # A former version: tests of its own hold it to the scores that it gave.
                continue
            names = {spec.id, *spec.aliases}
            assert names & measured or names & LEFT_OUT.keys(), spec.id
    assert not measured & LEFT_OUT.keys()
