"""docs/conversations.md: an agent with a state, and a user that a scripted LLM plays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks
from tests.faults.application import Answer, Application, as_json
from tests.judges.providers import chat

PAGE = CHECKOUT / "docs" / "conversations.md"
SHOWN = ("http://127.0.0.1:9000/agent", "http://127.0.0.1:8090/v1")


def act(body: Any) -> Answer:
    """Refund the order that the user has named, once they have said why."""
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    if len(said) == 1:
        return as_json({"messages": [{"role": "assistant", "content": "Why?"}], "final_state": {"refunded": []}})
    number = int("".join(filter(str.isdigit, said[0])))
    call = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "refund", "args": {"id": number}}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    done = {"role": "assistant", "content": "Done."}
    return as_json({"messages": [call, result, done], "final_state": {"refunded": [number]}})


def play(body: Any) -> Answer:
    """Say what a curt user would."""
    seen = body["messages"][-1]["content"]
    text = "[STOP]" if "Done." in seen else "Broken." if "Why?" in seen else "Money back, 7."
    return as_json(chat(text))


def test_the_page_runs_from_top_to_bottom(web: str, scheduler_running: None, alice: Caller, tmp_path: Path) -> None:
    servers = [Application(), Application()]
    for server, answer in zip(servers, (act, play), strict=True):
        server.answer = answer
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    (program,) = [block.text for block in blocks(PAGE) if block.language == "python"]
    for shown, server in zip(SHOWN, servers, strict=True):
        assert shown in program
        program = program.replace(shown, server.url.removesuffix("/ask"))
    env = os.environ | {"EVALSVC_BASE_URL": web, "EVALSVC_API_KEY": alice.key, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    for server in servers:
        server.shutdown()
        server.server_close()

    assert done.returncode == 0, done.stderr
    value, *rows = done.stdout.splitlines()
    assert value == "1.0"
    assert sorted(rows) == [
        "curt stop ['Money back, 7.', 'Why?', 'Broken.', None, 'ok', 'Done.']",
        "scripted stop ['Refund order 8.', 'Why?', 'It is broken.', None, 'ok', 'Done.']",
    ]
