"""Who is let in, in which account, and what becomes of forms that are not theirs to send."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from tests.admin.conftest import join
from tests.conftest import Caller
from tests.console.conftest import Visitor


def test_whoever_is_not_signed_in_is_led_to_the_door_and_back() -> None:
    answer = Client().get("/console/kit?sort=-n")

    assert (answer.status_code, answer["Location"]) == (302, "/console/sign-in?next=%2Fconsole%2Fkit%3Fsort%3D-n")


def test_a_form_after_the_session_says_that_nothing_was_saved() -> None:
    answer = Client().post("/console/datasets/new", {"name": "lost"}, follow=True)

    assert answer.redirect_chain == [("/console/sign-in?next=%2Fconsole%2Fdatasets%2Fnew", 302)]
    assert b"nothing was saved" in answer.content


def test_the_front_door_leads_to_the_console(reader: Visitor) -> None:
    assert reader.client.get("/")["Location"] == "/console/"
    assert Client().get("/")["Location"] == "/docs/"


def test_it_says_whose_pages_these_are(reader: Visitor, alice: Caller) -> None:
    text = reader.text()

    assert alice.account.name in text and ">reader<" in text
    assert re.search('aria-current="page"><svg.*?</svg>Home<', text)


def test_a_page_that_is_not_there_is_a_page(reader: Visitor) -> None:
    answer = reader.get("nope/nowhere")

    assert answer.status_code == 404 and b"<main" in answer.content
    assert reader.client.get("/console")["Location"] == "/console/"


def test_it_is_kept_by_nobody(reader: Visitor) -> None:
    assert {"private", "no-store"} <= set(reader.get()["Cache-Control"].replace(" ", "").split(","))


def test_a_person_without_an_account_is_told_so(nobody: Visitor) -> None:
    assert nobody.get()["Location"].startswith("/console/accounts?")
    assert "have access to any active account" in nobody.text("accounts")


def test_another_account_is_chosen(reader: Visitor, other_account: Any) -> None:
    join(reader.user, other_account, "admin")

    assert reader.post("accounts", account=other_account.pk)["Location"] == "/console/"
    assert other_account.name in reader.text()


def test_a_foreign_account_is_not(reader: Visitor, charlie: Caller) -> None:
    reader.post("accounts", account=charlie.account.pk)

    text = reader.text()
    assert charlie.account.name not in text and "have access to this account" in text


def test_an_operator_looks_at_any(operator: Visitor, charlie: Caller) -> None:
    assert operator.get("kit?sort=-n")["Location"] == "/console/accounts?next=%2Fconsole%2Fkit%3Fsort%3D-n"
    assert 'name="next" value="/console/kit?sort=-n"' in operator.text("accounts?next=/console/kit%3Fsort%3D-n")
    assert charlie.account.name in operator.text("accounts", name=charlie.account.name.upper())
    assert "No active accounts match." in operator.text("accounts", name="nobody's at all")

    operator.post("accounts", account=charlie.account.pk)
    assert charlie.account.name in operator.text() and ">operator<" in operator.text()


def test_a_number_that_is_no_account_is_refused(operator: Visitor) -> None:
    for wrong in ("9" * 30, "-1", "x", ""):
        assert operator.post("accounts", account=wrong)["Location"] == "/console/accounts"


def test_a_form_of_another_account_is_refused(reader: Visitor, other_account: Any) -> None:
    answer = reader.post("kit", confirm="a-profile", _account=other_account.pk)

    assert answer.status_code == 409 and "Nothing was saved" in answer.content.decode()


def test_forms_need_their_token(reader: Visitor) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(reader.user)

    assert client.post("/console/kit", {"confirm": "a-profile"}).status_code == 403


def test_a_theme_is_kept_and_leads_nowhere_else(reader: Visitor) -> None:
    answer = reader.post("theme", theme="dark", next="https://stranger.invalid/")

    assert answer["Location"] == "/console/"
    assert 'data-theme="dark"' in reader.text()
    reader.post("theme", theme="<script>")
    assert 'data-theme="dark"' in reader.text()
