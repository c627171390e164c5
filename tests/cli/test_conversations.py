"""Recorded conversations as examples, from a shell."""

from __future__ import annotations

import json

from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.telemetry.otlp import traces
from tests.telemetry.traced import Recorder, build_message, user


def record(caller: Caller, session: str, service: str = "shop") -> None:
    recorder = Recorder(session)
    recorder.chat([user("Where is order 7?")], build_message("It is sent."))
    assert caller.post("/v1/traces", traces(*recorder.spans, service=service)).json() == {}


def test_sessions_are_added_once(shell: dict[str, str], alice: Caller) -> None:
    record(alice, "s1")
    done = invoke("conversations", "talks", "--session", "s1", "--session", "s2", env=shell)
    assert done.exit_code == 0, done.output
    first, second, third = done.stdout.splitlines()
    assert first == "1 added, 1 not_found; version 1 has 1 examples"
    assert second == "s2: No span of it is stored."
    assert third.startswith(f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/datasets/")
    again = told(invoke("conversations", "talks", "--session", "s1", "--json", env=shell))["conversations"]
    assert (again["unchanged"], again["created"]) == (["s1"], False)


def test_a_search_finds_them(shell: dict[str, str], alice: Caller) -> None:
    for session, service in (("s1", "shop"), ("s2", "bank")):
        record(alice, session, service)
    options = ("--service", "bank", "--since", "2026-01-01T00:00:00Z", "--turns", "--json")
    found = told(invoke("conversations", "talks", *options, env=shell))["conversations"]
    assert found["added"] == ["s2"]
    rows = b"".join(alice.get(f"/v1/datasets/{found['dataset_id']}/jsonl").streaming_content)
    assert json.loads(rows)["input"] == {"turns": ["Where is order 7?"]}


def test_what_is_refused_changes_nothing(shell: dict[str, str], alice: Caller) -> None:
    both = invoke("conversations", "talks", "--session", "s1", "--app", "shop", env=shell)
    assert both.exit_code == 2 and "Name sessions, or traces" in both.output
    none = invoke("conversations", "talks", env=shell)
    assert none.exit_code == 2 and "No conversations match." in none.output
