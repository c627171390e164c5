"""The process that takes spans and logs over gRPC, and a caller of it in a process of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import CHECKOUT, stop_group, wait_until

TRACES, LOGS, METRICS = (
    f"/opentelemetry.proto.collector.{name}.v1.{service}Service/Export"
    for name, service in (("trace", "Trace"), ("logs", "Logs"), ("metrics", "Metrics"))
)
HEALTH = "/grpc.health.v1.Health/Check"
# gRPC's threads must not be in the tests' own process, which forks.
CALLER = """
import base64, json, sys, time
import grpc

address, calls = sys.argv[1], json.load(sys.stdin)

def messages(call):
    time.sleep(call["pause"])
    yield base64.b64decode(call["body"])

def called(call):
    compression = grpc.Compression.Gzip if call["gzip"] else None
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(address, options=options, compression=compression) as channel:
        method = channel.stream_unary(call["method"])
        try:
            answer = method(messages(call), metadata=[tuple(pair) for pair in call["metadata"]], timeout=60)
            return {"code": "OK", "body": base64.b64encode(answer).decode()}
        except grpc.RpcError as error:
            trailers = {name: str(value) for name, value in error.trailing_metadata() or ()}
            return {"code": error.code().name, "detail": error.details(), "trailers": trailers}

json.dump([called(call) for call in calls], sys.stdout)
"""


@contextlib.contextmanager
def receiving(folder: Path, **env: str) -> Iterator[str]:
    """Run `manage.py otlp_grpc` until the block ends; yield where it listens."""
    ready, log = folder / "otlp.ready", folder / "otlp.log"
    ready.unlink(missing_ok=True)
    command = [sys.executable, "manage.py", "otlp_grpc", "--port", "0", "--ready-file", str(ready)]
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, cwd=CHECKOUT, env=os.environ | env, stdout=out, stderr=out, start_new_session=True
        )
    try:
        wait_until(lambda: (ready.exists() and ready.read_text() != "") or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield f"127.0.0.1:{ready.read_text()}"
    finally:
        stop_group(process)


def call(method: str, body: bytes = b"", *, gzip: bool = False, pause: float = 0, **metadata: str) -> dict[str, Any]:
    """Describe a call; `_` in the names of metadata are hyphens."""
    pairs = [(name.replace("_", "-"), value) for name, value in metadata.items()]
    return {
        "method": method,
        "body": base64.b64encode(body).decode(),
        "gzip": gzip,
        "pause": pause,
        "metadata": pairs,
    }


def answers_to(address: str, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the calls one by one; return status and answer of each."""
    command = [sys.executable, "-W", "ignore", "-c", CALLER, address]
    done = subprocess.run(command, input=json.dumps(calls), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
