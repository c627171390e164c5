"""The live view: cheap for many watchers, right for each of them, and the results as files."""

from __future__ import annotations

import csv
import io
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from tests.conftest import Caller
from tests.experiments.conftest import live, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner
from tests.experiments.shapes import filled_experiment


def test_an_unchanged_view_costs_a_watcher_three_small_queries(alice: Caller) -> None:
    run = filled_experiment(alice)
    path = f"/v1/experiments/{run.id}/live"
    etag = alice.get(path)["ETag"]
    with CaptureQueriesContext(connections["default"]) as queries:
        answer = alice.get(path, If_None_Match=etag)
    assert (answer.status_code, answer.content) == (304, b"")
    selects = [
        query["sql"]
        for query in queries
        if query["sql"].lstrip().startswith("SELECT") and "set_config" not in query["sql"]
    ]
    assert len(selects) <= 2, selects


def test_the_cost_of_a_view_does_not_grow_with_the_examples(alice: Caller) -> None:
    counts = []
    for n in (20, 200):
        made = make_experiment(alice, make_dataset(alice, n=n), [{"name": name, "kind": "push"} for name in "abc"])
        for i in range(3):
            Runner(alice, made, i).run()
        alice.get("/v1/whoami")  # a key is remembered for half a minute, and this may have taken longer
        with CaptureQueriesContext(connections["default"]) as queries:
            ok(alice.get(f"/v1/experiments/{made['id']}/live"))
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 13


def test_the_tag_changes_with_every_step(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=30), [{"name": "a", "kind": "push"}])
    runner = Runner(alice, made)
    path = f"/v1/experiments/{made['id']}/live"
    tags = [alice.get(path)["ETag"]]
    while unit := runner.lease()["unit"]:
        runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
        tags.append(alice.get(path)["ETag"])
    assert len(set(tags)) == len(tags) == 4
    assert alice.get(path, If_None_Match=tags[0]).status_code == 200


def test_looks_are_the_estimates_at_the_end_of_each_shard(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), [{"name": "a", "kind": "push"}], num_shards=4)
    runner = Runner(alice, made)
    runner.run(lambda e: e["expected"] if e["pos"] < 20 else "wrong")
    found = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))
    assert found["shard_ends"] == [10, 20, 30, 40]
    looks = found["looks"][runner.config]
    assert [(look["shard"], look["n"], round(look["value"], 3)) for look in looks] == [
        (1, 10, 1.0),
        (2, 20, 1.0),
        (3, 30, 0.667),
        (4, 40, 0.5),
    ]
    assert all(look["lower"] < look["upper"] for look in looks)
    assert {look["covers"] for look in looks} == {"new data"}
    assert looks[2]["this_set"]["lower"] < looks[2]["this_set"]["upper"]
    assert looks[3]["this_set"] == {"lower": 0.5, "upper": 0.5}


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_results_come_as_pages_and_as_files_with_the_same_rows(alice: Caller) -> None:
    run = filled_experiment(alice)
    path = f"/v1/experiments/{run.id}/results"
    pages: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = ok(alice.get(f"{path}?limit=7{cursor and '&cursor='}{cursor}"))
        pages += page["results"]
        cursor = page["next_cursor"]
    sheet = rows_of(b"".join(alice.get(f"{path}?format=csv").streaming_content))
    table = pq.read_table(io.BytesIO(b"".join(alice.get(f"{path}?format=parquet").streaming_content))).to_pylist()
    assert len(pages) == len(sheet) == len(table) == 30
    key = ("config_id", "pos")
    first = {(row["config_id"], row["pos"]): row["scores"]["accuracy"]["value"] for row in pages}
    assert first == {tuple(row[name] for name in key): row["accuracy"] for row in table}
    assert first == {(row["config_id"], int(row["pos"])): float(row["accuracy"]) for row in sheet}
    only = ok(alice.get(f"{path}?config_id={run.configs[0]}"))["results"]
    assert {row["config_id"] for row in only} == {run.configs[0]}


@pytest.mark.parametrize("query", ["?format=xml", "?limit=0", "?cursor=x", "?config_id=-1", "?surprise=1"])
def test_it_refuses_bad_questions(alice: Caller, query: str) -> None:
    run = filled_experiment(alice)
    assert alice.get(f"/v1/experiments/{run.id}/results{query}").status_code == 422


def test_strategies_of_the_seed_and_ours_answer_as_they_are_named(alice: Caller) -> None:
    dataset = make_dataset(alice, n=40)
    found = {}
    for strategy in ("normal", "wilson", "hoeffding", "exact", "t", "hoeffding-serfling", "anytime"):
        made = make_experiment(alice, dataset, [{"name": "a", "kind": "push"}], strategy=strategy)
        runner = Runner(alice, made)
        unit = runner.lease()["unit"]
        runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
        found[strategy] = live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]
    assert {view["strategy"] for view in found.values()} == set(found)
    asked = {name: view["requested"] for name, view in found.items()}
    assert {name: view["strategy"] for name, view in asked.items()} == {name: name for name in found}
    widths = {name: view["upper"] - view["lower"] for name, view in asked.items()}
    assert widths["normal"] == 0 and "degenerate" in asked["normal"]["warnings"]
    assert all(width > 0 for name, width in widths.items() if name != "normal")
    assert asked["anytime"]["safe"] == "safe while watched"
    assert asked["exact"]["safe"] == "one look"
    assert len({(view["lower"], view["upper"], view["covers"]) for view in found.values()}) == 1
    decided = found["exact"]["decision_interval"]
    assert decided["level"] == pytest.approx(1 - 0.05 / 7)
    assert decided["lower"] < asked["exact"]["lower"]


def test_verify_finds_an_experiment_whose_books_were_changed(alice: Caller) -> None:
    from evalsvc.experiments.maintenance.recount import recount_all

    run = filled_experiment(alice)
    account = alice.account.pk
    assert [finding for _, finding in recount_all(account) if finding] == []
    with connections["system"].cursor() as cursor:
        cursor.execute("UPDATE experiments_aggregate SET total = total + 1 WHERE config_id = %s", [run.configs[0]])
        cursor.execute("UPDATE experiments_config SET n_ok = n_ok + 1 WHERE id = %s", [run.configs[1]])
    try:
        after = {what: finding.n for what, finding in recount_all(account) if finding}
        assert not ok(alice.get(f"/v1/experiments/{run.id}/recount"))["equal"]
    finally:
        with connections["system"].cursor() as cursor:
            cursor.execute("UPDATE experiments_aggregate SET total = total - 1 WHERE config_id = %s", [run.configs[0]])
            cursor.execute("UPDATE experiments_config SET n_ok = n_ok - 1 WHERE id = %s", [run.configs[1]])
    assert after == {
        "experiment: the running sums differ from the scores": 1,
        "experiment: the counters differ from the outputs": 1,
    }
