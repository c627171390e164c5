"""Two hundred people watch one board of the console, each asking once a second: what a poll costs, and how long it takes.

`python -m benchmarks.watchers` starts a service of its own (PostgreSQL, Valkey, gunicorn, a worker, a stub in place of an
LLM), signs the watchers in, and measures while a run computes, and once everything has been stopped. Before the others
come one watches alone: each change is then drawn for them only, so that a changed poll costs what a drawing costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.demo_experiment import Race, Service, service
from benchmarks.http_caller import Caller
from benchmarks.machine import Watch, cpu_seconds, machine
from benchmarks.stub_llm import running_stub

CHECKOUT = Path(__file__).resolve().parent.parent
UNCHANGED, CHANGED = 304, 200
EVERY_SECONDS, SETTLE_SECONDS = 1.0, 3.0
ALONE_EVERY_SECONDS = 0.6  # longer than a tag is remembered, so that each poll reads anew
GOALS = "goals: unchanged ≤ 3 ms CPU and ≤ 1 kB, changed ≤ 15 ms CPU"


@dataclass(frozen=True)
class Poll:
    """One poll: how it was answered, after how long, and in how many bytes, headers included."""

    status: int
    seconds: float
    size: int


@dataclass
class Watcher(Caller):
    """Somebody signed in whose page asks for the part that moves."""

    tag: str = ""
    polls: list[Poll] = field(default_factory=list)

    async def poll(self, path: str) -> None:
        """Ask as the page does: with the tag of what it shows."""
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: sessionid={self.key}\r\nIf-None-Match: {self.tag}\r\n\r\n"
        began = time.perf_counter()
        try:
            status, headers, body = await self._exchange(head.encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            status, headers, body = await self._exchange(head.encode())
        size = len(body) + sum(len(name) + len(value) + 4 for name, value in headers.items())
        self.polls.append(Poll(status, time.perf_counter() - began, size))
        self.tag = headers.get("etag", self.tag)

    async def watch(self, path: str, *, after: float, until: float, every: float) -> None:
        """Poll again and again."""
        at = time.monotonic() + after
        while at < until:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            await self.poll(path)
            at = max(at + every, time.monotonic())


async def watched(port: int, cookies: Sequence[str], path: str, seconds: float, every: float) -> list[Poll]:
    """Let everybody watch for so long, spread over the interval; the first poll of each brings the whole board."""
    people = [await Watcher.open(port, cookie) for cookie in cookies]
    for one in people:
        await one.poll(path)
        one.polls.clear()
    until = time.monotonic() + seconds
    await asyncio.gather(
        *(one.watch(path, after=i * every / len(people), until=until, every=every) for i, one in enumerate(people))
    )
    for one in people:
        one.close()
    return [poll for one in people for poll in one.polls]


@dataclass(frozen=True)
class Phase:
    """What a span of watching came to."""

    polls: Sequence[Poll]
    seconds: float
    cpu: float
    load: str

    def answered(self, status: int) -> list[Poll]:
        """Return the polls that were answered so."""
        return [poll for poll in self.polls if poll.status == status]


def web_processes() -> list[psutil.Process]:
    """Return the processes of gunicorn, the first ancestor alone: its children are counted with it."""
    found = [one for one in psutil.Process().children(recursive=True) if "gunicorn" in " ".join(one.cmdline())]
    ids = {one.pid for one in found}
    return [one for one in found if one.ppid() not in ids]


def measured(own: Service, cookies: Sequence[str], path: str, seconds: float, every: float = EVERY_SECONDS) -> Phase:
    """Watch, and count the CPU time of the web processes meanwhile."""
    port = int(own.url.rpartition(":")[2])
    web, machine_watch = web_processes(), Watch()
    asyncio.run(watched(port, cookies[:1], path, 0.1, every))
    before, began = cpu_seconds(*web), time.monotonic()
    polls = asyncio.run(watched(port, cookies, path, seconds, every))
    return Phase(polls, time.monotonic() - began, cpu_seconds(*web) - before, str(machine_watch.seen()))


def idle_share(seconds: float) -> float:
    """Return the share of a core that the web processes take while nobody asks anything."""
    web = web_processes()
    before, began = cpu_seconds(*web), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(*web) - before) / (time.monotonic() - began)


def in_django(own: Service, *words: str) -> Any:
    """Call this module beside the database, and return what it prints."""
    command = [sys.executable, "-m", "benchmarks.watchers", *words]
    done = subprocess.run(command, cwd=CHECKOUT, env=own.env, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def sign_in(key: str, n: int) -> list[str]:
    """Let n readers into the account of a key; return their sessions."""
    import django

    django.setup()
    from django.test import Client

    from evalsvc.accounts.models import ApiKey, Member, User
    from evalsvc.accounts.services import add_member
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    cookies = []
    with role_scope(SYSTEM):
        account = ApiKey.objects.select_related("account").get(public=key[3:].split(".")[0]).account
        for i in range(n):
            user = User.objects.create_user(f"watcher-{i}@example.com", None, is_staff=True)
            add_member(account=account, user=user, role=Member.Role.READER)
            client = Client()
            client.force_login(user)
            cookies.append(client.cookies["sessionid"].value)
    return cookies


def count_queries(cookie: str, path: str) -> list[int]:
    """Return how many statements an unchanged poll, one that another's drawing answers, and one that draws send."""
    import django

    django.setup()
    from django.db import connections
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from evalsvc.console.pages.experiments.live import shared
    from evalsvc.tenancy.scope import APP, SIGNIN

    client = Client(HTTP_HOST="127.0.0.1")
    client.cookies["sessionid"] = cookie
    tag, counts = client.get(path)["ETag"], []
    for sent, forgets in ((tag, False), ('"another"', False), ('"another"', True)):
        if forgets:
            shared.forget_all()
        with CaptureQueriesContext(connections[APP]) as queries, CaptureQueriesContext(connections[SIGNIN]) as who:
            client.get(path, HTTP_IF_NONE_MATCH=sent)
        counts.append(len(queries) + len(who))
    return counts


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def line(name: str, polls: Sequence[Poll], cpu_ms: float, queries: int, share: float) -> str:
    """Write one case."""
    if not polls:
        return f"{name:<10} none"
    took = [1000 * poll.seconds for poll in polls]
    return (
        f"{name:<10} {len(polls):>6} polls  p50 {percentile(took, 0.5):6.1f} ms  p95 {percentile(took, 0.95):6.1f} ms  "
        f"CPU {cpu_ms:5.2f} ms a poll  {queries} queries  {max(poll.size for poll in polls):>6} bytes  {share:.0%} of one core"
    )


