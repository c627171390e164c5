"""Admin pages of spans and logs: read only, escaped, cut, and hidden from strangers."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.telemetry.models import LogRecord, Span
from tests.admin.conftest import HOSTILE, Person, admin, nobody, operator, reader
from tests.conftest import Caller
from tests.telemetry.otlp import attribute, log, logs, new_id, span, traces

__all__ = ["admin", "nobody", "operator", "reader"]
PAGES: dict[str, Any] = {"telemetry/span": Span, "telemetry/logrecord": LogRecord}


def row_of(caller: Caller, page: str, text: str = "said") -> Any:
    """A row whose every text is this one."""
    said = [attribute(text, text)]
    event = {"name": text, "attributes": said}
    one = span(new_id(), name=text, attributes=said, events=[event], status={"code": 2, "message": text})
    caller.post("/v1/traces", traces(one, service=text))
    record = log(attributes=[*said, attribute("pat.log.id", text + new_id(4))], body={"stringValue": text})
    caller.post("/v1/logs", logs(record | {"traceId": new_id(), "severityText": text}))
    return PAGES[page].objects.using("system").filter(account_id=caller.account.pk).latest("id")


def listed(person: Person, page: str, row: Any, **query: str) -> bool:
    answer = person.get(f"{page}/", **query)
    assert answer.status_code == 200
    return f"/{row.pk}/change/" in answer.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_readers_look(reader: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page, "what was said")

    assert listed(reader, page, row)
    assert "what was said" in reader.change(page, row.pk).content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_nobody_else_does(nobody: Person, reader: Person, charlie: Caller, page: str) -> None:
    foreign = row_of(charlie, page)

    assert not listed(reader, page, foreign)
    assert not listed(reader, page, foreign, q=str(foreign.trace_id))
    assert reader.change(page, foreign.pk).status_code == 404
    assert nobody.get(f"{page}/").status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_nobody_writes(admin: Person, operator: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page)

    for person in (admin, operator):
        assert person.get(f"{page}/add/").status_code == 403
        assert person.post(f"{page}/{row.pk}/change/", name="new").status_code == 403
        assert person.post(f"{page}/{row.pk}/delete/", post="yes").status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_hostile_text_is_escaped(reader: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page, HOSTILE)

    for answer in (reader.get(f"{page}/"), reader.change(page, row.pk)):
        text = answer.content.decode()
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize("page", PAGES)
def test_huge_text_is_cut(reader: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page, "x" * 60_000)

    assert "First 20,000 of" in reader.change(page, row.pk).content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_it_finds_by_ids(reader: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page)

    assert listed(reader, page, row, q=f" {row.trace_id.upper()} ")
    assert listed(reader, page, row, q=str(row.pk))
    assert not listed(reader, page, row, q=new_id())
    assert not listed(reader, page, row, q="9" * 60)
    if page == "telemetry/logrecord":
        assert listed(reader, page, row, q=row.log_id)


@pytest.mark.parametrize("page", PAGES)
def test_operators_see_the_account(operator: Person, alice: Caller, page: str) -> None:
    row = row_of(alice, page)

    assert alice.account.name in operator.get(f"{page}/", q=str(row.pk)).content.decode()


def test_the_sidebar_names_them(reader: Person) -> None:
    page = reader.get("").content.decode()

    assert "/admin/telemetry/span/" in page
    assert "/admin/telemetry/logrecord/" in page
