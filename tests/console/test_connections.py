"""Pages of connections: made and edited without a key ever shown; how calls end, as the API says it; tested and mended."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.reports.words import number_text
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import acts_of_people
from tests.factories import ok
from tests.judges.conftest import KEY, made, stub

FORM: dict[str, Any] = {"name": "house", "base_url": "https://llm.example.com/v1", "model": "stub-echo", "key": KEY}
ACTS = ("edit", "test", "switch", "delete")


def connections(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(caller.get("/v1/connections"))["connections"]
    return found


def test_one_is_made_and_its_key_is_never_shown(alice: Caller, admin: Visitor) -> None:
    sent = {**FORM, "price_input_per_million": "0.15", "price_output_per_million": "0.6", "daily_budget": "5"}
    answer = admin.post("connections/new", **sent, headers='{"X-Org": "org-secret"}', is_default="on")
    (row,) = connections(alice)

    assert answer["Location"] == admin.at(f"connections/{row['id']}")
    assert (row["name"], row["daily_budget"], row["key_last4"], row["is_default"]) == ("house", 5.0, "wxyz", True)
    for path in ("connections", f"connections/{row['id']}", f"connections/{row['id']}/edit", ""):
        assert KEY not in admin.text(path) and "org-secret" not in admin.text(path), path
    assert "ends in" in admin.text(f"connections/{row['id']}") and acts_of_people(alice.account) == [
        "connection.created"
    ]


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("base_url", {"base_url": "http://169.254.169.254/v1"}),
        ("base_url", {"base_url": "https://10.0.0.7/v1"}),
        ("daily_budget", {"daily_budget": "5"}),
        ("rpm", {"rpm": "0"}),
        ("headers", {"headers": "no json"}),
        ("name", {"name": "<b>"}),
    ],
)
def test_what_cannot_be_is_said_at_its_field_and_the_key_is_typed_again(
    alice: Caller, admin: Visitor, field: str, sent: dict[str, str]
) -> None:
    answer = admin.post("connections/new", **(FORM | sent))
    text = answer.content.decode()

    assert answer.status_code == 422 and f'id="e-{field}"' in text
    assert KEY not in text and connections(alice) == []
    assert 'id="e-key"' in text and "Enter it again" in text


def test_what_is_not_typed_stays(alice: Caller, admin: Visitor) -> None:
    row = made(alice, rpm=500)
    path = f"connections/{row['id']}/edit"
    kept = {"name": row["name"], "base_url": row["base_url"], "model": "other", "rpm": "100"}
    admin.post(path, **kept)
    (changed,) = connections(alice)
    assert (changed["key_set"], changed["key_last4"], changed["model"], changed["rpm"]) == (True, "wxyz", "other", 100)

    moved = admin.post(path, **(kept | {"base_url": "https://elsewhere.example.com/v1"}))
    assert moved.status_code == 422 and 'id="e-key"' in moved.content.decode()
    admin.post(path, **kept, key="sk-another-0123456789-abcd")
    assert connections(alice)[0]["key_last4"] == "abcd"
    admin.post(path, **kept, remove_key="on")
    assert connections(alice)[0]["key_set"] is False


def test_a_judge_that_fails_stands_out_and_is_mended(alice: Caller, admin: Visitor, stub: RunningStub) -> None:
    row = made(alice, stub.base_url, model="stub-401", timeout_seconds=30)
    path = f"connections/{row['id']}"
    assert "no recent calls" in admin.text("connections")
    admin.post(f"{path}/test")

    for page in ("", "connections", path):
        text = admin.text(page)
        assert "edit them, then test" in text and ("fails" in text), page
    said = connections(alice)[0]["health"]
    assert (said["n_calls"], said["n_failed"], said["failed"]) == (1, 1, {"not_configured": 1})
    assert said["last_code"] == "not_configured" and KEY not in str(said)

    admin.post(
        f"{path}/edit", name=row["name"], base_url=stub.base_url, model="stub-judge-pass", key="sk-new-0123456789-abcd"
    )
    admin.post(f"{path}/test")
    text = admin.text("connections")
    assert "edit them, then test" not in text and ">answers<" in text
    assert "judge fails" not in admin.text()
    assert acts_of_people(alice.account) == ["connection.tested", "connection.changed", "connection.tested"]


def test_what_a_provider_needs_is_written_and_shown(alice: Caller, admin: Visitor, stub: RunningStub) -> None:
    extra = {"provider": {"order": ["one"]}}
    more = {"protocol": "chat", "max_output_tokens": "8192", "currency": "eur", "extra_body": json.dumps(extra)}
    more |= {"price_input_per_million": "1", "price_output_per_million": "2"}
    sent = FORM | {"base_url": stub.base_url, "model": "stub-judge-pass:newlimit"} | more
    admin.post("connections/new", **sent, query='{"api-version": "1", "token": "query-secret"}')
    (row,) = connections(alice)
    assert (row["extra_body"], row["max_output_tokens"], row["currency"]) == (extra, 8192, "EUR")

    path = f"connections/{row['id']}"
    admin.post(f"{path}/test")
    page, form = admin.text(path), admin.text(f"{path}/edit")
    for words in ("limit max_completion_tokens", "api-version, token", "Chat Completions", "&quot;order&quot;", "EUR"):
        assert words in page, words
    assert "Stored now: api-version, token." in form and "&quot;order&quot;" in form
    assert "query-secret" not in page + form

    kept = {name: str(value) for name, value in sent.items() if name != "key"}
    admin.post(f"{path}/edit", **(kept | {"rpm": "7", "query": ""}))
    (after,) = connections(alice)
    assert (after["query_names"], after["extra_body"], after["rpm"]) == (["api-version", "token"], extra, 7)


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("extra_body", {"extra_body": "no json"}),
        ("extra_body", {"extra_body": '{"stream": true}'}),
        ("query", {"query": '{"a b": "c"}'}),
        ("max_output_tokens", {"max_output_tokens": "0"}),
        ("currency", {"currency": "euro"}),
        ("protocol", {"protocol": "completions"}),
    ],
)
def test_what_no_provider_takes_is_said_at_its_field(
    alice: Caller, admin: Visitor, field: str, sent: dict[str, str]
) -> None:
    answer = admin.post("connections/new", **(FORM | sent))

    assert answer.status_code == 422 and f'id="e-{field}"' in answer.content.decode()
    assert connections(alice) == []


def test_its_figures_are_the_api_s(alice: Caller, reader: Visitor, stub: RunningStub) -> None:
    row = made(alice, stub.base_url, price_input_per_million=1000, price_output_per_million=1000, daily_budget=9)
    for model in ("stub-judge-pass", "stub-judge-pass", "stub-500"):
        ok(alice.patch(f"/v1/connections/{row['id']}", {"model": model}))
        ok(alice.post(f"/v1/connections/{row['id']}/test"))

    (said,) = connections(alice)
    health, text = said["health"], reader.text(f"connections/{row['id']}")
    assert (health["n_calls"], health["failed"], health["last_code"]) == (3, {"connection": 1}, "connection")
    assert "1 of 3 (33.3 %): connection 1" in text
    assert f"{number_text(said['spent_today'])} of 9" in text and said["spent_today"] > 0
    # A slow host takes seconds, which the page writes as such.
    assert any(
        f"95 % within {time}" in text for time in (f"{health['p95_ms']:.0f} ms", f"{health['p95_ms'] / 1000:.3g} s")
    )
    assert health["last_at"][:16].replace("T", " ") + " UTC" in text


def test_it_is_switched_and_deleted_by_its_name(alice: Caller, admin: Visitor) -> None:
    row = made(alice)
    path = f"connections/{row['id']}"
    admin.post(f"{path}/switch", to="off")
    assert not connections(alice)[0]["is_enabled"] and ">off<" in admin.text("connections")
    admin.post(f"{path}/switch", to="on")
    admin.post(f"{path}/delete", confirm="another")
    assert connections(alice)[0]["is_enabled"]
    admin.post(f"{path}/delete", confirm=row["name"])

    assert connections(alice) == []
    assert acts_of_people(alice.account) == ["connection.changed", "connection.changed", "connection.deleted"]


def test_a_reader_changes_nothing_and_a_stranger_finds_nothing(
    alice: Caller, reader: Visitor, editor: Visitor, stranger: Visitor
) -> None:
    row = made(alice)
    for act in ACTS:
        assert reader.post(f"connections/{row['id']}/{act}", confirm=row["name"]).status_code == 403, act
        assert stranger.post(f"connections/{row['id']}/{act}", confirm=row["name"]).status_code == 404, act
    for act in ("edit", "switch", "delete"):
        assert editor.post(f"connections/{row['id']}/{act}", confirm=row["name"]).status_code == 403, act
    assert editor.post("connections/new", **FORM).status_code == 403
    assert connections(alice) == [row] and acts_of_people(alice.account) == []
    for path in (row["id"], uuid.uuid4()):
        assert stranger.get(f"connections/{path}").status_code == 404
    assert row["name"] not in stranger.text("connections") and "Edit" not in reader.text(f"connections/{row['id']}")


def test_many_ask_little(alice: Caller, reader: Visitor) -> None:
    row = made(alice)
    for _ in range(12):
        made(alice)

    for path in ("connections", f"connections/{row['id']}", ""):
        assert reader.n_queries(path) <= 15, path


__all__ = ["stub"]
