"""Callers who never pause, on connections that they keep, and what became of each of their calls."""

from __future__ import annotations

import itertools
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

PAUSE_SECONDS = 0.15
N_CALLERS = 8
PATIENCE = httpx.Timeout(90.0)
FINISHED = "success"
APP = "shop"
OF_APP = {"field": "app", "operation": "eq", "value": APP}


@dataclass(frozen=True)
class Failure:
    """A call that was not answered as it should be."""

    what: str
    why: str
    at: float


@dataclass
class Load:
    """What callers have asked and been told."""

    name: str
    """In each text, so that no other load asks the same, or by the same key."""
    url: str
    key: str
    ca_file: str
    n_calls: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    acknowledged: dict[str, set[str]] = field(default_factory=dict)
    """The ids of the evaluation that was made of each text; more than one would be a double."""
    slowest: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _texts: Iterator[int] = field(default_factory=itertools.count)

    def n_all(self) -> int:
        return sum(self.n_calls.values())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Call from now until the end of the block."""
        callers = [threading.Thread(target=self._call_on, args=(n,), daemon=True) for n in range(N_CALLERS)]
        for caller in callers:
            caller.start()
        try:
            yield
        finally:
            self._over.set()
            for caller in callers:
                caller.join()

    def _call_on(self, n: int) -> None:
        with self.client() as client:
            caller = _Caller(self, client)
            kinds: list[Callable[[], None]] = [
                caller.inline, caller.by_workers, caller.twice_by_key, caller.read, caller.batch, caller.search,
                caller.by_workers_with_key, caller.mark, caller.whoami,
            ]  # fmt: skip
            for kind in itertools.islice(itertools.cycle(kinds), n, None):
                if self._over.is_set():
                    return
                kind()
                time.sleep(PAUSE_SECONDS)

    def client(self) -> httpx.Client:
        """Return a client that trusts the proxy; it tries nothing twice."""
        trusted = ssl.create_default_context(cafile=self.ca_file)
        return httpx.Client(base_url=self.url, headers={"X-API-KEY": self.key}, verify=trusted, timeout=PATIENCE)

    def text(self) -> str:
        with self._lock:
            return f"Good morning {next(self._texts)}, {self.name}."

    def note(self, what: str, seconds: float, why: str | None) -> None:
        with self._lock:
            self.n_calls[what] += 1
            self.slowest = max(self.slowest, seconds)
            if why is not None:
                self.failures.append(Failure(what, why, time.time()))

    def acknowledge(self, text: str, id: str) -> None:
        with self._lock:
            self.acknowledged.setdefault(text, set()).add(id)


@dataclass
class _Caller:
    load: Load
    client: httpx.Client
    last: str | None = None
    """The evaluation that it was told of last."""

    def inline(self) -> None:
        self._evaluate("inline", "exact-match")

    def by_workers(self) -> None:
        self._evaluate("by workers", "toxicity", Prefer="wait=20")

    def twice_by_key(self) -> None:
        """As one does who did not get the answer: both must name one evaluation."""
        text = self.load.text()
        for _ in range(2):
            self._evaluate("inline, twice by a key", "exact-match", text, **{"Idempotency-Key": text})

    def by_workers_with_key(self) -> None:
        text = self.load.text()
        self._evaluate("by workers, by a key", "toxicity", text, Prefer="wait=20", **{"Idempotency-Key": text})

    def batch(self) -> None:
        texts = [self.load.text() for _ in range(3)]
        samples = [{"output": text, "label": text} for text in texts]
        body = {"evaluators": [{"evaluator": "exact-match"}], "app": APP, "samples": samples}
        answer = self._call("batch", "POST", "/v1/evaluate/batch", body, Prefer="wait=20")
        for text, row in zip(texts, answer.json()["rows"] if answer else [], strict=False):
            self._take("batch", text, row["answer"] or {"results": [row]})

    def read(self) -> None:
        if self.last:
            self._call("read", "GET", f"/v1/evaluations/{self.last}")

    def search(self) -> None:
        self._call("search", "POST", "/v1/evaluations/search", {"filters": [OF_APP], "limit": 5})

    def mark(self) -> None:
        if self.last:
            self._call("mark", "POST", f"/v1/evaluation-results/{self.last}/favorite")

    def whoami(self) -> None:
        self._call("whoami", "GET", "/v1/whoami")

    def _evaluate(self, what: str, evaluator: str, text: str | None = None, **headers: str) -> None:
        text = text or self.load.text()
        body = {"evaluators": [{"evaluator": evaluator}], "output": text, "label": text, "app": APP}
        answer = self._call(what, "POST", "/v1/evaluate", body, **headers)
        if answer is not None:
            self._take(what, text, answer.json())

    def _take(self, what: str, text: str, told: Any) -> None:
        for result in told["results"]:
            if result["status"] not in (FINISHED, "pending"):
                self.load.note(what, 0, f"{result}")
                continue
            self.load.acknowledge(text, result["evaluation_id"])
            if result["status"] == FINISHED:
                self.last = result["evaluation_id"]

    def _call(self, what: str, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response | None:
        began = time.monotonic()
        try:
            answer = self.client.request(method, path, json=body, headers=headers)
        except httpx.HTTPError as exc:
            self.load.note(what, time.monotonic() - began, repr(exc))
            return None
        is_good = answer.status_code < 300
        self.load.note(what, time.monotonic() - began, None if is_good else f"{answer.status_code} {answer.text[:300]}")
        return answer if is_good else None
