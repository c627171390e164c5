"""A bundle of 16 configs by 400 examples: out, in and counted again, within a few seconds."""

from __future__ import annotations

import time

from tests.conftest import Caller
from tests.experiments.conftest import live, recounted
from tests.experiments.pushing import Runner
from tests.factories import make_dataset, make_experiment
from tests.reports.bundles import exported, imported, manifest, without_ids

SECONDS = 60


def test_sixteen_by_four_hundred(alice: Caller, charlie: Caller) -> None:
    configs = [{"name": f"k={k}", "kind": "push", "parameters": {"k": k}} for k in range(16)]
    made = make_experiment(alice, make_dataset(alice, n=400), configs)
    for i in range(16):
        runner = Runner(alice, made, i)
        while unit := runner.lease(n=100)["unit"]:
            wrong = 16 - i
            rows = [
                {"pos": e["pos"], "output": "no" if e["pos"] % 16 < wrong else e["expected"]} for e in unit["examples"]
            ]
            runner.post(unit, rows)

    began = time.monotonic()
    bundle = exported(alice, made["id"])
    copy = imported(charlie, bundle)["experiment"]

    assert time.monotonic() - began < SECONDS
    assert {one["name"]: one["n_rows"] for one in manifest(bundle)["files"]}["outputs.jsonl"] == 6400
    assert recounted(charlie, copy["id"]) == []
    assert without_ids(live(charlie, copy["id"])) == without_ids(live(alice, made["id"]))
    assert manifest(exported(charlie, copy["id"]))["content_hash"] == manifest(bundle)["content_hash"]
