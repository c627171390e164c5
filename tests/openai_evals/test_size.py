"""Ten thousand rows: stored in one call and graded by workers, and once, also where the server is killed meanwhile."""

from __future__ import annotations

import io
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from openai import OpenAI

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import Caller, stop_group, wait_until
from tests.experiments.conftest import finish
from tests.openai_evals.shapes import NUMBER, SAME, make_eval, row
from tests.serving import CONFIGURED, answers, start_web

N = 10_000
COUNTS = {"total": N, "passed": N * 3 // 4, "failed": N // 4, "errored": 0}


def make_source(client: OpenAI) -> Any:
    rows = [row("a", "a" if i % 4 else "b", n=7, i=i) for i in range(N)]
    lines = "\n".join(json.dumps(sent) for sent in rows).encode()
    file = client.files.create(file=("rows.jsonl", io.BytesIO(lines)), purpose="evals")
    return {"type": "jsonl", "source": {"type": "file_id", "id": file.id}}


def grade(client: OpenAI, alice: Caller, run: Any) -> Any:
    finish(alice, run.model_extra["evalsvc"]["experiment_id"], seconds=300)
    return client.evals.runs.retrieve(run.id, eval_id=run.eval_id)


def test_ten_thousand_rows_are_graded_by_workers(client: OpenAI, alice: Caller) -> None:
    made = make_eval(client, SAME, NUMBER)
    run = client.evals.runs.create(made.id, data_source=make_source(client))

    assert (run.status, run.per_testing_criteria_results, run.result_counts.total) == ("in_progress", [], 0)
    assert list(client.evals.runs.output_items.list(run.id, eval_id=made.id)) == []
    run = grade(client, alice, run)
    assert run.status == "completed"
    assert run.result_counts.to_dict() == COUNTS
    items = client.evals.runs.output_items.list(run.id, eval_id=made.id, limit=100, status="fail")
    assert [item.datasource_item_id for item in items] == list(range(0, N, 4))


def test_a_server_that_is_killed_leaves_one_run(alice: Caller) -> None:
    """The client sends the call again by itself; whenever the server ends, one run is there afterwards."""
    log = Path(os.environ["EVALSVC_HOME"]) / "openai-evals-killed.log"
    with listen_on_free_port("127.0.0.1", 0) as listener, ThreadPoolExecutor(1) as beside:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = start_web(listener, log, CONFIGURED, EVALSVC_WEB_WORKERS="1")
        try:
            wait_until(lambda: answers(f"{url}/readyz"))
            client = OpenAI(base_url=f"{url}/v1", api_key=alice.key, max_retries=20)
            made, source = make_eval(client, SAME, NUMBER), make_source(client)
            call = beside.submit(client.evals.runs.create, made.id, data_source=source)
            time.sleep(2)
            stop_group(server)
            server = start_web(listener, log, CONFIGURED, EVALSVC_WEB_WORKERS="1")
            run = grade(client, alice, call.result(timeout=300))
            assert run.result_counts.to_dict() == COUNTS
            assert [row.id for row in client.evals.runs.list(made.id)] == [run.id]
            assert len(alice.get("/v1/experiments").json()["experiments"]) == 1
            assert len(alice.get("/v1/datasets").json()["datasets"]) == 1
        finally:
            stop_group(server)
