"""Reports and bundles of an experiment: how long they take, and by how much the process grows.

    python -m benchmarks.bundles                                16 configs by 400 examples
    python -m benchmarks.bundles --configs 1 --examples 100000

Each is made in a process of its own, whose largest size is compared with that before. The goals: a bundle of 16 by 400
takes at most 100 MB, a report or bundle of 100 000 examples at most 200 MB, and the HTML stays below 1 MB.
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
from pathlib import Path
from typing import Any

PART, ROWS = 100, 5000


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", type=int, default=16)
    parser.add_argument("--examples", type=int, default=400)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.child:
        return child(*wanted.child)
    from benchmarks.stack import stack

    with stack() as servers, tempfile.TemporaryDirectory() as folder:
        key = new_key()
        began = time.perf_counter()
        id = fill(key, wanted.configs, wanted.examples)
        print(f"{wanted.configs} configs by {wanted.examples} examples, made in {time.perf_counter() - began:.0f} s")
        file = str(Path(folder) / "bundle.zip")
        n_mb = 100 if wanted.configs * wanted.examples < 20_000 else 200
        for what in ("json", "html", "bundle", "import"):
            command = [sys.executable, "-m", "benchmarks.bundles", "--child", what, key, id, file]
            done = subprocess.run(
                command, env={**os.environ, **servers.env}, capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{what:7} {found['seconds']:6.2f} s  {found['n_bytes'] / 1e6:8.2f} MB answered  "
                f"{found['mb']:6.1f} MB more memory ({found['mb'] / n_mb:.2f} of {n_mb} MB)"
            )
    return 0


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
        path = "bundle" if what == "bundle" else f"report?format={what}"
        answer = call(key, "GET", f"/v1/experiments/{id}/{path}")
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
    rows = [{"id": str(i), "input": f"What is {i} and one? " * 5, "expected": str(i + 1)} for i in range(n_examples)]
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
