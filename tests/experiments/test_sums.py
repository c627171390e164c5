"""What is kept of scores is the same in the database and in Python, however it came there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.experiments.inference.estimates.figures import sums_of_row
from evalsvc.experiments.models import Aggregate, Score
from evalsvc.stats.basics.addition import add_sums
from evalsvc.stats.basics.sums import Sums, compute_sums
from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment
from tests.experiments.pushing import Runner

NA = "not_applicable"
EPSILON = 2.0**-52


@dataclass(frozen=True)
class Row:
    """One score as the tables hold it."""

    metric: str
    value: float | None
    denominator: float | None = None
    error: str | None = None


def rows_of(number: st.SearchStrategy[float]) -> st.SearchStrategy[list[Row]]:
    metric = st.sampled_from(["a", "b"])
    scored = st.builds(Row, metric, number, st.none() | number)
    failed = st.builds(Row, metric, st.none(), error=st.sampled_from([NA, "timeout", "no_output"]))
    return st.lists(scored | failed, max_size=60)


# So many bits that no sum of sixty squares is rounded: then the order of adding says nothing.
EXACT = st.integers(-(2**20), 2**20).map(lambda whole: whole / 64)
ROUNDED = st.floats(-1e100, 1e100).map(lambda number: number if abs(number) >= 1e-100 else 0.0)


def in_database(rows: Sequence[Row]) -> dict[str, tuple[Sums, int, int]]:
    """Return the sums, and how many failed or did not apply, by metric."""
    columns = [[getattr(row, name) for row in rows] for name in ("metric", "value", "denominator", "error")]
    sql = "SELECT * FROM sums_of_scores(%s::text[], %s::float8[], %s::float8[], %s::text[])"
    with connections["default"].cursor() as cursor:
        cursor.execute(sql, columns)
        return {metric: (Sums(n, *sums), n_error, n_na) for metric, n, n_error, n_na, *sums in cursor.fetchall()}


def by_hand(rows: Sequence[Row]) -> dict[str, tuple[Sums, int, int]]:
    """Return the same by the twin in Python."""
    return {metric: _of_one([row for row in rows if row.metric == metric]) for metric in {row.metric for row in rows}}


def _of_one(rows: Sequence[Row]) -> tuple[Sums, int, int]:
    scored = [row for row in rows if row.value is not None]
    n_na = sum(row.error == NA for row in rows)
    sums = compute_sums([row.value or 0.0 for row in scored], [row.denominator or 0.0 for row in scored])
    return sums, len(rows) - len(scored) - n_na, n_na


def largest_errors(rows: Sequence[Row]) -> dict[str, float]:
    """Return by how much each sum may be off where every addition rounds."""
    pairs = [(row.value, row.denominator or 0.0) for row in rows if row.value is not None]
    products = {
        "total": [value for value, _ in pairs],
        "squares": [value * value for value, _ in pairs],
        "den_total": [below for _, below in pairs],
        "den_squares": [below * below for _, below in pairs],
        "cross": [value * below for value, below in pairs],
    }
    return {name: len(pairs) * EPSILON * math.fsum(map(abs, found)) for name, found in products.items()}


@given(rows_of(EXACT))
def test_the_database_and_python_keep_the_same(rows: list[Row]) -> None:
    assert in_database(rows) == by_hand(rows)


@given(rows_of(ROUNDED))
def test_they_differ_by_no_more_than_rounding(rows: list[Row]) -> None:
    stored, counted = in_database(rows), by_hand(rows)

    assert stored.keys() == counted.keys()
    for metric, (sums, *counts) in stored.items():
        other, *others = counted[metric]
        assert (sums.n, sums.lowest, sums.highest, counts) == (other.n, other.lowest, other.highest, others)
        for name, error in largest_errors([row for row in rows if row.metric == metric]).items():
            assert abs(getattr(sums, name) - getattr(other, name)) <= error, name


@given(st.lists(rows_of(EXACT), min_size=1, max_size=4))
def test_parts_add_up_to_the_whole(parts: list[list[Row]]) -> None:
    whole = in_database([row for part in parts for row in part])
    found = [in_database(part) for part in parts]

    for metric, (sums, _, _) in whole.items():
        assert add_sums([part[metric][0] for part in found if metric in part]) == sums


def counted(config_id: int, metric: str) -> tuple[Any, ...]:
    rows = Score.objects.using("system").filter(config_id=config_id, metric=metric).order_by("pos")
    return _of_one([Row(metric, row.value, row.denominator, row.error_code) for row in rows])


def test_what_a_run_has_written_is_what_its_scores_add_up_to(alice: Caller) -> None:
    halves = {"name": "halves", "source": "/output/n", "value_range": [0, 8]}
    ratio = {"name": "ratio", "source": "/output/n", "denominator": "/output/of", "type": "ratio"}
    made = make_experiment(
        alice, make_dataset(alice, n=13), [{"name": "a", "kind": "push"}], metrics=[halves, ratio], num_shards=3
    )

    Runner(alice, made).run(lambda e: {"n": e["pos"] / 2, "of": 4} if e["pos"] % 5 else {"n": 1})

    config_id = int(made["configs"][0]["id"])
    for metric, scope in ((name, scope) for name in ("halves", "ratio") for scope in ("all", "prefix")):
        row = Aggregate.objects.using("system").get(config_id=config_id, metric=metric, scope=scope)
        assert (sums_of_row(row), row.n_error, row.n_na) == counted(config_id, metric)
        assert row.n > 0
