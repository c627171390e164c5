"""Service, client and command line read files by the same rules: one table of files, three ways in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, InvalidError
from evalsvc.datasets.importers.names import check_mapping
from evalsvc.datasets.importers.outputs import parse_outputs
from evalsvc.datasets.importers.reader import Upload
from evalsvc.problems import Invalid
from tests.cli.inside import invoke
from tests.datasets.reader_files import FILES, ReaderFile

FILE_BY_NAME = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
METRICS = json.dumps([{"name": "pii", "evaluator": "pii"}])


@pytest.fixture
def client(shell: dict[str, str]) -> Iterator[Client]:
    with Client(shell["EVALSVC_URL"], shell["EVALSVC_API_KEY"]) as client:
        yield client


def read_rows(client: Client, name: str) -> list[dict[str, Any]] | None:
    dataset = client.datasets.find(name)
    return None if dataset is None else [dict(row) for row in client.datasets.examples(dataset)]


def read_mapping(file: ReaderFile) -> dict[str, Any]:
    mapping: dict[str, Any] = json.loads(file.form.get("custom_field_mapping", "{}"))
    return mapping


@FILE_BY_NAME
def test_the_client_stores_what_the_service_reads(client: Client, tmp_path: Path, file: ReaderFile) -> None:
    path = tmp_path / file.file_name
    path.write_bytes(file.content)

    if file.rows is None:
        with pytest.raises(InvalidError) as caught:
            client.datasets.import_file(path, name="client", mapping=read_mapping(file))
        assert file.pointer in [error.pointer for error in caught.value.errors]
    else:
        record = client.datasets.import_file(path, name="client", mapping=read_mapping(file))
        assert record.version.upload is not None
        sentences = " ".join([*record.version.upload["ignored"], *record.version.upload["warnings"]])
        assert all(word in sentences for word in file.words), sentences
    assert read_rows(client, "client") == file.rows


@FILE_BY_NAME
def test_the_command_line_stores_what_the_service_reads(
    client: Client, shell: dict[str, str], tmp_path: Path, file: ReaderFile
) -> None:
    path = tmp_path / file.file_name
    path.write_bytes(file.content)
    columns = [(field, name) for field, names in read_mapping(file).items()
               for name in ([names] if isinstance(names, str) else names)]  # fmt: skip
    options = [part for field, name in columns for part in ("--map", f"{field}={name}")]

    data = ("--data", str(path), "--dataset-name", "commands", "-e", "pii")
    done = invoke("benchmarks", "create", "frozen", *data, *options, env=shell)

    assert read_rows(client, "commands") == file.rows
    if file.rows is None:
        assert done.exit_code == 2
        assert f"{file.pointer}: " in done.stderr
    else:
        assert all(word in done.stderr for word in file.words), done.stderr


@FILE_BY_NAME
def test_outputs_are_read_here_as_by_the_service(client: Client, file: ReaderFile) -> None:
    mapping = read_mapping(file)
    try:
        upload = Upload([(file.file_name, io.BytesIO(file.content))], mapping=check_mapping(mapping))
        here = parse_outputs(upload)
    except Invalid as exc:
        with pytest.raises(InvalidError) as caught:
            send_file(client, file)
        assert [(error.pointer, error.detail) for error in caught.value.errors] == [
            (error.pointer, error.detail) for error in exc.errors
        ]
        return

    (result,) = client.resume_experiment(send_file(client, file)).results().values()
    assert [(row.example_id, row.input, row.output, row.expected, row.contexts) for row in result.rows] == [
        (row["id"], row["input"] or "", row["output"], row["expected"], row["contexts"]) for row in here.rows
    ]


def send_file(client: Client, file: ReaderFile) -> str:
    answer = client.experiments_api.score_file((file.file_name, file.content), {"metrics": METRICS, **file.form})
    return answer["experiment_id"]
