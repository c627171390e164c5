"""Files of 100 MB need no more memory than small ones, and a command that is killed is run again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.caller import Caller
from tests.cli.exported import annotation, graded, item, score
from tests.cli.importing import results, write_lines
from tests.conftest import CHECKOUT, wait_until

pytestmark = pytest.mark.slow

MEGABYTE = 1 << 20
MOST_MEMORY = 200 * MEGABYTE
WORDS = "because of that " * 1300  # 20 kB
# The command in a process of its own, which tells what it needed at its highest.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "evalsvc.cli", *sys.argv[1:]])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)
sys.exit(done.returncode)
"""


def rows(source: str) -> Iterator[dict[str, Any]]:
    """Records of 20 kB, 5300 of them."""
    make = {
        "langfuse": lambda n: score(n, comment=WORDS),
        "phoenix": lambda n: annotation(n, result={"score": 0.5, "explanation": WORDS}),
        "openai-evals": lambda n: item(n, graded(0.5), datasource_item={"text": WORDS}),
        "scores": lambda n: {
            "run": {"id": f"r{n}", "inputs": {"text": WORDS}},
            "evaluation_results": {"results": [{"key": "k", "score": 0.5}]},
        },
    }[source]
    yield from map(make, range(5300))


def measured(folder: Path, *arguments: object, **env: str) -> tuple[dict[str, Any], int]:
    """Run a command; return what it says and the memory that it took."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments), "--json", "--quiet"],
        cwd=CHECKOUT, env={"TMPDIR": str(folder), "PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), int(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("source", ["langfuse", "phoenix", "openai-evals", "scores"])
def test_a_large_file_is_checked_in_little_memory(source: str, tmp_path: Path) -> None:
    """As one JSON document, which is the form that is hardest to read in parts."""
    file = tmp_path / "large.json"
    with file.open("w") as out:
        for i, row in enumerate(rows(source)):
            out.write(f"{',' if i else '['}{json.dumps(row)}\n")
        out.write("]")
    assert file.stat().st_size > 100 * MEGABYTE

    told, memory = measured(tmp_path, "import", source, file, "--dry-run")

    assert told["scores"] == 5300
    assert memory < MOST_MEMORY


def test_a_large_file_is_sent_in_little_memory(web: str, alice: Caller, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "scores.jsonl", [score(n, traceId=f"t{n}") for n in range(400)])
    with (tmp_path / "traces.jsonl").open("w") as traces:
        for n in range(400):
            traces.write(json.dumps({"id": f"t{n}", "timestamp": "2025-01-01", "input": f"{n} {WORDS * 13}"}) + "\n")
    assert (tmp_path / "traces.jsonl").stat().st_size > 100 * MEGABYTE

    told, memory = measured(
        tmp_path, "import", "langfuse", file, tmp_path / "traces.jsonl", EVALSVC_URL=web, EVALSVC_API_KEY=alice.key
    )

    assert told["kept"] == 400
    assert memory < MOST_MEMORY / 2
    (row,) = results(alice, limit=1)
    assert row["evaluated_model_input"] == f"0 {WORDS * 13}"


def test_a_command_that_is_killed_is_run_again(web: str, alice: Caller, tmp_path: Path) -> None:
    n_rows = 6000
    file = write_lines(tmp_path / "scores.jsonl", [score(n, name=f"name-{n % 7}") for n in range(n_rows)])
    command = [sys.executable, "-m", "evalsvc.cli", "import", "langfuse", str(file), "--quiet", "--json"]
    env = {"PATH": "/usr/bin:/bin", "EVALSVC_URL": web, "EVALSVC_API_KEY": alice.key}

    first = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=subprocess.DEVNULL)
    wait_until(lambda: results(alice, limit=1) or first.poll() is not None, pause=0.01)
    first.kill()
    first.wait()
    n_before = len(results(alice))
    again = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, timeout=300, check=False)

    assert 0 < n_before < n_rows
    assert json.loads(again.stdout)["kept"] == n_rows, again.stderr
    found = results(alice)
    assert len(found) == n_rows
    assert len({row["explanation"] for row in found}) == n_rows


def test_a_large_dataset_is_uploaded_in_little_memory(web: str, alice: Caller, tmp_path: Path) -> None:
    with (tmp_path / "items.jsonl").open("w") as items:
        for n in range(400):
            row = {"id": f"i{n}", "input": WORDS * 13, "expectedOutput": n, "datasetName": "large"}
            items.write(json.dumps(row) + "\n")

    told, memory = measured(
        tmp_path, "import", "langfuse", tmp_path / "items.jsonl", EVALSVC_URL=web, EVALSVC_API_KEY=alice.key
    )

    assert [(one["examples"], one["created"]) for one in told["datasets"]] == [(400, True)]
    assert memory < MOST_MEMORY
