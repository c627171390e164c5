"""Sessions: seen, ended, and what a change of the password or a lost phone does to them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.core.signals import request_finished
from django.db import connections
from django.test import Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.models import AuditEntry
from evalsvc.accounts.signing_in import sessions
from evalsvc.accounts.signing_in.factors import get_factor
from evalsvc.accounts.signing_in.sessions import list_sessions
from tests.admin.conftest import PASSWORD, join, new_user
from tests.conftest import Caller
from tests.signin.conftest import SIGN_IN, YOU, Clock, Somebody, is_signed_in, trail_of

NEW_PASSWORD = "another long secret phrase"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def details_of(caller: Caller, somebody: Somebody, action: str) -> list[dict[str, object]]:
    rows = AuditEntry.objects.using("system").filter(account=caller.account, target=somebody.user.email, action=action)
    return list(rows.values_list("detail", flat=True))


def others_of(somebody: Somebody) -> list[int]:
    found = list_sessions(user=somebody.user, current=somebody.client.session.session_key)
    return [one.id for one in found if not one.is_this]


def test_they_are_listed_with_browser_and_address(ann: Somebody) -> None:
    ann.enter(ann.new_browser(FIREFOX))
    ann.enter()

    page = ann.client.get(YOU).content.decode()

    assert "Firefox on Linux" in page and ann.ip in page
    assert page.count("this one") == 1 and page.count("End it") == 1


def test_an_ended_session_is_refused_on_the_next_request(ann: Somebody, alice: Caller) -> None:
    other = ann.enter(ann.new_browser())
    ann.enter()
    assert is_signed_in(other)

    assert ann.post(f"/sessions/{others_of(ann)[0]}/end").status_code == 302

    assert other.get("/console/")["Location"].startswith("/console/sign-in")
    assert other.get("/admin/")["Location"].startswith("/admin/login/")
    assert others_of(ann) == [] and is_signed_in(ann.client)
    assert trail_of(alice, ann.user)[-1] == "session.ended"


def test_a_foreign_session_is_a_missing_one(ann: Somebody) -> None:
    stranger = Somebody(new_user(password=PASSWORD))
    stranger.enter()
    ann.enter()
    (id,) = [one.id for one in list_sessions(user=stranger.user, current=None)]

    assert (ann.post(f"/sessions/{id}/end").status_code, ann.post("/sessions/1/end").status_code) == (404, 404)
    assert is_signed_in(stranger.client)


def test_all_others_end_also_those_of_before_there_was_a_list(ann: Somebody) -> None:
    noted = ann.enter(ann.new_browser())
    unnoted = Client()
    unnoted.force_login(ann.user)
    stranger = Somebody(new_user(password=PASSWORD))
    stranger.enter()
    ann.enter()

    ann.post("/sessions/end")

    assert [is_signed_in(one) for one in (noted, unnoted, stranger.client, ann.client)] == [False, False, True, True]


def test_a_new_password_ends_the_other_sessions(ann: Somebody, alice: Caller) -> None:
    other = ann.enter(ann.new_browser())
    ann.enter()

    ann.post("/password", proof=PASSWORD, password=NEW_PASSWORD, again=NEW_PASSWORD)

    assert (is_signed_in(other), is_signed_in(ann.client)) == (False, True)
    assert ann.sign_in(client=ann.new_browser()).status_code == 200
    assert ann.sign_in(NEW_PASSWORD, ann.new_browser()).status_code == 302
    assert details_of(alice, ann, "password.changed") == [{"n_sessions": 1}]
    assert others_of(ann) != [], "the new one; this one is still known as this one"


@pytest.mark.parametrize(
    ("proof", "password", "again", "said"),
    [
        ("wrong", NEW_PASSWORD, NEW_PASSWORD, "Nothing was changed"),
        (PASSWORD, NEW_PASSWORD, "different", "two passwords differ"),
        (PASSWORD, "short", "short", "too short"),
    ],
)
def test_a_password_that_will_not_do(ann: Somebody, proof: str, password: str, again: str, said: str) -> None:
    ann.enter()

    ann.post("/password", proof=proof, password=password, again=again)

    assert said in ann.client.get(YOU).content.decode()
    assert ann.sign_in(client=ann.new_browser()).status_code == 302


def test_guessing_the_password_of_an_open_browser_is_locked(ann: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    ann.enter()

    statuses = [ann.post("/factor/off", proof="wrong").status_code for _ in range(11)]

    assert statuses == [302] * 10 + [429]


def test_noting_a_session_costs_one_query_in_five_minutes(ann: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    ann.enter()

    def n_queries() -> int:
        with CaptureQueriesContext(connections["signin"]) as queries:
            ann.client.get("/console/accounts")
        return len(queries)

    n_queries()
    usual = n_queries()
    sessions._noted.clear()

    assert n_queries() == usual + 1
    assert n_queries() == usual


def test_signing_out_is_in_the_trail(ann: Somebody, alice: Caller) -> None:
    ann.enter()

    ann.client.post("/admin/logout/")

    assert not is_signed_in(ann.client)
    assert details_of(alice, ann, "session.signed_out") == [{"address": ann.ip}]
    ann.client.post("/admin/logout/")
    assert len(details_of(alice, ann, "session.signed_out")) == 1, "nobody signs out twice"


def test_signing_out_leads_to_the_sign_in_page(ann: Somebody) -> None:
    ann.enter()

    landed = ann.client.post("/admin/logout/", follow=True)

    assert landed.redirect_chain == [("/console/sign-in", 302)]
    assert landed.content.decode().count("You are signed out.") == 1
    assert not is_signed_in(ann.client)
    assert "You are signed out." not in ann.client.get("/console/sign-in").content.decode()


def test_an_operator_who_signs_out_is_in_the_trail_of_their_accounts(alice: Caller) -> None:
    operator = Somebody(new_user(is_superuser=True))
    join(operator.user, alice.account, "admin")
    operator.client.force_login(operator.user)

    operator.client.post("/admin/logout/")

    assert trail_of(alice, operator.user) == ["session.signed_out"]


def test_a_page_holds_no_connection_of_sign_in(ann: Somebody) -> None:
    """Or as many pages as the pool has connections would keep everybody else out."""
    ann.enter()
    held: list[object] = []
    request_finished.connect(lambda **_: held.append(connections["signin"].connection), weak=False, dispatch_uid="held")
    try:
        assert ann.client.get("/console/experiments", follow=True).status_code == 200
    finally:
        request_finished.disconnect(dispatch_uid="held")

    assert set(held) == {None}


def test_the_api_reads_no_session(ann: Somebody, alice: Caller) -> None:
    ann.enter()
    sessions._noted.clear()

    connections["signin"].close()
    with CaptureQueriesContext(connections["default"]) as queries:
        assert ann.client.get("/v1/whoami").status_code == 401
        assert ann.client.get("/v1/whoami", headers={"X-API-KEY": alice.key}).status_code == 200
        sample = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x"}
        assert alice.post("/v1/evaluate", sample).status_code == 200

    assert not [one["sql"] for one in queries if "session" in one["sql"] or "accounts_user" in one["sql"]]
    assert connections["signin"].connection is None, "no second connection for a call with a key"


def test_the_person_needs_no_account() -> None:
    nobody = Somebody(new_user(password=PASSWORD))
    nobody.enter()

    assert "Sessions" in nobody.client.get(YOU).content.decode()


def test_an_operator_switches_a_lost_factor_off(guarded: Somebody, alice: Caller) -> None:
    guarded.enter()
    out = StringIO()

    call_command("reset_second_factor", guarded.user.email.upper(), stdout=out)

    assert "2 sessions ended" in out.getvalue()
    assert get_factor(guarded.user) is None and not is_signed_in(guarded.client)
    assert trail_of(alice, guarded.user)[-1] == "factor.switched_off"
    with pytest.raises(CommandError, match="no second factor"):
        call_command("reset_second_factor", guarded.user.email)
    with pytest.raises(CommandError, match="nobody"):
        call_command("reset_second_factor", "nobody@example.com")


def test_setting_up_needs_a_password_or_a_fresh_sign_in(clock: Clock) -> None:
    """Whoever comes by single sign-on has no password here."""
    user = new_user()
    somebody = Somebody(user)
    somebody.client.force_login(user)
    page = somebody.client.get(f"{YOU}/factor").content.decode()

    assert "sign in again first" in page
    assert somebody.post("/factor", code="123456").status_code == 302
    assert get_factor(user) is None


@pytest.mark.parametrize("said", ["203.0.113.9:4711", "unknown", "fe80::1%eth0", "<script>"])
def test_an_address_that_is_none_keeps_nobody_out(ann: Somebody, said: str) -> None:
    """Some proxies name the port as well; the note of a session holds addresses alone."""
    with override_settings(BEHIND_PROXY=True):
        answer = ann.client.post(
            SIGN_IN, {"username": ann.user.email, "password": PASSWORD}, headers={"X-Forwarded-For": said}
        )
        page = ann.client.get(YOU, headers={"X-Forwarded-For": said})

    assert (answer.status_code, page.status_code) == (302, 200)


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1, 2001:db8::7", "2001:db8::7"),
        ("203.0.113.9", "203.0.113.9"),
    ],
)
def test_a_port_is_no_part_of_an_address(said: str, address: str) -> None:
    """Every connection has another one, so that each attempt would be the first."""
    with override_settings(BEHIND_PROXY=True):
        assert caller_ip(RequestFactory().get("/", headers={"X-Forwarded-For": said})) == address