def changed_ms(phase: Phase, cheap: float, idle: float = 0.0) -> float:
    """Return the CPU time of a changed poll: what is left without the idle web and the polls that were unchanged."""
    left = phase.cpu - idle * phase.seconds - cheap * len(phase.answered(UNCHANGED))
    return 1000 * left / max(1, len(phase.answered(CHANGED)))


def report(still: Phase, moving: Phase, alone: Phase, idle: float, queries: Sequence[int]) -> list[str]:
    """Write all cases. While it moves some polls are unchanged; these cost what they cost when all is still."""
    cheap = still.cpu / max(1, len(still.polls))
    shared, own = changed_ms(moving, cheap), changed_ms(alone, cheap, idle)
    polls = (*still.polls, *moving.polls, *alone.polls)
    failed = [poll.status for poll in polls if poll.status not in (UNCHANGED, CHANGED)]
    return [
        line("unchanged", still.answered(UNCHANGED), 1000 * cheap, queries[0], still.cpu / still.seconds),
        line("changed", moving.answered(CHANGED), shared, queries[1], moving.cpu / moving.seconds),
        line("alone", alone.answered(CHANGED), own, queries[2], alone.cpu / alone.seconds),
        f"while it computes {len(moving.answered(UNCHANGED))} polls of {len(moving.polls)} are unchanged; the CPU of a drawing is in "
        "`changed` shared by all who get it, in `alone` it is the one watcher's",
        f"answered otherwise: {len(failed)} {sorted(set(failed)) if failed else ''}".rstrip(),
        GOALS,
        f"still:  {still.load}",
        f"moving: {moving.load}",
        f"alone:  {alone.load}; the idle web's {1000 * idle:.0f} ms a second are taken off",
    ]


def run(options: argparse.Namespace) -> None:
    """Measure from start to end."""
    print(machine())
    with running_stub(latency_ms=options.latency_ms) as stub, service(print) as own:
        race = Race(own, options)
        race.create(stub.base_url)
        cookies = in_django(own, "--sign-in", own.account["EVALSVC_API_KEY"], str(options.watchers))
        path = f"{race.board}/live"
        idle = idle_share(SETTLE_SECONDS)
        alone = measured(own, cookies[:1], path, options.seconds, ALONE_EVERY_SECONDS)
        moving = measured(own, cookies, path, options.seconds)
        configs = own.call("GET", f"/v1/experiments/{race.id}/live")["configs"]
        stopped = {"config_ids": [config["id"] for config in configs]}
        own.call("POST", f"/v1/experiments/{race.id}/configs/stop", stopped)
        time.sleep(SETTLE_SECONDS)
        still = measured(own, cookies, path, options.seconds)
        queries = in_django(own, "--count", cookies[0], path)
        print(
            f"\n{options.watchers} watchers at one poll a second, {options.configs} configs, {options.seconds:g} s each"
        )
        print("\n".join(report(still, moving, alone, idle, queries)))


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watchers", description=__doc__)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of the three cases")
    parser.add_argument("--configs", type=int, default=16)
    parser.add_argument("--examples", type=int, default=3000)
    parser.add_argument("--latency-ms", type=float, default=100.0, help="how long the stub takes for an answer")
    parser.add_argument("--tiny", action="store_true", help="does it run? The figures say nothing")
    parser.add_argument("--sign-in", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--count", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.policy, options.seed = "manual", 1
    if options.sign_in or options.count:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
        key, n = options.sign_in or ("", "0")
        print(json.dumps(sign_in(key, int(n)) if options.sign_in else count_queries(*options.count)))
        return 0
    if options.tiny:
        options.watchers, options.seconds, options.configs, options.examples = 5, 2.0, 2, 100
    run(options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
