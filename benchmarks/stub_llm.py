"""An OpenAI-compatible server for this machine only: fast, seeded, and as badly behaved as a model's name asks.

    python -m benchmarks.stub_llm --port 0 --latency-ms 10

prints one line of JSON, `{"base_url": "http://127.0.0.1:…/v1", "pid": …}`, and serves until it is ended.

POST /v1/chat/completions, POST /v1/embeddings, GET /v1/models; GET /stub/calls tells how often it was called, by model,
key and prompt, and POST /stub/reset forgets it. Models (see `benchmarks.stub_tasks` for `stub-accuracy-…`, and
`benchmarks.stub_judge` for `stub-judge-…` and the moderation page):

    stub-echo                  the last message, as it came
    stub-slow-<ms>             answers after so many milliseconds; any model does as `<name>@<ms>`
    stub-429                   429 with Retry-After: 1 the first time a prompt is sent, then an answer
    stub-429-forever           429, always
    stub-quota, stub-401       429 insufficient_quota; 401 that repeats the key
    stub-500, stub-400         an error, with a body as OpenAI's
    stub-context               400 context_length_exceeded
    stub-rude                  422 with a message that no database and no terminal likes
    stub-hang                  no answer, ever
    stub-trickle               a byte of a good answer now and then, without an end in sight
    stub-cut                   half of the answer, then the connection ends
    stub-garbage, stub-html    200 with something else than JSON
    stub-odd                   200 with JSON of another shape
    stub-truncate              finish_reason length, half of the text
    stub-refusal, stub-empty   a refusal; no text
    stub-filtered              finish_reason content_filter, half of the text
    stub-reasons, stub-reasons-only    the last message after thinking in a field of its own; thinking alone
    stub-calls                 calls the first tool that is offered for a question, and repeats what is none
    stub-huge                  an answer that never ends
    stub-gzip                  a compressed answer to a request that allows none
    stub-redirect              302 to another server
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from benchmarks.stub_answers import PLAIN, answer, completion, embeddings, error, text_of, tool_call
from benchmarks.stub_judge import behaviour_of, is_judge, judged, moderations
from benchmarks.stub_tasks import answer_to

CHECKOUT = Path(__file__).resolve().parent.parent
MODELS = ("stub-echo", "stub-accuracy-0.60-a", "stub-accuracy-0.70-b", "stub-accuracy-0.80-c")
_slow = re.compile(r"(?:stub-slow-|.*@)(\d+)$")


@dataclass
class Stub:
    """What one server knows."""

    latency_ms: float = 0.0
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    prompts: Counter[tuple[str, str]] = field(default_factory=Counter)
    active: int = 0
    most_active: int = 0

    def report(self) -> dict[str, Any]:
        """Return the books."""
        by_model: Counter[str] = Counter()
        by_key: Counter[str] = Counter()
        for (model, key), n in self.calls.items():
            by_model[model] += n
            by_key[key] += n
        prompts = [{"model": model, "prompt": prompt, "calls": n} for (model, prompt), n in self.prompts.items()]
        total = sum(self.calls.values())
        return {
            "total": total,
            "by_model": by_model,
            "by_key": by_key,
            "prompts": prompts,
            "most_at_once": self.most_active,
        }

    def reset(self) -> None:
        """Forget the calls."""
        self.calls.clear()
        self.prompts.clear()
        self.most_active = self.active


class Connection(asyncio.Protocol):
    """One keep-alive HTTP/1.1 connection; requests come one after the other."""

    def __init__(self, stub: Stub) -> None:
        self.stub = stub
        self.buffer = b""
        self.transport: Any = None
        self.timer: asyncio.TimerHandle | None = None
        self.is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.leave()

    def leave(self) -> None:
        """Count a call as over, whether it was answered or its client has gone."""
        self.stub.active -= self.is_waiting
        self.is_waiting = False

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].decode("latin-1")
        lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        size = int(headers.get("content-length", 0))
        if len(self.buffer) < end + 4 + size:
            return
        body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
        method, target, _ = lines[0].split(" ", 2)
        self.handle(method, target.partition("?")[0], headers, body)

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        if (method, path) == ("POST", "/v1/chat/completions"):
            return self.chat(headers.get("authorization", "").removeprefix("Bearer "), orjson.loads(body))
        if (method, path) == ("POST", "/v1/moderations"):
            return self.moderate(headers.get("authorization", "").removeprefix("Bearer "), orjson.loads(body))
        if (method, path) == ("POST", "/stub/reset"):
            self.stub.reset()
        self.transport.write(self.page(method, path, body))

    def page(self, method: str, path: str, body: bytes) -> bytes:
        if path == "/v1/models":
            data = [{"id": name, "object": "model", "created": 1, "owned_by": "stub"} for name in MODELS]
            return answer(200, orjson.dumps({"object": "list", "data": data}))
        if path in ("/stub/calls", "/stub/reset"):
            return answer(200, orjson.dumps(self.stub.report()))
        if (method, path) == ("POST", "/v1/embeddings"):
            return answer(200, orjson.dumps(embeddings(orjson.loads(body))))
        return error(404, f"No such page: {method} {path}.")

    def moderate(self, key: str, call: dict[str, Any]) -> None:
        """Moderate a text; a model with a manner behaves as a judge of that name does."""
        model = str(call.get("model") or "")
        self.stub.calls[model or "stub-moderation", key] += 1
        is_rude = is_judge(model) and behaviour_of(model)
        answered = judged({**call, "messages": [{"content": str(call.get("input"))}]}, key, 1) if is_rude else None
        if answered or not is_rude:
            self.transport.write(answered or moderations(call))

    def chat(self, key: str, call: dict[str, Any]) -> None:
        model, messages = str(call.get("model")), call.get("messages") or [{}]
        prompt = text_of(messages[-1])
        stub = self.stub
        stub.calls[model, key] += 1
        stub.prompts[model, prompt] += 1
        stub.active += 1
        self.is_waiting = True
        stub.most_active = max(stub.most_active, stub.active)
        named = _slow.match(model)
        wait = int(named[1]) if named else stub.latency_ms

        def reply() -> None:
            self.leave()
            self.reply(model, prompt, key, call)

        if wait:
            self.timer = asyncio.get_running_loop().call_later(wait / 1000, reply)
        else:
            reply()

    def reply(self, model: str, prompt: str, key: str, call: dict[str, Any]) -> None:
        if self.transport.is_closing():
            return
        n_before = self.stub.prompts[model, prompt]
        if is_judge(model):
            if answered := judged(call, key, n_before):
                self.transport.write(answered)
        elif plain := PLAIN.get(model):
            self.transport.write(plain(model, prompt, key, n_before))
        elif model == "stub-calls":
            self.transport.write(tool_call(model, prompt, call.get("tools") or []))
        elif flow := FLOWS.get(model):
            flow(self, model, prompt)
        elif model.startswith(("stub-", "gpt-")):
            text = prompt if model.startswith("stub-echo") else answer_to(model, prompt)
            self.transport.write(completion(model, prompt, text))
        else:
            self.transport.write(error(404, f"The model {model} does not exist.", "model_not_found"))

    def again(self, seconds: float, step: Callable[[], None]) -> None:
        """Do a step now and then until the client has gone."""

        def run() -> None:
            if not self.transport.is_closing():
                step()
                self.timer = asyncio.get_running_loop().call_later(seconds, run)

        run()

    def hang(self, model: str, prompt: str) -> None:
        """Say nothing."""

    def trickle(self, model: str, prompt: str) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
        self.again(0.02, lambda: self.transport.write(b" "))

    def cut(self, model: str, prompt: str) -> None:
        whole = completion(model, prompt, "four")
        self.transport.write(whole[: len(whole) // 2])
        self.transport.close()

    def huge(self, model: str, prompt: str) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        self.again(0.001, lambda: self.transport.write(b"10000\r\n" + b" " * 65536 + b"\r\n"))


FLOWS: dict[str, Callable[[Connection, str, str], None]] = {
    "stub-hang": Connection.hang,
    "stub-trickle": Connection.trickle,
    "stub-cut": Connection.cut,
    "stub-huge": Connection.huge,
}


async def serve(port: int, latency_ms: float, *, tied: bool = False) -> None:
    """Serve until ended; says where on the first line of stdout. Tied: until stdin ends, as it does with its parent."""
    stub = Stub(latency_ms)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(stub), "127.0.0.1", port, backlog=1024)
    address = server.sockets[0].getsockname()
    print(json.dumps({"base_url": f"http://127.0.0.1:{address[1]}/v1", "pid": os.getpid()}), flush=True)
    ended = asyncio.Event()
    if tied:
        asyncio.get_running_loop().add_reader(sys.stdin, lambda: sys.stdin.read(1) or ended.set())
    async with server:
        await ended.wait()


@dataclass(frozen=True)
class RunningStub:
    """A stub in a process of its own."""

    base_url: str
    pid: int

    def calls(self) -> dict[str, Any]:
        """Return what it counted: total, by_model, by_key, prompts, most_at_once."""
        return self._page("calls")

    def reset(self) -> None:
        """Let it forget the calls."""
        self._page("reset", method="POST")

    def _page(self, name: str, method: str = "GET") -> dict[str, Any]:
        import httpx

        address = self.base_url.removesuffix("/v1")
        with httpx.Client(trust_env=False) as client:
            return client.request(method, f"{address}/stub/{name}", timeout=60).raise_for_status().json()


@contextlib.contextmanager
def running_stub(*, latency_ms: float = 0.0, port: int = 0) -> Iterator[RunningStub]:
    """Run a stub in a process of its own for as long as the context lasts."""
    command = [sys.executable, "-m", "benchmarks.stub_llm", "--port", str(port), "--latency-ms", str(latency_ms)]
    command.append("--tied")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=CHECKOUT, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            yield RunningStub(**json.loads(process.stdout.readline()))
        finally:
            process.terminate()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="benchmarks.stub_llm", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="how long each answer takes")
    parser.add_argument("--tied", action="store_true", help="end when stdin does")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(options.port, options.latency_ms, tied=options.tied))


if __name__ == "__main__":
    main()
