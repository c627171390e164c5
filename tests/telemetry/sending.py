"""Programs that send by unmodified packages, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import Caller

SDK = """
import json, sys
import patronus

url, key = sys.argv[1:]
patronus.init(
    project_name="answers", app="shop", service="bot", api_key=key,
    api_url=url, otel_endpoint=url, otel_exporter_otlp_protocol="http/protobuf",
)

@patronus.traced()
def ask(question):
    patronus.get_logger().warning("thinking about %s", question)
    with patronus.start_span("inner", attributes={"n": 5}) as span:
        context = span.get_span_context()
    log_id = patronus.context.get_pat_logger().evaluation_data(task_input=question, task_context="one", task_output="x")
    return {"trace_id": format(context.trace_id, "032x"), "log_id": str(log_id)}

print("FOUND" + json.dumps(ask("who?")))
try:
    patronus.traced("broken")(lambda: 1 / 0)()
except ZeroDivisionError:
    pass
"""


def run(program: str, web: str, caller: Caller) -> str:
    """Run a program that sends; its buffers are flushed as it ends. Return what it found out."""
    command = [sys.executable, "-W", "ignore", "-c", program, web, caller.key]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Failed to export" not in done.stderr
    return done.stdout.partition("FOUND")[2].splitlines()[0]
