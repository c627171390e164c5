"""The first step: e-mail address and password, how often they may be tried, and where a sign-in leads."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client
from kombu.exceptions import OperationalError

from tests.admin.conftest import PASSWORD, new_user
from tests.conftest import Caller
from tests.docs.pages import CHECKOUT
from tests.queries import queries_of
from tests.signin.conftest import SIGN_IN, YOU, Somebody, is_signed_in, trail_of

TOKEN = re.compile(r'value="\w{64}"|"X-CSRFToken": "\w{64}"')
DJANGO_LOGIN = re.compile(r"from django\.contrib\.auth import .*\blogin\b|auth\.login\(|LoginView")
AUTHENTICATE = "evalsvc.accounts.signing_in.steps.authenticate"


def test_it_signs_in_whatever_the_case(ann: Somebody) -> None:
    answer = ann.client.post(SIGN_IN, {"username": ann.user.email.upper(), "password": PASSWORD})

    assert (answer.status_code, answer["Location"]) == (302, "/console/")
    assert is_signed_in(ann.client)


def test_a_wrong_password_and_an_unknown_person_look_the_same(ann: Somebody) -> None:
    wrong = ann.sign_in("wrong")
    unknown = Client().post(SIGN_IN, {"username": ann.user.email.replace("@", "-@"), "password": "wrong"})

    bodies = [TOKEN.sub("", answer.content.decode().replace("-@", "@")) for answer in (wrong, unknown)]
    assert (wrong.status_code, unknown.status_code) == (200, 200)
    assert bodies[0] == bodies[1] and "Wrong email address or password" in bodies[0]
    assert not is_signed_in(ann.client)


@pytest.mark.parametrize("switch", ["is_active", "is_staff"])
def test_whoever_is_switched_off_is_refused_alike(ann: Somebody, switch: str) -> None:
    type(ann.user).objects.using("system").filter(pk=ann.user.pk).update(**{switch: False})

    assert "Wrong email address or password" in ann.sign_in().content.decode()


def test_ten_failures_close_the_door_for_one_address(
    ann: Somebody, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as quick:
        quick.setattr(AUTHENTICATE, lambda *args, **fields: None)
        assert [ann.sign_in("wrong").status_code for _ in range(10)] == [200] * 10

    locked, again = ann.sign_in(), ann.sign_in()

    assert (locked.status_code, again.status_code) == (429, 429)
    assert 0 < int(locked["Retry-After"]) <= 900
    assert "Too many failed attempts" in locked.content.decode()
    assert trail_of(alice, ann.user) == ["signin.locked"], "once, however often they go on"
    ann.ip = "10.2.0.1"
    assert ann.sign_in(client=ann.new_browser()).status_code == 302, "from elsewhere the door is open"


def test_a_lock_costs_as_much_whether_or_not_there_is_such_a_person(
    ann: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No password is hashed any more then, so what is written of somebody would show in the time."""
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(AUTHENTICATE, lambda *args, **fields: None)
    monkeypatch.setattr("evalsvc.accounts.tasks.record_sign_in_lock.delay", lambda *sent: told.append(sent))
    nobody = Somebody(new_user())
    nobody.user.email = f"{uuid.uuid4().hex}@example.com"

    def last(somebody: Somebody) -> list[str]:
        assert [somebody.sign_in("wrong").status_code for _ in range(10)] == [200] * 10
        return queries_of(lambda: somebody.sign_in("wrong"))

    assert (last(ann), last(nobody)) == ([], [])
    assert told == [(one.user.email, one.ip) for one in (ann, nobody)]


def test_a_lock_holds_where_no_worker_can_be_told(ann: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*sent: str) -> None:
        raise OperationalError

    monkeypatch.setattr(AUTHENTICATE, lambda *args, **fields: None)
    monkeypatch.setattr("evalsvc.accounts.tasks.record_sign_in_lock.delay", away)

    assert [ann.sign_in("wrong").status_code for _ in range(12)] == [200] * 10 + [429] * 2


def test_unknown_people_are_locked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AUTHENTICATE, lambda *args, **fields: None)
    nobody = Somebody(new_user())
    nobody.user.email = f"{uuid.uuid4().hex}@example.com"

    assert [nobody.sign_in("wrong").status_code for _ in range(11)] == [200] * 10 + [429]


@pytest.mark.parametrize("sent", [{"username": "a\0b@example.com"}, {"username": "\0"}, {"password": "x\0y"}])
def test_what_the_database_takes_no_text_of_is_refused_alike(ann: Somebody, sent: dict[str, str]) -> None:
    answer = ann.client.post(SIGN_IN, {"username": ann.user.email, "password": "wrong", **sent})

    assert answer.status_code == 200 and "Wrong email address or password" in answer.content.decode()


