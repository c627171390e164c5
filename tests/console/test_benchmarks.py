"""Benchmarks: the latest result of each, and the executions of one, each with its interval."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.experiments.reporting.words import interval
from evalsvc.reports.words import interval_text, value_text
from tests.conftest import Caller
from tests.console.comparing import topical
from tests.console.conftest import Visitor
from tests.factories import make_dataset, ok
from tests.nightly.shapes import execute, executions, new_benchmark


def test_an_account_without_one_is_told_what_they_are(reader: Visitor) -> None:
    assert "No benchmark yet" in reader.text("benchmarks")


def test_the_list_has_the_latest_result_of_each(alice: Caller, reader: Visitor) -> None:
    benchmark = new_benchmark(alice, n=30, name="nightly sums")
    execute(alice, benchmark, set(range(9)))
    execute(alice, benchmark, set(range(3)), model="m-2")
    page = reader.text("benchmarks")

    (newest, _) = executions(alice, benchmark)["executions"]
    found = newest["metrics"]["accuracy"]
    assert f'href="{reader.at()}benchmarks/{benchmark["id"]}"' in page and "nightly sums" in page
    assert f'<span class="value">{value_text(found)}</span>' in page
    assert interval_text(found) in page


def test_each_execution_has_its_interval_and_the_newest_its_comparison(alice: Caller, reader: Visitor) -> None:
    benchmark = new_benchmark(alice, n=60)
    execute(alice, benchmark, set(range(30)), model="m-1")
    execute(alice, benchmark, set(), model="m-2")
    page = reader.text(f"benchmarks/{benchmark['id']}")

    for row in executions(alice, benchmark)["executions"]:
        found = row["metrics"]["accuracy"]
        assert interval_text(found) in page
        assert f'href="{reader.at()}experiments/{row["experiment_id"]}"' in page
    (newest,) = executions(alice, benchmark, "limit=1")["executions"]
    found = newest["against_last"]["comparison"]
    assert f"accuracy: #2 is better than #1 by 0.50 {interval(found['lower'], found['upper'])}." in page
    assert "m-2" in page and ">model<" in page


@pytest.mark.parametrize("cluster_by", [None, "metadata.topic"])
def test_eight_executions_take_few_queries(alice: Caller, reader: Visitor, cluster_by: str | None) -> None:
    dataset = make_dataset(alice, topical(10))
    plan: dict[str, Any] = {"cluster_by": cluster_by} if cluster_by else {}
    benchmark = new_benchmark(alice, dataset_id=dataset, **plan)
    for i in range(8):
        execute(alice, benchmark, {i})

    assert reader.n_queries(f"benchmarks/{benchmark['id']}") <= 15
    assert reader.n_queries("benchmarks") <= 15


def test_a_stranger_finds_none(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    benchmark = new_benchmark(alice, n=10, name="ours alone")

    assert reader.get(f"benchmarks/{benchmark['id']}").status_code == 200
    assert stranger.get(f"benchmarks/{benchmark['id']}").status_code == 404
    assert "ours alone" not in stranger.text("benchmarks")
    assert ok(alice.get("/v1/benchmarks"))["benchmarks"][0]["name"] == "ours alone"
