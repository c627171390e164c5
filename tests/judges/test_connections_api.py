"""/v1/connections: made, read, changed, deleted, tested; and the key is in none of the answers."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import connection_facts, default_connection_facts
from tests.conftest import Caller
from tests.judges.conftest import HEADER, KEY, body, made

FULL: dict[str, Any] = {
    "price_input_per_million": 0.15,
    "price_output_per_million": 0.6,
    "timeout_seconds": 12.5,
    "rpm": 500,
    "tpm": 100_000,
    "max_concurrency": 8,
    "daily_budget": 5,
}


def row_of(connection: dict[str, Any]) -> Connection:
    return Connection.objects.using("system").get(pk=connection["id"])


def pointers(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    return [error["pointer"] for error in answer.json()["errors"]]


def test_it_is_made_and_read(alice: Caller) -> None:
    connection = made(alice, **FULL, headers={"OpenAI-Organization": HEADER})

    assert connection == connection | FULL
    assert (connection["key_set"], connection["key_last4"]) == (True, "wxyz")
    assert connection["header_names"] == ["OpenAI-Organization"]
    assert (connection["spent_today"], connection["is_enabled"], connection["epoch"]) == (0.0, True, 1)
    assert alice.get(f"/v1/connections/{connection['id']}").json() == {"connection": connection}
    assert alice.get("/v1/connections").json() == {"connections": [connection]}


def test_the_defaults(alice: Caller) -> None:
    connection = made(alice, key="")

    assert (connection["key_set"], connection["key_last4"]) == (False, None)
    assert connection["timeout_seconds"] == 60
    assert {connection[name] for name in FULL if name != "timeout_seconds"} == {None}


def test_of_a_short_key_nothing_is_shown(alice: Caller) -> None:
    connection = made(alice, key="short-key-1234")

    assert (connection["key_set"], connection["key_last4"]) == (True, None)


def test_facts_are_found_by_id_and_by_name(alice: Caller) -> None:
    connection = made(alice, **FULL, headers={"X-Secret": HEADER})

    by_id = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    by_name = connection_facts(account_id=alice.account.pk, ref=connection["name"])

    assert by_id == by_name
    assert (by_id.key, by_id.headers) == (KEY, {"X-Secret": HEADER})
    assert (by_id.rpm, by_id.daily_budget, by_id.price_output_per_million) == (500, 5.0, 0.6)


def test_a_reader_looks_on(alice: Caller, bob: Caller) -> None:
    connection = made(alice)
    path = f"/v1/connections/{connection['id']}"

    assert bob.get("/v1/connections").json() == {"connections": [connection]}
    for refused in (
        bob.post("/v1/connections", body()),
        bob.patch(path, {"rpm": 1}),
        bob.call("DELETE", path),
        bob.post(f"{path}/test"),
    ):
        assert refused.status_code == 403
        assert refused.json()["code"] == "read_only_key"


def test_a_stranger_finds_nothing(alice: Caller, charlie: Caller) -> None:
    connection = made(alice)
    path, missing = f"/v1/connections/{connection['id']}", f"/v1/connections/{uuid.uuid4()}"

    def without_id(answer: Any) -> dict[str, Any]:
        assert answer.status_code == 404
        return {name: value for name, value in answer.json().items() if name != "request_id"}

    for method, tail, sent in (
        ("GET", "", None),
        ("PATCH", "", {"rpm": 1}),
        ("DELETE", "", None),
        ("POST", "/test", None),
    ):
        theirs, nobodys = charlie.call(method, path + tail, sent), charlie.call(method, missing + tail, sent)
        assert without_id(theirs) == without_id(nobodys)
    assert charlie.get("/v1/connections").json() == {"connections": []}
    assert row_of(connection).rpm is None


@pytest.mark.parametrize("ref", ["id", "name"])
def test_a_stranger_s_facts_do_not_resolve(alice: Caller, charlie: Caller, ref: str) -> None:
    connection = made(alice)

    with pytest.raises(UnusableConnection) as caught:
        connection_facts(account_id=charlie.account.pk, ref=connection[ref])
    assert caught.value.code == "not_configured"


def test_two_accounts_may_use_one_name(alice: Caller, charlie: Caller) -> None:
    connection = made(alice)

    assert charlie.post("/v1/connections", body(name=connection["name"])).status_code == 201
    again = alice.post("/v1/connections", body(name=connection["name"]))
    assert (again.status_code, again.json()["code"]) == (422, "already_exists")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "a:b"}, "/name"),
        ({"name": "3f747805-b32a-47b8-95a2-8f1d2234b80b"}, "/name"),
        ({"base_url": "ftp://example.com"}, "/base_url"),
        ({"base_url": "https://user:pass@example.com"}, "/base_url"),
        ({"base_url": "https://example.com/v1?key=x"}, "/base_url"),
        ({"base_url": "https://example.com/v1/chat/completions"}, "/base_url"),
        ({"base_url": "https://10.0.0.1/v1"}, "/base_url"),
        ({"base_url": "http://8.8.8.8/v1"}, "/base_url"),
        ({"model": " "}, "/model"),
        ({"model": 7}, "/model"),
        ({"key": "two words"}, "/key"),
        ({"key": "line\r\nbreak"}, "/key"),
        ({"key": 7}, "/key"),
        ({"headers": {"Host": "inside"}}, "/headers"),
        ({"headers": {"X-A": "b\r\nHost: c"}}, "/headers"),
        ({"headers": {f"X-{i}": "a" for i in range(21)}}, "/headers"),
        ({"price_input_per_million": 1}, "/price_output_per_million"),
        ({"price_input_per_million": -1, "price_output_per_million": 1}, "/price_input_per_million"),
        ({"daily_budget": 1}, "/daily_budget"),
        ({"timeout_seconds": 0}, "/timeout_seconds"),
        ({"timeout_seconds": 601}, "/timeout_seconds"),
        ({"rpm": 0}, "/rpm"),
        ({"tpm": 2**31}, "/tpm"),
        ({"max_concurrency": "many"}, "/max_concurrency"),
        ({"organisation": "x"}, "/organisation"),
    ],
)
def test_wrong_fields_are_named(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert pointers(alice.post("/v1/connections", body(**fields))) == [pointer]
    assert alice.get("/v1/connections").json() == {"connections": []}


def test_it_is_changed(alice: Caller) -> None:
    connection = made(alice)

    changed = alice.patch(f"/v1/connections/{connection['id']}", {"rpm": 7, "model": "other", "is_enabled": False})

    assert changed.status_code == 200
    after = changed.json()["connection"]
    assert (after["rpm"], after["model"], after["is_enabled"], after["epoch"]) == (7, "other", False, 2)
    assert after["revised_at"] > connection["revised_at"]
    assert after["key_set"] is True


def test_a_limit_is_taken_away(alice: Caller) -> None:
    connection = made(alice, rpm=5)

    assert alice.patch(f"/v1/connections/{connection['id']}", {"rpm": None}).json()["connection"]["rpm"] is None


def test_a_key_is_replaced_and_headers_stay(alice: Caller) -> None:
    connection = made(alice, headers={"X-Secret": HEADER})

    alice.patch(f"/v1/connections/{connection['id']}", {"key": "another-key-of-some-length"})

    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert (facts.key, facts.headers) == ("another-key-of-some-length", {"X-Secret": HEADER})


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_key_removes_it(alice: Caller, empty: str | None) -> None:
    connection = made(alice)

    after = alice.patch(f"/v1/connections/{connection['id']}", {"key": empty}).json()["connection"]

    assert (after["key_set"], after["key_last4"]) == (False, None)
    assert row_of(connection).secret is None


@pytest.mark.parametrize(
    "url", ["https://evil.example.com/v1", "https://llm.example.com:8443/v1", "http://llm.example.com/v1"]
)
def test_a_secret_is_not_carried_to_another_server(alice: Caller, url: str) -> None:
    connection = made(alice, headers={"X-Secret": HEADER})
    path = f"/v1/connections/{connection['id']}"

    assert pointers(alice.patch(path, {"base_url": url})) == ["/key", "/headers"]
    assert pointers(alice.patch(path, {"base_url": url, "key": "new-key"})) == ["/headers"]
    assert alice.patch(path, {"base_url": url, "key": "new-key", "headers": {}}).status_code == 200
    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert (facts.base_url, facts.key, facts.headers) == (url, "new-key", {})


def test_another_path_of_the_server_keeps_the_secret(alice: Caller) -> None:
    connection = made(alice)

    moved = alice.patch(f"/v1/connections/{connection['id']}", {"base_url": "https://LLM.example.com/v2/"})

    assert moved.json()["connection"]["base_url"] == "https://LLM.example.com/v2"
    assert connection_facts(account_id=alice.account.pk, ref=connection["id"]).key == KEY


def test_a_deleted_one_is_gone_and_so_is_its_key(alice: Caller) -> None:
    connection = made(alice)
    path = f"/v1/connections/{connection['id']}"

    assert alice.call("DELETE", path).status_code == 204
    for answer in (
        alice.get(path),
        alice.patch(path, {"rpm": 1}),
        alice.call("DELETE", path),
        alice.post(f"{path}/test"),
    ):
        assert answer.status_code == 404
    row = row_of(connection)
    assert (row.secret, row.has_key, row.key_last4, row.header_names) == (None, False, "", [])
    with pytest.raises(UnusableConnection):
        connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert alice.post("/v1/connections", body(name=connection["name"])).status_code == 201


def test_one_that_is_switched_off_does_not_resolve(alice: Caller) -> None:
    connection = made(alice, is_enabled=False)

    with pytest.raises(UnusableConnection, match="switched off"):
        connection_facts(account_id=alice.account.pk, ref=connection["name"])


def test_it_is_tried(alice: Caller, stub: RunningStub) -> None:
    prices = {"price_input_per_million": 1, "price_output_per_million": 2}
    connection = made(alice, stub.base_url, model="stub-judge-pass", **prices)

    answer = alice.post(f"/v1/connections/{connection['id']}/test")

    assert answer.status_code == 200
    tried = answer.json()
    assert (tried["ok"], tried["model"], tried["error"]) == (True, "stub-judge-pass", None)
    assert tried["latency_ms"] > 0 and tried["cost"] > 0
    after = alice.get(f"/v1/connections/{connection['id']}").json()["connection"]
    assert after["spent_today"] == pytest.approx(tried["cost"])


@pytest.mark.parametrize(
    ("model", "code"),
    [("stub-401", "not_configured"), ("stub-garbage", "bad_output"), ("stub-quota", "budget_exhausted")],
)
def test_a_failed_trial_says_why(alice: Caller, stub: RunningStub, model: str, code: str) -> None:
    connection = made(alice, stub.base_url, model=model)

    tried = alice.post(f"/v1/connections/{connection['id']}/test").json()

    assert (tried["ok"], tried["error"]["code"]) == (False, code)
    assert KEY not in str(tried)


def test_a_trial_is_not_replayed(alice: Caller, stub: RunningStub) -> None:
    connection = made(alice, stub.base_url, model="stub-judge-pass", key=f"key-{uuid.uuid4().hex}")
    path, key = f"/v1/connections/{connection['id']}/test", uuid.uuid4().hex

    for _ in range(2):
        assert alice.post(path, idempotency_key=key).json()["ok"] is True
    assert sum(n for used, n in stub.calls()["by_key"].items() if used.startswith("key-")) >= 2


def test_a_trial_of_a_forbidden_address_calls_nobody(alice: Caller) -> None:
    connection = made(alice, "https://127.0.0.1:9/v1")

    with override_settings(OUTBOUND_ALLOW=[]):
        tried = alice.post(f"/v1/connections/{connection['id']}/test").json()

    assert tried["error"]["code"] == "not_configured"


def test_the_audit_trail_says_what_was_done(alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry

    connection = made(alice, headers={"X-Secret": HEADER})
    alice.patch(f"/v1/connections/{connection['id']}", {"key": "another-key-of-some-length", "rpm": 4})
    alice.call("DELETE", f"/v1/connections/{connection['id']}")

    entries = AuditEntry.objects.using("system").filter(account=alice.account, target=connection["name"]).order_by("id")
    assert [entry.action for entry in entries] == ["connection.created", "connection.changed", "connection.deleted"]
    assert entries[1].detail == {"fields": "key, rpm"}
    told = str([(entry.target, entry.detail) for entry in entries])
    assert not any(secret in told for secret in (KEY, HEADER, "another-key"))


def test_no_answer_and_no_log_line_holds_a_secret(
    alice: Caller, stub: RunningStub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers = [alice.post("/v1/connections", body(stub.base_url, headers={"X-Secret": HEADER}, model="stub-401"))]
    path = f"/v1/connections/{answers[0].json()['connection']['id']}"
    answers += [
        alice.get("/v1/connections"),
        alice.get(path),
        alice.patch(path, {"rpm": 9}),
        alice.post(f"{path}/test"),
    ]
    answers += [
        alice.post("/v1/connections", body("nonsense")),
        alice.post("/v1/connections", body(key=f"{KEY} {KEY}")),
    ]

    told = b"".join(answer.content for answer in answers).decode() + caplog.text
    assert KEY not in told
    assert HEADER not in told


def test_the_table_holds_no_secret_in_the_clear(alice: Caller) -> None:
    row = row_of(made(alice, headers={"X-Secret": HEADER}))

    stored = bytes(row.secret or b"")
    assert stored and KEY.encode() not in stored and HEADER.encode() not in stored


def test_an_account_has_so_many_and_no_more(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.judges.services.MAX_CONNECTIONS", 1)
    made(alice)

    assert alice.post("/v1/connections", body()).status_code == 422


def test_an_account_has_one_default(alice: Caller, charlie: Caller) -> None:
    foreign = made(charlie, is_default=True)
    first = made(alice, is_default=True)
    second = made(alice)

    assert (first["is_default"], second["is_default"]) == (True, False)
    changed = alice.patch(f"/v1/connections/{second['id']}", {"is_default": True}).json()["connection"]
    assert changed["is_default"]
    assert alice.get(f"/v1/connections/{first['id']}").json()["connection"]["is_default"] is False
    assert charlie.get(f"/v1/connections/{foreign['id']}").json()["connection"]["is_default"] is True


def test_a_deleted_default_makes_room(alice: Caller) -> None:
    first = made(alice, is_default=True)
    alice.call("DELETE", f"/v1/connections/{first['id']}")

    assert made(alice, is_default=True)["is_default"]


def default_of(caller: Caller) -> str:
    return default_connection_facts(account_id=caller.account.pk).name


def test_without_a_default_the_only_one_is_asked(alice: Caller) -> None:
    with pytest.raises(UnusableConnection, match="has no connection"):
        default_of(alice)
    only = made(alice)
    made(alice, is_enabled=False)

    assert default_of(alice) == only["name"]
    second = made(alice)
    with pytest.raises(UnusableConnection, match="none is its default"):
        default_of(alice)
    alice.patch(f"/v1/connections/{second['id']}", {"is_default": True})
    assert default_of(alice) == second["name"]


def test_a_default_that_is_off_is_not_replaced(alice: Caller) -> None:
    made(alice)
    made(alice, is_default=True, is_enabled=False)

    with pytest.raises(UnusableConnection, match="switched off"):
        default_of(alice)
