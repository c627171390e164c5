"""A bundle of pipelines that share a stage: what was asked once is carried once, without ids."""

from __future__ import annotations

import json
from threading import Thread

from tests.conftest import Caller
from tests.experiments.conftest import finish, live, make_dataset, make_experiment, recounted
from tests.experiments.piping import READER_EM, Rag, examples
from tests.reports.bundles import exported, forged, imported, manifest, members, send, without_ids
from tests.rest.shapes import assert_problem


def test_shared_stages_are_carried(alice: Caller, charlie: Caller) -> None:
    rag = Rag()
    Thread(target=rag.server.serve_forever, daemon=True).start()
    try:
        readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(2)]
        configs = [rag.pipeline(f"reader {i}", nodes={"reader": reader}) for i, reader in enumerate(readers)]
        made = make_experiment(alice, make_dataset(alice, examples(4)), configs, metrics=[READER_EM])
        finish(alice, made["id"])
    finally:
        rag.server.shutdown()
        rag.server.server_close()

    bundle = exported(alice, made["id"])
    copy = imported(charlie, bundle)["experiment"]

    assert {one["name"]: one["n_rows"] for one in manifest(bundle)["files"]}["stages.jsonl"] == 12
    assert recounted(charlie, copy["id"]) == []
    assert without_ids(live(charlie, copy["id"])) == without_ids(live(alice, made["id"]))
    assert manifest(exported(charlie, copy["id"]))["content_hash"] == manifest(bundle)["content_hash"]

    stage = json.loads(members(bundle)["stages.jsonl"].splitlines()[0])["key"]
    lost = forged(bundle, "outputs.jsonl", lambda content: content.replace(stage.encode(), b"0" * 64))
    assert "stages" in assert_problem(send(charlie, lost), "validation_failed", "/file")["errors"][0]["detail"]
