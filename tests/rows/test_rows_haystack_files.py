"""Rows of Haystack's proposal: files out and in, and what a reader finds."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import zipfile

import pytest

from tests.conftest import CHECKOUT
from tests.rows.service import Service, read
from tests.rows.table import missing, row

N = 300


@pytest.fixture(scope="module")
def run(api: Service) -> str:
    """Three hundred outputs."""
    examples = [{"id": f"e{i}", "input": str(i), "expected": str(i % 7)} for i in range(N)]
    return api.pushed(examples, {"mine": lambda example: "3"})


def names_in(bundle: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(bundle)).namelist()


def content_hash(bundle: bytes) -> str:
    return str(json.loads(zipfile.ZipFile(io.BytesIO(bundle)).read("manifest.json"))["content_hash"])


@row(
    "H-06", "results to a file, streamed", "GET …/results?format=csv | n + 1 lines",
     differs="Parquet and CSV stream from the database. 100 000 rows are in `make bench`, not here.")  # fmt: skip
def test_results_are_a_file(api: Service, run: str) -> None:
    began = time.monotonic()
    answer = api.call("GET", f"/v1/experiments/{run}/results?format=csv")

    assert len(list(csv.reader(io.StringIO(answer.text)))) == N + 1
    assert api.call("GET", f"/v1/experiments/{run}/results?format=parquet").content[:4] == b"PAR1"
    assert time.monotonic() - began < 5


@row("H-19", "one file out and in again; no pickle", "GET …/bundle; POST /v1/experiments/import; grep pickle",
     differs="The service reads no pickle. An evaluator reads the file of a classifier out of an installed package, into plain objects only.")  # fmt: skip
def test_an_experiment_leaves_and_comes_back(api: Service, run: str) -> None:
    found = [
        str(path)
        for path in (CHECKOUT / "evalsvc").rglob("*.py")
        if re.search(
            r"^\s*(import|from) (pickle|dill|joblib|marshal)\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert found == []
    bundle = api.call("GET", f"/v1/experiments/{run}/bundle").content
    assert b"\x80\x04" not in b"".join(zipfile.ZipFile(io.BytesIO(bundle)).read(name) for name in names_in(bundle))

    copy = read(
        api.http.post("/v1/experiments/import", content=bundle, headers={"Content-Type": "application/zip"}), 200
    )

    id = copy["experiment"]["id"]
    again = api.call("GET", f"/v1/experiments/{id}/bundle").content
    assert content_hash(again) == content_hash(bundle)
    assert api.get(f"/v1/experiments/{id}/recount")["equal"]
    answer = api.http.post(
        "/v1/experiments/import", content=b"\x80\x04K\x01.", headers={"Content-Type": "application/zip"}
    )
    assert answer.status_code in (415, 422)


@row("H-27", "component, metric, score: a table of metrics", "client.results().metrics.save('metrics.csv') | header",
     differs="The columns are metric, value and its interval with n and what it covers; `by_component` of …/live has the tree.")  # fmt: skip
def test_metrics_are_saved(api: Service, run: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    from evalsvc.client import Client

    path = tmp_path_factory.mktemp("rows") / "metrics.csv"
    with Client(api.url, api.key) as client:
        client.resume_experiment(run).result("mine").metrics.save(path)

    header, line = path.read_text().splitlines()
    assert header.startswith("metric,value,lower,upper,n,")
    assert line.startswith("em,0.14")


@row("H-33", "documents, tutorials and examples, run by the tests", "GET /v1/openapi.json, /docs/; examples/")
def test_documents_are_there(api: Service) -> None:
    document = api.get("/v1/openapi.json")

    assert "/v1/experiments" in document["paths"]
    assert api.call("GET", "/docs/").status_code == 200
    if not (CHECKOUT / "examples").is_dir():
        missing("examples/")
    assert len([path for path in (CHECKOUT / "examples").iterdir() if (path / "README.md").is_file()]) >= 5
