"""`make bench-evaluators` runs, measures every evaluator that needs no server, and says what it leaves out."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.evaluators import sample_of, subjects, text_of
from benchmarks.rules import DOCUMENTS, SUPPORT, measured_rules

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run() -> str:
    command = [sys.executable, "-m", "benchmarks.evaluators", "--quick"]
    command += [f"--only={part}" for part in ("accuracy", "latency", "throughput")]
    environment = {name: value for name, value in os.environ.items() if name != "EVALSVC_DATA_DIR"}
    return subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True, timeout=170
    ).stdout


def test_the_last_line_is_one_json_object(run: str) -> None:
    assert set(json.loads(run.splitlines()[-1])) == {"accuracy", "latency", "throughput"}


def test_every_embedded_evaluator_has_its_latency(run: str) -> None:
    latency = json.loads(run.splitlines()[-1])["latency"]

    assert set(latency) == {subject.name for subject in subjects()}
    for figures in latency.values():
        for figure in figures.values():
            assert isinstance(figure, str) or (all(map(math.isfinite, figure)) and 0 <= figure[0] <= figure[1])


def test_without_development_data_it_says_so(run: str) -> None:
    assert "EVALSVC_DATA_DIR names no folder" in run
    assert json.loads(run.splitlines()[-1])["accuracy"] == {}


def test_its_texts_are_the_same_each_time() -> None:
    assert text_of(500, 3) == text_of(500, 3) != text_of(500, 4)
    assert len(sample_of(2000, 1).output or "") == 2000


def test_rules_are_measured_on_whole_sets(tmp_path: Path) -> None:
    claims = [("The mill stands by the river.", 0), ("The mill burned down in 1901.", 1)] * 5
    rows = [
        {"input": None, "output": said, "context": ["An old mill stands by the river."], "label": bad}
        for said, bad in claims
    ]
    for name in SUPPORT:
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    texts = [("Write to jane@example.org.", ["EMAIL_ADDRESS"]), ("Nothing here.", []), ("Nor with Jane.", ["PERSON"])]
    with gzip.open(tmp_path / DOCUMENTS, "wt") as file:
        json.dump(
            [{"full_text": text, "spans": [{"entity_type": kind} for kind in kinds]} for text, kinds in texts], file
        )

    figures = measured_rules(tmp_path, n_drawn=2, most=2, resamples=50)

    assert [figures[f"hallucination {name}"]["auc"] for name in SUPPORT] == [1.0, 1.0]
    assert figures["copies, denied"] == {"n": 0, "copied": 0.0, "denied": 0.0}
    assert figures["pii, documents"] == {"n": 3, "positive": 1, "precision": 1.0, "recall": 1.0, "f1": 1.0}
