#!/usr/bin/env bash
# traceloop-sdk: at a grpc:// address the spans arrive, and the metrics of the same program never do.
#
# Package    traceloop-sdk 0.62.4 (OpenLLMetry), with OpenTelemetry 1.45.1.
#
# Expected   The SDK documents the schemes of `TRACELOOP_BASE_URL` where it makes the exporter of spans: `grpc://` is
#            gRPC without TLS, `grpcs://` with it. One address is given for everything, so tokens and durations, which
#            it sends as metrics, should take the same way as the spans.
#
# Seen       The exporter of metrics does not look at the scheme: it is made for gRPC without `insecure`, and so begins
#            with TLS at a port that speaks none. The collector gets the spans and no metric; the program ends with
#            status 0 and lines in its log. With `OTEL_EXPORTER_OTLP_INSECURE=true` both arrive.
#
# Matters    Traces look complete, so nobody searches for what is missing: dashboards of tokens, cost and latency that
#            are built on the metrics stay empty, or show only the applications that send by HTTP.
#
# evalsvc    Takes spans and metrics at its port for gRPC. The table of tested packages in docs/rules.md names the
#            setting, and an application with it is among the tests.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  traceloop-sdk==0.62.4 httpx opentelemetry-sdk==1.45.1 opentelemetry-instrumentation==0.66b1

cat > "$folder/application.py" <<'PYTHON'
from opentelemetry import metrics
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow

Traceloop.init(app_name="shop", disable_batch=True)


@workflow(name="sums")
def add():
    return 42


add()
metrics.get_meter("shop").create_counter("tokens").add(42)
metrics.get_meter_provider().force_flush(5000)
PYTHON

"$folder/venv/bin/python" - "$folder/application.py" <<'PYTHON'
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

called = set()


class Collector(grpc.GenericRpcHandler):
    """Answers each export with an empty message, and notes what was exported."""

    def service(self, details):
        def export(request, context):
            called.add(details.method.split(".")[-1].removesuffix("Service/Export"))
            return b""

        return grpc.unary_unary_rpc_method_handler(export)


server = grpc.server(ThreadPoolExecutor(), handlers=[Collector()])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACELOOP_"))}
address = f"grpc://127.0.0.1:{port}"
settings = {"TRACELOOP_BASE_URL": address, "TRACELOOP_HEADERS": "x-key=1", "TRACELOOP_TELEMETRY": "false"}
problems = []
for name, more, so_far in (
    ("grpc://", {}, ["Trace"]),
    ("grpc://, insecure by OpenTelemetry's setting", {"OTEL_EXPORTER_OTLP_INSECURE": "true"}, ["Metrics", "Trace"]),
):
    called.clear()
    done = subprocess.run([sys.executable, sys.argv[1]], env=kept | settings | more, capture_output=True, timeout=100)
    print(f"{name:46} arrived: {sorted(called)}, status {done.returncode}")
    if (sorted(called), done.returncode) != (so_far, 0):
        problems.append(f"{name}: {sorted(called)}, status {done.returncode}")
server.stop(None)
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
