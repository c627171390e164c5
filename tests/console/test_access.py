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
    assert Client().get("/")["Location"] == "/console/sign-in"
    page = Client().get("/", follow=True).content.decode()
    assert "scores the answers of your LLM application" in page and 'href="/docs/"' in page


def test_it_says_whose_pages_these_are(reader: Visitor, alice: Caller) -> None:
    text = reader.text()

    assert alice.account.name in text and ">reader<" in text
    assert re.search('aria-current="page"><svg.*?</svg>Home<', text)


def test_a_page_that_is_not_there_is_a_page(reader: Visitor) -> None:
    answer = reader.get("nope/nowhere")

    assert answer.status_code == 404 and b"<main" in answer.content
    assert reader.client.get("/console")["Location"] == reader.client.get("/console/")["Location"] == reader.at()


def test_it_is_kept_by_nobody(reader: Visitor) -> None:
    assert {"private", "no-store"} <= set(reader.get()["Cache-Control"].replace(" ", "").split(","))


def test_a_person_without_an_account_is_told_so(nobody: Visitor) -> None:
    assert nobody.get()["Location"].startswith("/console/accounts?")
    assert "have access to any active account" in nobody.text("accounts")


def test_another_account_is_chosen(reader: Visitor, other_account: Any) -> None:
    join(reader.user, other_account, "admin")

    assert reader.post("accounts", account=other_account.pk)["Location"] == f"/console/{other_account.pk}/"
    assert other_account.name in reader.text()


def test_a_foreign_account_is_not(reader: Visitor, charlie: Caller) -> None:
    reader.post("accounts", account=charlie.account.pk)

    text = reader.text()
    assert charlie.account.name not in text and "have access to this account" in text


def test_a_colleague_with_another_account_selected_sees_the_same(
    reader: Visitor, editor: Visitor, alice: Caller, charlie: Caller
) -> None:
    join(editor.user, charlie.account, "reader")
    shared = reader.at("evaluations")
    assert editor.post("accounts", account=charlie.account.pk)["Location"] == editor.at()
    assert charlie.account.name in editor.text("evaluations")

    page = editor.client.get(shared).content.decode()

    assert alice.account.name in page and f'href="{shared}"' in page
    assert f"/console/{charlie.account.pk}/" not in page, "every link stays in the account of the address"
    assert charlie.account.name in editor.text(), "and what is selected stays so"


def main_of(answer: Any) -> str:
    return re.findall(r"<main.*</main>", answer.content.decode(), re.DOTALL)[0]


def test_the_address_of_another_account_does_not_exist(reader: Visitor, stranger: Visitor, nobody: Visitor) -> None:
    for path in ("", "evaluations", "nowhere"):
        foreign, missing = (reader.client.get(at + path) for at in (stranger.at(), "/console/1/"))
        assert foreign.status_code == missing.status_code == 404
        assert main_of(foreign) == main_of(missing)
    assert nobody.client.get(reader.at("evaluations"))["Location"].startswith("/console/accounts?next=")
    assert reader.client.post(stranger.at("kit"), {"confirm": "a-profile"}).status_code == 404


def test_a_form_writes_in_the_account_of_its_address(editor: Visitor, alice: Caller, charlie: Caller) -> None:
    join(editor.user, charlie.account, "editor")
    form = editor.at("datasets/new")
    editor.post("accounts", account=charlie.account.pk)

    made = editor.client.post(
        form, {"name": "capitals", "text": '{"input": "France?", "expected": "Paris"}', "keep": "1"}
    )

    assert made["Location"].startswith(f"/console/{alice.account.pk}/datasets/")
    assert "capitals" in editor.client.get(form.removesuffix("/new")).content.decode()
    assert "capitals" not in editor.text("datasets")


def test_an_address_without_an_account_leads_into_the_selected_one(editor: Visitor, charlie: Caller) -> None:
    answer = editor.client.get("/console/evaluations?app=a%20b&x=%2F")
    assert (answer.status_code, answer["Location"]) == (302, editor.at("evaluations?app=a%20b&x=%2F"))
    assert editor.client.get("/console/traces/a%2Fb%20c%3F")["Location"] == editor.at("traces/a/b%20c%3F")
    assert editor.client.post("/console/kit", {"confirm": "x"}).status_code == 307

    join(editor.user, charlie.account, "reader")
    editor.client.post("/console/accounts", {"account": charlie.account.pk})
    assert editor.client.get("/console/evaluations")["Location"] == f"/console/{charlie.account.pk}/evaluations"


def test_the_switch_leads_out_of_a_page_of_another_account(editor: Visitor, alice: Caller, charlie: Caller) -> None:
    join(editor.user, charlie.account, "reader")
    wanted = f"/console/{alice.account.pk}/evaluations"

    for account, target in ((charlie, f"/console/{charlie.account.pk}/"), (alice, wanted)):
        answer = editor.client.post("/console/accounts", {"account": account.account.pk, "next": wanted})
        assert answer["Location"] == target


def test_an_operator_looks_at_any(operator: Visitor, charlie: Caller) -> None:
    assert operator.get("kit?sort=-n")["Location"] == "/console/accounts?next=%2Fconsole%2Fkit%3Fsort%3D-n"
    assert 'name="next" value="/console/kit?sort=-n"' in operator.text("accounts?next=/console/kit%3Fsort%3D-n")
    assert charlie.account.name in operator.text("accounts", name=charlie.account.name.upper())
    assert "No active accounts match." in operator.text("accounts", name="nobody's at all")

    assert operator.client.get(f"/console/{charlie.account.pk}/evaluations").status_code == 200
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

    assert client.post(reader.at("kit"), {"confirm": "a-profile"}).status_code == 403


def test_a_theme_is_kept_and_leads_nowhere_else(reader: Visitor) -> None:
    answer = reader.post("theme", theme="dark", next="https://stranger.invalid/")

    assert answer["Location"] == "/console/"
    assert 'data-theme="dark"' in reader.text()
    reader.post("theme", theme="<script>")
    assert 'data-theme="dark"' in reader.text()
