"""What a provider needs besides a key: fields of the request, query, headers, limits, protocol and currency."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.test import override_settings

from evalsvc.accounts.models import AuditEntry
from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import connection_facts
from evaluators.base import CannotScore
from tests.conftest import Caller
from tests.judges.asking import GOOD, PRICES, Judge, question, usage
from tests.judges.conftest import HEADER, body, made
from tests.judges.providers import Endpoint, chat
from tests.judges.webhook_server import Server

QUERY = "query-secret/0123 456789"
MODERN: dict[str, Any] = {
    "protocol": "responses",
    "extra_body": {"reasoning_effort": "low", "provider": {"order": ["one", "two"]}},
    "max_output_tokens": 8192,
    "currency": "EUR",
}


@pytest.fixture
def endpoint(server: Server) -> Endpoint:
    return Endpoint(server)


VERDICT = {"reasoning": "It is 42.", "score": 1, "verdict": "correct"}


def pointers(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    return [error["pointer"] for error in answer.json()["errors"]]


def row_of(connection: dict[str, Any]) -> Connection:
    return Connection.objects.using("system").get(pk=connection["id"])


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


def test_fields_are_stored_and_read(alice: Caller) -> None:
    connection = made(alice, **MODERN, query={"api-version": "2024-10-21", "token": QUERY})

    assert connection == connection | MODERN
    assert connection["query_names"] == ["api-version", "token"] and "query" not in connection
    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert facts.query == {"api-version": "2024-10-21", "token": QUERY}
    assert (facts.protocol, facts.extra_body, facts.max_output_tokens) == ("responses", MODERN["extra_body"], 8192)


def test_a_connection_without_them_is_as_before(alice: Caller) -> None:
    connection = made(alice)

    assert connection["query_names"] == [] and connection["extra_body"] == {}
    assert (connection["protocol"], connection["max_output_tokens"], connection["currency"]) == ("chat", None, "USD")
    with override_settings(CURRENCY="CHF"):
        assert alice.get(f"/v1/connections/{connection['id']}").json()["connection"]["currency"] == "CHF"


def test_null_takes_them_away(alice: Caller) -> None:
    connection = made(alice, **MODERN, query={"token": QUERY})

    empty = {"extra_body": None, "query": None, "max_output_tokens": None, "currency": None, "protocol": "chat"}
    after = alice.patch(f"/v1/connections/{connection['id']}", empty).json()["connection"]

    assert (after["extra_body"], after["query_names"], after["max_output_tokens"]) == ({}, [], None)
    assert (after["currency"], after["protocol"], after["key_set"]) == ("USD", "chat", True)


RESERVED = (
    *("model", "messages", "input", "instructions", "stream", "n", "max_tokens", "max_completion_tokens"),
    *("max_output_tokens", "response_format", "tools", "tool_choice", "functions", "logprobs", "background"),
)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        *(({"extra_body": {name: 1}}, f"/extra_body/{name}") for name in RESERVED),
        ({"extra_body": {"text": {"format": {"type": "text"}}}}, "/extra_body/text/format"),
        ({"extra_body": {"api_key": "x"}}, "/extra_body/api_key"),
        ({"extra_body": {"deep": [{"api-base": "x"}]}}, "/extra_body/deep/0/api-base"),
        ({"extra_body": {"a": "x" * 4096}}, "/extra_body"),
        ({"extra_body": nested(20)}, "/extra_body"),
        ({"extra_body": {"a": 2**70}}, "/extra_body/a"),
        ({"extra_body": [1]}, "/extra_body"),
        ({"extra_body": "{}"}, "/extra_body"),
        ({"query": {f"q{i}": "a" for i in range(21)}}, "/query"),
        ({"query": {"a b": "c"}}, "/query"),
        ({"query": {"": "c"}}, "/query"),
        ({"query": {"a": "b\nc"}}, "/query"),
        ({"query": {"a": "b" * 4097}}, "/query/a"),
        ({"query": {"a": 7}}, "/query/a"),
        ({"query": "a=b"}, "/query"),
        ({"protocol": "completions"}, "/protocol"),
        ({"protocol": None}, "/protocol"),
        ({"max_output_tokens": 0}, "/max_output_tokens"),
        ({"max_output_tokens": 1_000_001}, "/max_output_tokens"),
        ({"max_output_tokens": 1.5}, "/max_output_tokens"),
        ({"currency": "euro"}, "/currency"),
        ({"currency": "eur"}, "/currency"),
        ({"base_url": "https://example.com/v1/responses"}, "/base_url"),
    ],
)
def test_wrong_fields_are_named(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert pointers(alice.post("/v1/connections", body(**fields))) == [pointer]
    assert alice.get("/v1/connections").json() == {"connections": []}


def test_a_wrong_change_changes_nothing(alice: Caller) -> None:
    connection = made(alice, **MODERN)

    assert pointers(alice.patch(f"/v1/connections/{connection['id']}", {"rpm": 5, "extra_body": {"n": 2}})) == [
        "/extra_body/n"
    ]
    assert alice.get(f"/v1/connections/{connection['id']}").json()["connection"] == connection


def test_query_is_not_carried_to_another_server(alice: Caller) -> None:
    connection = made(alice, key="", query={"token": QUERY})
    path, url = f"/v1/connections/{connection['id']}", "https://elsewhere.example.com/v1"

    assert pointers(alice.patch(path, {"base_url": url})) == ["/query"]
    assert alice.patch(path, {"base_url": url, "query": {}}).status_code == 200
    assert row_of(connection).secret is None


def test_a_new_key_keeps_query_and_headers(alice: Caller) -> None:
    connection = made(alice, headers={"X-A": HEADER}, query={"token": QUERY})

    alice.patch(f"/v1/connections/{connection['id']}", {"key": "another-key-of-some-length"})

    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert (facts.headers, facts.query) == ({"X-A": HEADER}, {"token": QUERY})


def test_a_deleted_one_forgets_its_query(alice: Caller) -> None:
    connection = made(alice, key="", query={"token": QUERY})
    alice.call("DELETE", f"/v1/connections/{connection['id']}")

    assert (row_of(connection).secret, row_of(connection).query_names) == (None, [])


def test_the_query_is_stored_encrypted(alice: Caller) -> None:
    row = row_of(made(alice, query={"token": QUERY}))

    assert all(QUERY not in str(value) for value in vars(row).values()) and QUERY.encode() not in bytes(
        row.secret or b""
    )
    assert QUERY not in repr(connection_facts(account_id=row.account_id, ref=str(row.id)))


def test_every_request_carries_them(endpoint: Endpoint) -> None:
    endpoint.server.says(chat())
    judge = endpoint.judge(
        query={"api-version": "2024-10-21", "token": QUERY},
        headers={"X-A": HEADER},
        extra_body={"service_tier": "flex", "temperature": 1, "provider": {"order": ["one"]}},
    )

    assert judge.ask(model="m").data == GOOD
    assert judge.ask(model="m", temperature=0.5).data == GOOD

    (path, headers, _), _ = endpoint.server.seen
    assert path == "/v1/chat/completions?api-version=2024-10-21&token=query-secret%2F0123+456789"
    assert headers["x-a"] == HEADER
    first, second = endpoint.read_requests()
    assert (first["service_tier"], first["provider"], first["model"]) == ("flex", {"order": ["one"]}, "m")
    # What a profile sets itself comes before what the connection adds to every request.
    assert (first["temperature"], second["temperature"]) == (1, 0.5)


def test_a_change_of_the_query_is_sent_at_once(endpoint: Endpoint) -> None:
    endpoint.server.says(chat())
    judge = endpoint.judge(query={"v": "1"})
    judge.ask(model="m")
    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"query": {"v": "2"}})
    judge.ask(model="m")

    assert [path.partition("?")[2] for path, _, _ in endpoint.server.seen] == ["v=1", "v=2"]


@pytest.mark.parametrize(
    "change", [{"extra_body": {"reasoning_effort": "high"}}, {"query": {"v": "2"}}, {"protocol": "responses"}]
)
def test_an_answer_is_remembered_for_the_same_request_only(endpoint: Endpoint, change: dict[str, Any]) -> None:
    endpoint.server.says(chat())
    judge, asked = endpoint.judge(), question("the same")
    for _ in range(2):
        judge.ask(model="m", asked=asked)
    assert len(endpoint.server.seen) == 1
    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", change)
    for _ in range(2):
        judge.ask(model="m", asked=asked)

    assert len(endpoint.server.seen) == 2


def leaking(handler: Any) -> None:
    """Answer with an error that repeats the address, the query and the headers."""
    told = f"cannot serve {handler.path} token {QUERY} for {handler.headers['x-a']} {handler.headers['authorization']}"
    handler.reply(400, json.dumps({"error": {"message": told, "code": "bad"}}).encode())


def test_no_surface_repeats_a_secret(endpoint: Endpoint, alice: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.server.says(leaking)
    judge = endpoint.judge(alice, headers={"X-A": HEADER}, query={"token": QUERY, "api-version": "2024-10-21"})
    path = f"/v1/connections/{judge.connection['id']}"
    with pytest.raises(CannotScore) as caught:
        judge.ask(model="m")
    answers = [alice.get("/v1/connections"), alice.get(path), alice.patch(path, {"query": {"token": QUERY}})]
    answers += [alice.post(f"{path}/test"), alice.get(path), alice.get("/v1/audit")]
    answers.append(alice.post("/v1/connections", body(query={"token": f"{QUERY}\n"})))
    entries = AuditEntry.objects.using("system").filter(account=alice.account)
    account = f"*{alice.account.pk}*"
    redis = get_shared_client()
    kept = [redis.dump(key) for key in redis.scan_iter(match=account)]

    told = f"{caught.value!r} {usage(caught.value)} {caplog.text} {[entry.detail for entry in entries]} {kept}"
    told += b"".join(answer.content for answer in answers).decode()
    assert "cannot serve" in told and "api-version=2024-10-21" in told
    for secret in (QUERY, "query-secret", "0123+456789", HEADER, judge.key):
        assert secret not in told, secret


def test_their_currency_is_said(endpoint: Endpoint) -> None:
    endpoint.server.says(chat(VERDICT))
    judge = endpoint.judge(**PRICES, currency="EUR")

    tried = judge.caller.post(f"/v1/connections/{judge.connection['id']}/test").json()
    assert (tried["currency"], tried["cost"]) == ("EUR", pytest.approx((100 * 1 + 10 * 2) / 1e6))


def trial(judge: Judge) -> dict[str, Any]:
    answer = judge.caller.post(f"/v1/connections/{judge.connection['id']}/test")
    assert answer.status_code == 200, answer.content
    tried: dict[str, Any] = answer.json()
    return tried


def test_a_test_asks_a_real_question(endpoint: Endpoint) -> None:
    endpoint.server.says(chat(VERDICT))
    judge = endpoint.judge(**PRICES, extra_body={"service_tier": "flex"})

    tried = trial(judge)

    assert (tried["ok"], tried["model"], tried["calls"], tried["error"], tried["hint"]) == (True, "m-1", 1, None, None)
    assert (tried["input_tokens"], tried["output_tokens"], tried["usage_estimated"]) == (100, 10, False)
    assert tried["latency_ms"] > 0 and tried["dialect"]["mode"] == "json_schema"
    (sent,) = endpoint.read_requests()
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert (sent["max_tokens"], sent["service_tier"]) == (1024, "flex")


def test_a_test_learns_and_says_what_it_learnt(endpoint: Endpoint) -> None:
    def refuse(handler: Any) -> None:
        error = {"message": "Unsupported parameter: 'max_tokens'.", "code": "unsupported_parameter"}
        handler.reply(400, json.dumps({"error": error}).encode())

    endpoint.server.says(refuse, chat(VERDICT))
    judge = endpoint.judge()

    assert (tried := trial(judge))["calls"] == 2 and tried["dialect"]["limit"] == "max_completion_tokens"
    assert trial(judge)["calls"] == 1
    shown = judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]
    assert shown["dialects"] == {"m": tried["dialect"]} and judge.connection["dialects"] == {}


def test_a_failed_test_repeats_the_provider_and_hints_at_the_path(endpoint: Endpoint) -> None:
    def refuse(handler: Any) -> None:
        handler.reply(404, json.dumps({"error": {"message": "No route here, try elsewhere"}}).encode())

    endpoint.server.says(refuse)
    root = endpoint.base_url.removesuffix("/v1")
    judge, versioned = endpoint.judge(base_url=root), endpoint.judge()

    tried = trial(judge)
    assert (tried["ok"], tried["error"]["code"], tried["dialect"]) == (False, "not_configured", None)
    assert "No route here, try elsewhere" in tried["error"]["detail"]
    assert f"{root}/v1" in tried["hint"]
    assert trial(versioned)["hint"] is None


@pytest.mark.parametrize(
    ("base_url", "is_hinted"),
    [
        ("https://llm.example.com", True),
        ("https://llm.example.com/api", True),
        ("https://llm.example.com/v1", False),
        ("https://llm.example.com/v1beta/openai", False),
        ("https://llm.example.com/openai/v1", False),
    ],
)
def test_an_address_without_a_version_is_hinted_at(alice: Caller, base_url: str, is_hinted: bool) -> None:
    hint = made(alice, base_url)["hint"]

    assert (f"{base_url}/v1" in hint) if is_hinted else hint is None


def test_a_hint_ends_with_the_first_answer(endpoint: Endpoint) -> None:
    endpoint.server.says(chat(VERDICT))
    judge = endpoint.judge(base_url=endpoint.base_url.removesuffix("/v1"))
    assert judge.connection["hint"] and trial(judge)["ok"]

    assert judge.caller.get(f"/v1/connections/{judge.connection['id']}").json()["connection"]["hint"] is None


def test_a_failed_test_makes_one_call(endpoint: Endpoint) -> None:
    endpoint.server.says(lambda handler: handler.reply(500, b'{"error": {"message": "overloaded"}}'))

    tried = trial(endpoint.judge())

    assert (tried["error"]["code"], tried["calls"], len(endpoint.server.seen)) == ("connection", 1, 1)


def test_a_test_is_made_while_the_breaker_is_open(endpoint: Endpoint) -> None:
    endpoint.server.says(lambda handler: handler.reply(401, b'{"error": {"message": "wrong key"}}'))
    judge = endpoint.judge()
    judge.failing("m")
    n_calls = len(endpoint.server.seen)
    judge.failing("m")
    assert len(endpoint.server.seen) == n_calls
    endpoint.server.says(chat(VERDICT))

    assert trial(judge)["ok"] is True


def test_a_budget_that_is_spent_holds_for_a_test(endpoint: Endpoint) -> None:
    endpoint.server.says(chat(VERDICT))
    judge = endpoint.judge(**PRICES, daily_budget=0.000001)

    tried = trial(judge)

    assert (tried["error"]["code"], tried["calls"], endpoint.server.seen) == ("budget_exhausted", 0, [])
