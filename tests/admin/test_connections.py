"""Admin pages of connections: made, changed, tested, deleted; the key is on none of them."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from benchmarks.stub_llm import running_stub
from evalsvc.judges.models import Connection
from evalsvc.judges.selectors import connection_facts
from tests.admin.conftest import Person
from tests.conftest import Caller
from tests.judges.conftest import HEADER, KEY, made

LIST = "judges/connection/"


def fields(**more: Any) -> dict[str, Any]:
    name = f"c-{uuid.uuid4().hex[:10]}"
    filled = {"name": name, "base_url": "https://llm.example.com/v1", "model": "stub-echo", "timeout_seconds": "30"}
    return filled | {"is_enabled": "on", "key": "", "headers": ""} | more


def row_of(connection: Any) -> Connection:
    return Connection.objects.using("system").get(pk=connection["id"])


def errors(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return list(answer.context_data["adminform"].form.errors)


def test_it_is_made(admin: Person, alice: Caller) -> None:
    sent = fields(key=KEY, headers=f'{{"X-Secret": "{HEADER}"}}', rpm="60")

    assert admin.post(f"{LIST}add/", **sent).status_code == 302
    facts = connection_facts(account_id=alice.account.pk, ref=sent["name"])
    assert (facts.key, facts.headers, facts.rpm, facts.timeout_seconds) == (KEY, {"X-Secret": HEADER}, 60, 30.0)


def test_what_a_provider_needs_is_written_and_shown(admin: Person, alice: Caller) -> None:
    extra = {"provider": {"order": ["one"]}}
    more = {"protocol": "responses", "max_output_tokens": "8192", "currency": "EUR", "extra_body": json.dumps(extra)}
    sent = fields(query=f'{{"token": "{HEADER}"}}', **more)

    assert admin.post(f"{LIST}add/", **sent).status_code == 302
    facts = connection_facts(account_id=alice.account.pk, ref=sent["name"])
    assert (facts.query, facts.extra_body, facts.currency) == ({"token": HEADER}, extra, "EUR")
    assert (facts.protocol, facts.max_output_tokens) == ("responses", 8192)

    page = admin.change("judges/connection", facts.id).content.decode()
    assert "&quot;order&quot;" in page and HEADER not in page
    assert admin.post(f"{LIST}{facts.id}/change/", **(sent | {"query": "", "rpm": "7"})).status_code == 302
    after = connection_facts(account_id=alice.account.pk, ref=sent["name"])
    assert (after.query, after.extra_body, after.rpm) == ({"token": HEADER}, extra, 7)


def test_empty_secrets_stay(admin: Person, alice: Caller) -> None:
    connection = made(alice, headers={"X-Secret": HEADER})

    answer = admin.post(f"{LIST}{connection['id']}/change/", **fields(name=connection["name"], tpm="9000"))

    assert answer.status_code == 302
    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert (facts.key, facts.headers, facts.tpm) == (KEY, {"X-Secret": HEADER}, 9000)


def test_typed_secrets_replace(admin: Person, alice: Caller) -> None:
    connection = made(alice, headers={"X-Secret": HEADER})

    admin.post(f"{LIST}{connection['id']}/change/", **fields(name=connection["name"], key="new-key", headers="{}"))

    facts = connection_facts(account_id=alice.account.pk, ref=connection["id"])
    assert (facts.key, facts.headers) == ("new-key", {})


def test_another_server_needs_the_key_anew(admin: Person, alice: Caller) -> None:
    connection = made(alice)
    sent = fields(name=connection["name"], base_url="https://evil.example.com/v1")

    assert errors(admin.post(f"{LIST}{connection['id']}/change/", **sent)) == ["key"]
    assert row_of(connection).base_url == "https://llm.example.com/v1"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"base_url": "ftp://example.com"}, "base_url"),
        ({"base_url": "https://10.0.0.1"}, "base_url"),
        ({"key": "two words"}, "key"),
        ({"headers": "{"}, "headers"),
        ({"headers": '{"Host": "a"}'}, "headers"),
        ({"headers": '{"X-A": 7}'}, "headers"),
        ({"query": "api-version=1"}, "query"),
        ({"query": '{"a": 7}'}, "query"),
        ({"query": '{"a b": "c"}'}, "query"),
        ({"extra_body": "["}, "extra_body"),
        ({"extra_body": "[" * 100_000}, "extra_body"),
        ({"extra_body": "[1]"}, "extra_body"),
        ({"extra_body": '{"n": 2}'}, "extra_body"),
        ({"extra_body": '{"a": NaN}'}, "extra_body"),
        ({"extra_body": '{"a": "\\u0000"}'}, "extra_body"),
        ({"extra_body": '{"a": "\\ud800"}'}, "extra_body"),
        ({"protocol": "completions"}, "protocol"),
        ({"max_output_tokens": "0"}, "max_output_tokens"),
        ({"currency": "euro"}, "currency"),
        ({"currency": "€€€"}, "currency"),
        ({"daily_budget": "5"}, "daily_budget"),
        ({"rpm": "0"}, "rpm"),
        ({"timeout_seconds": "nan"}, "timeout_seconds"),
        ({"name": "a:b"}, "name"),
    ],
)
def test_wrong_fields_are_named(admin: Person, wrong: dict[str, str], field: str) -> None:
    answer = admin.post(f"{LIST}add/", **fields(**wrong))

    assert errors(answer) == [field]


def test_a_refused_key_is_not_shown_again(admin: Person) -> None:
    answer = admin.post(f"{LIST}add/", **fields(base_url="nonsense", key=KEY))

    assert errors(answer) == ["base_url"]
    assert KEY not in answer.content.decode()


@pytest.mark.parametrize("who", ["reader", "editor", "admin", "operator"])
def test_no_page_shows_a_secret(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person = request.getfixturevalue(who)
    connection = made(alice, headers={"X-Secret": HEADER}, name=f"c-{uuid.uuid4().hex}")

    pages = [person.get(LIST, q=connection["name"]), person.change("judges/connection", connection["id"])]

    for page in pages:
        assert page.status_code == 200
        assert connection["name"] in page.content.decode()
        assert KEY not in page.content.decode() and HEADER not in page.content.decode()
    assert "…wxyz" in pages[1].content.decode()


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_others_look_on(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person = request.getfixturevalue(who)
    connection = made(alice)
    page = f"{LIST}{connection['id']}"

    assert person.post(f"{LIST}add/", **fields()).status_code == 403
    assert person.post(f"{page}/change/", **fields()).status_code == 403
    assert person.post(f"{page}/test/").status_code == 403
    assert person.post(f"{page}/forget/").status_code == 403
    assert "/forget/" not in person.get(f"{page}/change/").content.decode()
    assert row_of(connection).deleted_at is None


def test_a_stranger_finds_nothing(admin: Person, charlie: Caller) -> None:
    connection = made(charlie)
    page = f"{LIST}{connection['id']}"

    assert connection["name"] not in admin.get(LIST).content.decode()
    for path in (f"{page}/change/", f"{page}/test/", f"{page}/forget/"):
        assert admin.get(path).status_code == 404
        assert admin.post(path).status_code == 404
    assert row_of(connection).deleted_at is None


def test_the_button_calls_once_after_a_question(admin: Person, alice: Caller) -> None:
    with running_stub() as stub:
        connection = made(alice, stub.base_url, model="stub-judge-pass")
        page = f"/admin/{LIST}{connection['id']}/test/"

        assert "a test question?" in admin.client.get(page).content.decode()
        assert stub.calls()["total"] == 0
        answer = admin.client.post(page, follow=True)
        assert stub.calls()["total"] == 1

    assert "stub-judge-pass gave a verdict after" in answer.content.decode()


def test_a_failed_trial_is_told(admin: Person, alice: Caller) -> None:
    connection = made(alice, "http://127.0.0.1:9/v1")

    answer = admin.client.post(f"/admin/{LIST}{connection['id']}/test/", follow=True)

    assert "connection: The server refuses the connection." in answer.content.decode()


def test_it_is_deleted_after_a_question(admin: Person, alice: Caller) -> None:
    connection = made(alice)
    page = f"{LIST}{connection['id']}/forget/"

    assert "Delete the connection" in admin.get(page).content.decode()
    assert admin.post(page).status_code == 302
    assert row_of(connection).secret is None
    assert f"/{connection['id']}/change/" not in admin.get(LIST).content.decode()
    assert admin.change("judges/connection", connection["id"]).status_code == 404


def test_hostile_text_is_text(admin: Person, alice: Caller) -> None:
    connection = made(alice, model="<script>alert(1)</script> {{ 7|add:7 }}")

    for page in (admin.get(LIST), admin.change("judges/connection", connection["id"])):
        assert "<script>alert(1)" not in page.content.decode()
        assert "alert(1)" in page.content.decode()


def test_another_becomes_the_default(admin: Person, alice: Caller) -> None:
    first, second = made(alice, is_default=True), made(alice)

    answer = admin.post(f"{LIST}{second['id']}/change/", **fields(name=second["name"], is_default="on"))

    assert answer.status_code == 302
    assert (row_of(first).is_default, row_of(second).is_default) == (False, True)