def test_a_counter_that_ends_during_an_attempt_does_not_stay_for_good(ann: Somebody) -> None:
    """It would lock an office that shares an address for ever, after a hundred failures of years."""
    from evalsvc.accounts.access.signin import clear_failures, lockout_counters
    from evalsvc.infra.redis import get_shared_client

    counters = lockout_counters(ann.user.email, ann.ip)
    clear_failures(counters)

    assert all(get_shared_client().ttl(key) != -1 for key in counters)


def test_a_success_clears_earlier_failures(ann: Somebody) -> None:
    from evalsvc.accounts.access.signin import lockout_counters
    from evalsvc.infra.redis import get_shared_client

    own, _ = lockout_counters(ann.user.email, ann.ip)
    ann.sign_in("wrong")
    assert get_shared_client().get(own) == b"1"

    ann.sign_in()

    assert get_shared_client().get(own) is None


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:evil",
        "///evil.example",
    ],
)
def test_it_leads_to_no_other_site(ann: Somebody, wanted: str) -> None:
    assert ann.client.get(SIGN_IN, {"next": wanted}).content.decode().count('name="next"') == 1, "the theme's alone"
    assert ann.sign_in(next=wanted)["Location"] == "/console/"
    assert ann.client.get(SIGN_IN, {"next": wanted})["Location"] == "/console/"


def test_it_leads_to_where_the_person_wanted_to_go(ann: Somebody) -> None:
    assert ann.sign_in(next="/console/kit?sort=-n")["Location"] == "/console/kit?sort=-n"


def test_a_form_from_elsewhere_is_refused(ann: Somebody) -> None:
    strict = Client(enforce_csrf_checks=True, REMOTE_ADDR=ann.ip)

    assert ann.sign_in(client=strict).status_code == 403
    token = strict.get(SIGN_IN).cookies["csrftoken"].value
    assert ann.sign_in(client=strict, csrfmiddlewaretoken=token).status_code == 302


def test_a_session_of_before_is_not_taken_over(ann: Somebody) -> None:
    """Whoever has put a session cookie into somebody's browser must not know the one that they sign in with."""
    ann.client.get(SIGN_IN)
    session = ann.client.session
    session["planted"] = True
    session.save()

    ann.sign_in()

    assert ann.client.session.session_key != session.session_key


def test_a_sign_out_from_elsewhere_is_refused(ann: Somebody) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann.user)

    assert (strict.post("/admin/logout/").status_code, strict.get("/admin/logout/").status_code) == (403, 405)
    assert is_signed_in(strict)


def test_the_admin_has_no_door_of_its_own(ann: Somebody) -> None:
    asked = ann.client.get("/admin/accounts/apikey/")
    door = ann.client.get(asked["Location"])
    posted = ann.client.post("/admin/login/", {"username": ann.user.email, "password": PASSWORD})

    assert door["Location"] == f"{SIGN_IN}?next=%2Fadmin%2Faccounts%2Fapikey%2F"
    assert posted["Location"].startswith(SIGN_IN)
    assert not is_signed_in(ann.client)


def test_a_session_ends_when_the_person_may_not_sign_in_any_more(ann: Somebody) -> None:
    """An operator takes "is staff" away, without which nobody gets in at the door."""
    ann.enter()
    type(ann.user).objects.using("system").filter(pk=ann.user.pk).update(is_staff=False)

    for page in ("/console/", "/console/evaluations", YOU, "/console/accounts"):
        assert ann.client.get(page)["Location"].startswith(SIGN_IN), page
    assert ann.client.get("/admin/", follow=True).redirect_chain[-1][0].startswith(SIGN_IN)
    assert ann.client.post("/console/datasets/new", {"name": "x"})["Location"].startswith(SIGN_IN)


def test_signing_in_is_in_the_trail(ann: Somebody, alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry

    ann.sign_in()

    row = AuditEntry.objects.using("system").get(account=alice.account, action="signin.succeeded")
    assert (row.actor, row.detail) == (f"user:{ann.user.pk}", {"address": ann.ip, "by": "password"})


def test_nothing_opens_a_session_but_the_steps() -> None:
    """A page that calls Django's `login` itself would be a way round the second factor."""
    own = [path for path in (CHECKOUT / "evalsvc").rglob("*.py") if DJANGO_LOGIN.search(path.read_text())]

    assert own == []


def test_none_of_the_librarys_pages_has_an_address() -> None:
    from django.urls import NoReverseMatch, reverse

    for name in ("account_signup", "account_email", "account_logout", "socialaccount_connections", "mfa_index"):
        with pytest.raises(NoReverseMatch):
            reverse(name)
    assert Client().get("/accounts/signup/").status_code == 404
    assert "allauth" not in Client().get(YOU, follow=True).content.decode()
