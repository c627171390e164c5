"""Run a query in a forked child, so that its imports, such as the database client, do not stay in this process."""

import json
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

from evalsvc.local.launch import die_with_parent
from evalsvc.local.supervisor.supervisor import ServiceFailed


def run_in_child(work: Callable[[], object]) -> Any:
    """Return what `work` does, which must be JSON. Raises ServiceFailed with the words of whatever it raised."""
    parent, (reader, writer) = os.getpid(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            die_with_parent(parent, signal.SIGKILL)
            _answer(work, writer)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        output = stream.read()
    os.waitpid(pid, 0)
    answer = json.loads(output or b'{"failed": "It was ended from outside."}')
    if "failed" in answer:
        raise ServiceFailed(answer["failed"])
    return answer["found"]


def _answer(work: Callable[[], Any], writer: int) -> None:
    try:
        answer = {"found": work()}
    except Exception as error:
        # For expected errors the message is enough; for any other the traceback matters too.
        if type(error).__module__.partition(".")[0] not in ("evalsvc", "psycopg"):
            traceback.print_exc()
        answer = {"failed": str(error).strip() or type(error).__name__}
    with os.fdopen(writer, "wb") as stream:
        stream.write(json.dumps(answer).encode())
