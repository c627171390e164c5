"""Reports and bundles of an experiment: how long they take, and by how much the process grows.

    python -m benchmarks.bundles                                16 configs by 400 examples
    python -m benchmarks.bundles --configs 2 --examples 20000 100000

Each is made in a process of its own, whose largest size is compared with that before. The goals: a bundle of 16 by 400
takes at most 100 MB, a report, bundle, import or table of aggregates of 100 000 examples at most 200 MB, time grows as
the examples do, and the HTML stays below 1 MB. The planner knows of the rows that were made, and nothing of those that
an import adds: that is when it errs most.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PART, ROWS, TOPICS = 100, 5000, 8
PATHS = {
    "json": "report",
    "html": "report?format=html",
    "bundle": "bundle",
    "aggregates": "aggregates?by=metadata.topic",
}
ASKED = ("json", "html", "aggregates", "bundle", "import")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", type=int, default=16)
    parser.add_argument("--examples", type=int, nargs="+", default=[400])
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.child:
        return child(*wanted.child)
    from benchmarks.stack import stack

    found: list[dict[str, float]] = []
    with stack() as servers, tempfile.TemporaryDirectory() as folder:
        key = new_key()
        for n_examples in wanted.examples:
            found.append(measured(key, wanted.configs, n_examples, servers.env, Path(folder) / "bundle.zip"))
    for n_examples, seconds in zip(wanted.examples[1:], found[1:], strict=True):
        growth = n_examples / wanted.examples[0]
        told = ", ".join(f"{what} {seconds[what] / found[0][what] / growth:.2f}" for what in ASKED)
        print(f"{growth:.1f} times the examples: seconds for each example, as multiples of the first size: {told}")
    return 0


def measured(key: str, n_configs: int, n_examples: int, env: Mapping[str, str], file: Path) -> dict[str, float]:
    """Make an experiment and ask for everything about it; return the seconds that each took."""
    from django.db import connections

    began = time.perf_counter()
    id = fill(key, n_configs, n_examples)
    print(f"{n_configs} configs by {n_examples} examples, made in {time.perf_counter() - began:.0f} s", flush=True)
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE")
    n_mb = 100 if n_configs * n_examples < 20_000 else 200
    took = {}
    for what in ASKED:
        command = [sys.executable, "-m", "benchmarks.bundles", "--child", what, key, id, str(file)]
        done = subprocess.run(command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        took[what] = found["seconds"]
        print(
            f"{what:10} {found['seconds']:7.2f} s  {found['n_bytes'] / 1e6:8.2f} MB answered  "
            f"{found['mb']:6.1f} MB more memory ({found['mb'] / n_mb:.2f} of {n_mb} MB)",
            flush=True,
        )
    return took


def child(what: str, key: str, id: str, file: str) -> int:
    """Make one answer, and print what it took."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    django.setup()
    ask(key, "GET", f"/v1/experiments/{id}")
    before = largest_mb()
    began = time.perf_counter()
    if what == "import":
        answer = call(key, "POST", "/v1/experiments/import", Path(file).read_bytes(), "application/zip")
        copy = json.loads(answer.content)["experiment"]["id"]
        seconds = time.perf_counter() - began
        assert ask(key, "GET", f"/v1/experiments/{copy}/recount")["equal"]
        n_bytes = len(answer.content)
    else:
        answer = call(key, "GET", f"/v1/experiments/{id}/{PATHS[what]}")
        n_bytes = 0
        with Path(file if what == "bundle" else os.devnull).open("wb") as out:
            for part in answer.streaming_content if answer.streaming else [answer.content]:
                n_bytes += out.write(part)
        seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "n_bytes": n_bytes, "mb": largest_mb() - before}), flush=True)
    # Threads of the pool of connections may keep a process from its end.
    os._exit(0)


def largest_mb() -> float:
    """Return the most memory that this process has held."""
    # Not `ru_maxrss`: it is that of whoever started this process, where that was larger.
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def new_key() -> str:
    """Make an account, and a key of it."""
    from evalsvc.accounts.models import ApiKey
    from evalsvc.accounts.services import create_account, issue_key
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        account = create_account(name="bundles")
    return str(issue_key(account=account, name="benchmark", scope=ApiKey.Scope("write"))[1])


def call(key: str, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
    """Call the API in this process."""
    from django.test import Client

    answer = Client(SERVER_NAME="localhost").generic(method, path, body, content_type=content_type, HTTP_X_API_KEY=key)
    if answer.status_code >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.content!r}")
    return answer


def ask(key: str, method: str, path: str, body: Any = None) -> Any:
    """Call the API, and read its JSON."""
    return json.loads(call(key, method, path, json.dumps(body).encode() if body is not None else b"").content)


def fill(key: str, n_configs: int, n_examples: int) -> str:
    """Run an experiment of push configs to its end; return its id."""
    rows: list[dict[str, Any]] = [
        {
            "id": str(i),
            "input": f"What is {i} and one? " * 5,
            "expected": str(i + 1),
            "metadata": {"topic": f"topic {i % TOPICS}"},
        }
        for i in range(n_examples)
    ]
    body = {"dataset_name": uuid.uuid4().hex, "examples": rows[:ROWS]}
    dataset = ask(key, "POST", "/v1/datasets", body) if n_examples <= ROWS else uploaded(key, rows)
    metrics = [{"name": "accuracy", "evaluator": "exact-match"}, {"name": "latency", "source": "latency_ms"}]
    plan = {"dataset_id": dataset["dataset_id"], "metrics": metrics, "start": True}
    configs = [{"name": f"k={k}", "kind": "push", "parameters": {"k": k}} for k in range(n_configs)]
    made = ask(key, "POST", "/v1/experiments", {"name": "bundled", "plan": plan, "configs": configs})["experiment"]
    for i, config in enumerate(made["configs"]):
        lease = f"/v1/experiments/{made['id']}/configs/{config['id']}/lease"
        while unit := ask(key, "POST", lease, {"n": PART})["unit"]:
            outputs = [
                {"pos": e["pos"], "output": "no" if e["pos"] % 20 < i else e["expected"], "latency_ms": e["pos"] % 997}
                for e in unit["examples"]
            ]
            path = f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs"
            ask(key, "POST", path, {"token": unit["token"], "outputs": outputs})
    return str(made["id"])


def uploaded(key: str, rows: list[dict[str, Any]]) -> Any:
    """Upload examples as a file."""
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.test import Client

    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    form = {"file": SimpleUploadedFile("rows.jsonl", lines), "dataset_name": uuid.uuid4().hex}
    return Client(SERVER_NAME="localhost").post("/v1/datasets", form, headers={"X-API-KEY": key}).json()


if __name__ == "__main__":
    sys.exit(main())
