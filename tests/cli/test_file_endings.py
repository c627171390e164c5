"""The finish reasons of a file count on every way in, by the rule of experiments."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, InvalidError
from evalsvc.datasets.importers.outputs import parse_outputs
from evalsvc.datasets.importers.reader import Upload
from tests.caller import Caller
from tests.cli.inside import invoke
from tests.datasets.ending_files import ENDING_FILES, ENDINGS, EndingFile
from tests.factories import ok

FILE_BY_NAME = pytest.mark.parametrize("file", ENDING_FILES, ids=lambda file: file.name)
METRICS = json.dumps([{"name": "em", "evaluator": "exact-match"}])


@pytest.fixture
def client(shell: dict[str, str]) -> Iterator[Client]:
    with Client(shell["EVALSVC_URL"], shell["EVALSVC_API_KEY"]) as client:
        yield client


def read_config(caller: Caller, id: str) -> dict[str, Any]:
    (config,) = ok(caller.get(f"/v1/experiments/{id}/live"))["configs"]
    return dict(config)


@FILE_BY_NAME
def test_service_client_and_command_line_agree(
    client: Client, shell: dict[str, str], alice: Caller, tmp_path: Path, file: EndingFile
) -> None:
    path = tmp_path / file.name
    path.write_bytes(file.content)

    posted = client.experiments_api.score_file((file.name, file.content), {"metrics": METRICS})["experiment_id"]
    scored = client.score_file(path, "exact-match")
    done = invoke("evaluate", "exact-match", "--file", str(path), "--json", env=shell)
    printed = json.loads(done.stdout)["files"][0]

    for id in (posted, str(scored.experiment_id), printed["experiment_id"]):
        config = read_config(alice, id)
        (metric,) = config["metrics"].values()
        assert (config["endings"], metric["value"]) == (ENDINGS, 0.25)
    assert scored.parameters["columns"]["finish_reason"] == [file.column]
    assert {"field": "finish_reason", "column": file.column} in [
        {name: use[name] for name in ("field", "column")} for use in printed["columns"]
    ]
    assert f"finish_reason from column `{file.column}`" in done.stderr
    assert [row.metadata for row in scored.rows] == [None] * 4


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (f"answer,gold,finish_reason\na,a,{'x' * 51}\n", "/file/line/2/finish_reason"),
        ('{"output": "a", "expected": "a", "stop_reason": 4}\n', "/file/line/1/stop_reason"),
        ("answer,gold,stop_reason,done_reason\na,a,stop,stop\n", "/file/line/2/stop_reason"),
    ],
)
def test_a_finish_reason_that_tells_nothing_is_refused(
    client: Client, shell: dict[str, str], tmp_path: Path, text: str, pointer: str
) -> None:
    path = tmp_path / ("a.jsonl" if text.startswith("{") else "a.csv")
    path.write_text(text)

    with pytest.raises(InvalidError) as caught:
        client.score_file(path, "exact-match")
    done = invoke("evaluate", "exact-match", "--file", str(path), env=shell)

    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert done.exit_code == 2 and f"{pointer}: " in done.stderr
    assert list(client.experiments.list()) == []


def test_a_mapping_names_the_column(client: Client, alice: Caller, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("answer,gold,Grund\na,a,length\na,a,stop\n")

    scored = client.score_file(path, "exact-match", mapping={"finish_reason": "Grund"})

    assert read_config(alice, str(scored.experiment_id))["endings"] == {"stop": 1, "length": 1}


def test_rows_of_a_batch_tell_their_finish_reason(client: Client, alice: Caller) -> None:
    rows = [{"output": "a", "expected": "a", "finish_reason": "SAFETY"}, {"output": "a", "expected": "a"}]

    scored = client.score_batch(rows, "exact-match")

    assert read_config(alice, str(scored.experiment_id))["endings"] == {"stop": 1, "content_filter": 1}
    body = {"rows": [{**rows[0], "finish_reason": "x" * 51}], "metrics": json.loads(METRICS)}
    refused = alice.post("/v1/score/batch", body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/rows/0/finish_reason")


def test_a_dataset_keeps_finish_reasons_as_metadata(alice: Caller) -> None:
    row = {"input": "q", "expected": "a", "evaluated_model_output": "a", "finish_reason": "length"}
    made = ok(alice.post("/v1/datasets", {"dataset_name": "d", "examples": [row]}))

    (stored,) = alice.get(f"/v1/datasets/{made['dataset_id']}/jsonl").getvalue().decode().splitlines()
    assert json.loads(stored)["metadata"] == {"evaluated_model_output": "a", "finish_reason": "length"}


def test_a_finish_reason_within_the_metadata_is_not_taken() -> None:
    line = b'{"output": "a", "expected": "a", "metadata": {"finish_reason": "length"}}\n'
    (row,) = parse_outputs(Upload([("a.jsonl", io.BytesIO(line))])).rows

    assert (row["finish_reason"], row["metadata"]) == (None, {"finish_reason": "length"})
