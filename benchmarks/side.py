"""One version of the service, running for a benchmark in another process: `benchmarks.versions` starts it.

    python -m benchmarks.side web queued

Starts servers of its own, an account, and gunicorn: `web` as `make up` has it, `queued` with the inline lane sent
through Celery and a worker for it. Prints one JSON object when all is ready, and ends when its standard input does, so
that it never outlives who asked for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from benchmarks.frame import ending_at
from benchmarks.stack import account_with_key, celery, gunicorn, stack

# Longer than any benchmark: who started it ends it.
LONGEST_SECONDS = 4 * 3600


def main(parts: list[str]) -> None:
    """Run the parts until nobody listens any more."""
    # The protocol keeps standard output for itself; what servers print goes where errors go.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with contextlib.suppress(KeyboardInterrupt), ending_at(LONGEST_SECONDS), contextlib.ExitStack() as exits:
        servers = exits.enter_context(stack())
        groups, ports = servers.processes(), {}
        if "web" in parts:
            ports["web"], groups["web"] = exits.enter_context(gunicorn())
        if "workers" in parts:
            groups["workers"] = exits.enter_context(celery("cpu"))
        if "queued" in parts:
            ports["queued"], groups["queued"] = exits.enter_context(gunicorn(EVALSVC_INLINE_LANE="worker"))
            groups["workers"] = exits.enter_context(celery("cpu", EVALSVC_INLINE_LANE="worker"))
        _, key = account_with_key("bench")
        pids = {name: process.pid for name, process in groups.items()}
        url = servers.env["DATABASE_MIGRATION_URL"]
        print(json.dumps({"ports": ports, "key": key, "pids": pids, "owner_url": url}), file=answer, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
