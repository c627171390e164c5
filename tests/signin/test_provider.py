"""Single sign-on against a real provider on this machine: whom it lets in, and what is not believed."""

from __future__ import annotations

import time
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.contrib.sessions.models import Session
from django.test import Client, override_settings

from evalsvc.accounts.models import Account, User
from evalsvc.accounts.signing_in.factors import new_secret, switch_on
from tests.admin.conftest import PASSWORD, join, new_user
from tests.conftest import Caller
from tests.signin.conftest import SIGN_IN, YOU, App, Clock, Somebody, give_factor, is_signed_in, trail_of
from tests.signin.single import BACK, PUBLIC, START, Visitor, assert_refused, ben, configured, issuer

__all__ = ["ben", "configured", "issuer"]

PEOPLE = User.objects.db_manager("system")
EXCHANGE = "allauth.socialaccount.providers.oauth2.client.OAuth2Client.get_access_token"


def test_a_role_there_is_a_membership_here(ben: Visitor, alice: Caller) -> None:
    answer = ben.sign_in(next="/console/kit")

    assert (answer.status_code, answer["Location"]) == (302, "/console/kit")
    assert (is_signed_in(ben.client), ben.role_in(alice)) == (True, "reader")
    assert not ben.user.has_usable_password() and not ben.user.is_superuser
    assert 0 < ben.client.session.get_expiry_age() <= 12 * 3600


def test_it_asks_by_state_nonce_and_challenge(ben: Visitor) -> None:
    asked = parse_qs(urlsplit(ben.leave()).query)

    assert asked["redirect_uri"] == [f"{PUBLIC}{BACK}"], "whatever the Host header says"
    assert asked["code_challenge_method"] == ["S256"] and len(asked["code_challenge"][0]) >= 43
    assert len(asked["nonce"][0]) >= 32 and len(asked["state"][0]) >= 16


def test_a_hundred_ways_to_the_provider_from_one_address_are_enough(
    ben: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each asks the provider, and leaves a session behind, and anybody may follow the link."""
    monkeypatch.setattr("evalsvc.accounts.access.signin.MAX_FAILURES_PER_IP", 3)
    address = f"10.3.{uuid.uuid4().int % 250}.{uuid.uuid4().int % 20}"
    there, ben.client = Client(REMOTE_ADDR=address), Client(REMOTE_ADDR=f"{address}1")
    n = Session.objects.count()

    answers = [Client(REMOTE_ADDR=address).get(START) for _ in range(5)]

    assert [one.status_code for one in answers] == [302] * 3 + [429] * 2
    assert Session.objects.count() == n + 3
    assert "Too many sign-in attempts" in answers[-1].content.decode() and int(answers[-1]["Retry-After"]) > 0
    assert ben.sign_in().status_code == 302, "from elsewhere the door is open"
    assert there.get(SIGN_IN).status_code == 200, "and for passwords"


def test_whoever_comes_in_gives_their_address_its_attempts_back(ben: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """An office shares one, and has more than a hundred people."""
    monkeypatch.setattr("evalsvc.accounts.access.signin.MAX_FAILURES_PER_IP", 2)
    address = f"10.4.{uuid.uuid4().int % 250}.{uuid.uuid4().int % 250}"

    for _ in range(4):
        ben.client = Client(REMOTE_ADDR=address)
        assert ben.sign_in().status_code == 302


def test_the_highest_role_counts(ben: Visitor, alice: Caller) -> None:
    ben.know(groups=["eval-admins", "staff", "chess"])
    ben.sign_in()

    assert ben.role_in(alice) == "admin"


def test_a_role_that_is_gone_is_taken_back(ben: Visitor, alice: Caller) -> None:
    ben.sign_in()
    ben.know(groups=["chess"])
    ben.client.logout()

    assert_refused(ben.sign_in(), "names no role")
    assert (ben.role_in(alice), is_signed_in(ben.client)) == (None, False)


def test_a_lower_role_takes_the_place_of_a_higher(ben: Visitor, alice: Caller) -> None:
    ben.know(groups=["eval-admins"])
    ben.sign_in()
    ben.know(groups=["staff"])
    ben.client.logout()
    ben.sign_in()

    assert ben.role_in(alice) == "reader"


def test_what_an_operator_gave_stays(ben: Visitor, alice: Caller, charlie: Caller) -> None:
    ben.sign_in()
    join(ben.user, charlie.account, "editor")
    ben.know(groups=[])
    ben.client.logout()
    ben.sign_in()

    assert (ben.role_in(alice), ben.role_in(charlie)) == (None, "editor")


@pytest.mark.parametrize("groups", [[], ["chess"], None, {"staff": True}, [["staff"]]])
def test_whoever_has_no_role_gets_nothing(ben: Visitor, groups: Any) -> None:
    ben.know(groups=groups)

    assert_refused(ben.sign_in(), "names no role")
    assert not User.objects.filter(email=ben.email).exists()


@pytest.mark.parametrize("verified", [False, None, "false"])
def test_an_unverified_address_is_refused(ben: Visitor, verified: Any) -> None:
    ben.know(email_verified=verified)

    assert_refused(ben.sign_in(), "not verified")
    assert not User.objects.filter(email=ben.email).exists()


def test_it_becomes_nobody_who_is_here_already(ben: Visitor) -> None:
    PEOPLE.create_user(ben.email, is_staff=True)

    assert_refused(ben.sign_in(), "already")


def test_it_is_linked_where_the_operator_says_so(ben: Visitor, alice: Caller, charlie: Caller) -> None:
    user = PEOPLE.create_user(ben.email, "chosen by whoever came first", is_staff=True)
    join(user, charlie.account, "reader")
    before = Client()
    before.force_login(user)
    with override_settings(OIDC_LINK_BY_EMAIL=True):
        assert ben.sign_in().status_code == 302

    assert (ben.user.pk, ben.role_in(alice)) == (user.pk, "reader")
    assert not User.objects.get(pk=user.pk).has_usable_password(), "who chose it may not own the address"
    assert not is_signed_in(before) and "password.ended" in trail_of(charlie, user)


@pytest.mark.parametrize("said", ["\u212aen{}", "ken{}\n", "ken{} ", "no address", "ken{}, x@example.com"])
def test_an_address_that_only_looks_like_somebodys_is_refused(ben: Visitor, said: str) -> None:
    """The sign of Kelvin is k in small letters: its owner has another mailbox than Ken."""
    domain = f"@{ben.email}"
    ken = PEOPLE.create_user(f"ken{domain}", PASSWORD, is_staff=True)
    ben.know(email=said.format(domain))
    with override_settings(OIDC_LINK_BY_EMAIL=True):
        assert_refused(ben.sign_in(), "cannot be one here")

    assert User.objects.get(pk=ken.pk).has_usable_password() and not is_signed_in(ben.client)


def test_it_becomes_no_operator(ben: Visitor) -> None:
    PEOPLE.create_user(ben.email, is_staff=True, is_superuser=True)
    with override_settings(OIDC_LINK_BY_EMAIL=True):
        assert_refused(ben.sign_in(), "already")


def test_whoever_is_switched_off_here_stays_out(ben: Visitor) -> None:
    ben.sign_in()
    PEOPLE.filter(email=ben.email).update(is_active=False)
    ben.client = Client()

    assert_refused(ben.sign_in(), "switched you off")


def test_a_second_factor_here_is_asked_for_too(ben: Visitor, clock: Clock) -> None:
    ben.sign_in()
    secret = new_secret()
    assert switch_on(user=ben.user, secret=secret, code=App(secret, clock).code())
    ben.client = Client()

    assert ben.sign_in()["Location"] == f"{SIGN_IN}/code"
    assert not is_signed_in(ben.client)


def test_a_state_of_another_browser_is_refused(ben: Visitor) -> None:
    sent = ben.agree(ben.leave())

    assert_refused(Client().get(BACK, sent), "not begun in this browser")
    assert_refused(ben.client.get(BACK, {**sent, "state": "x" * 16}), "not begun in this browser")


def test_a_state_is_good_once(ben: Visitor) -> None:
    sent = ben.agree(ben.leave())
    ben.client.get(BACK, sent)
    ben.client.logout()

    assert_refused(ben.client.get(BACK, sent), "not begun in this browser")


def test_another_nonce_is_refused(ben: Visitor) -> None:
    address = ben.leave()
    nonce = parse_qs(urlsplit(address).query)["nonce"][0]

    assert_refused(ben.client.get(BACK, ben.agree(address.replace(nonce, "a" * 32))), "cannot be believed")


def token_for(visitor: Visitor, client_id: str, nonce: str) -> dict[str, Any]:
    """What the provider gives another client that the person signs in to."""
    query = {"client_id": client_id, "redirect_uri": f"{PUBLIC}{BACK}", "response_type": "code", "nonce": nonce}
    asked = httpx.Request("GET", f"{visitor.issuer}/oauth2/authorize", params={**query, "scope": "openid email"})
    code = visitor.agree(str(asked.url))["code"]
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": f"{PUBLIC}{BACK}"}
    answer = httpx.post(f"{visitor.issuer}/oauth2/token", data={**sent, "client_id": client_id, "client_secret": "s"})
    return dict(answer.json())


def test_a_token_for_another_audience_is_refused(ben: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    address = ben.leave()
    foreign = token_for(ben, "another-client", parse_qs(urlsplit(address).query)["nonce"][0])
    monkeypatch.setattr(EXCHANGE, lambda *args, **fields: foreign)

    assert_refused(ben.client.get(BACK, ben.agree(address)), "cannot be believed")


@pytest.mark.parametrize("tampered", ["signature", "algorithm", "secret"])
def test_a_token_that_somebody_wrote_is_refused(
    ben: Visitor, issuer: str, tampered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = ben.leave()
    nonce = parse_qs(urlsplit(address).query)["nonce"][0]
    now = int(time.time())
    claims = {"iss": issuer, "aud": "evalsvc", "sub": ben.sub, "iat": now, "exp": now + 60, "nonce": nonce}
    real = token_for(ben, "evalsvc", nonce)
    head, body, _ = real["id_token"].split(".")
    written = {
        "signature": f"{head}.{body}.{'A' * 342}",
        "algorithm": jwt.encode(claims, "", algorithm="none"),
        "secret": jwt.encode(claims, "s" * 32, algorithm="HS256"),
    }
    monkeypatch.setattr(EXCHANGE, lambda *args, **fields: {**real, "id_token": written[tampered]})

    assert_refused(ben.client.get(BACK, ben.agree(address)), "cannot be believed")


def test_a_token_of_another_issuer_is_refused(ben: Visitor, issuer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider names itself by the address that it is called at, so that it is two with one key."""
    with override_settings(OIDC_ISSUER=issuer.replace("localhost", "127.0.0.1")):
        address = ben.leave()
        nonce = parse_qs(urlsplit(address).query)["nonce"][0]
        foreign = token_for(ben, "evalsvc", nonce)
        assert "localhost" in str(jwt.decode(foreign["id_token"], options={"verify_signature": False})["iss"])
        monkeypatch.setattr(EXCHANGE, lambda *args, **fields: foreign)

        assert_refused(ben.client.get(BACK, ben.agree(address)), "cannot be believed")


def test_a_provider_that_names_itself_otherwise_is_none(ben: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"issuer": "https://evil.example", "authorization_endpoint": "https://evil.example/"}
    monkeypatch.setattr(
        OpenIDConnectOAuth2Adapter, "openid_config", {**said, "token_endpoint": "https://evil.example/"}
    )

    assert_refused(ben.client.get(START), "does not answer")


def test_the_provider_is_called_as_all_servers_are(ben: Visitor) -> None:
    with override_settings(OUTBOUND_ALLOW=[]):
        assert_refused(ben.client.get(START), "does not answer")


def test_it_leads_to_no_other_site(ben: Visitor) -> None:
    assert ben.sign_in(next="https://evil.example/")["Location"] == "/console/"


def test_whoever_says_no_there_is_not_let_in(ben: Visitor) -> None:
    state = parse_qs(urlsplit(ben.leave()).query)["state"][0]

    assert_refused(ben.client.get(BACK, {"state": state, "error": "access_denied"}), "has not let you in")


def test_the_door_shows_it_only_where_it_is_set() -> None:
    assert "Sign in with single sign-on" in Client().get(SIGN_IN).content.decode()
    with override_settings(OIDC_ISSUER=""):
        assert "Sign in with" not in Client().get(SIGN_IN).content.decode()
        assert Client().get(START).status_code == 404


def test_a_password_signs_in_beside_it(ben: Visitor) -> None:
    somebody = Somebody(new_user(password=PASSWORD))

    assert somebody.sign_in().status_code == 302
    assert somebody.client.get(YOU).status_code == 200


@pytest.mark.parametrize(
    ("said", "status"),
    [({"amr": ["pwd", "mfa"]}, 200), ({"acr": "mfa"}, 200), ({"amr": ["pwd"]}, 302), ({"amr": [{}], "acr": None}, 302)],
)
def test_a_second_factor_at_the_provider_counts_where_it_says_so(
    ben: Visitor, alice: Caller, said: dict[str, Any], status: int
) -> None:
    Account.objects.using("system").filter(pk=alice.account.pk).update(require_second_factor=True)
    ben.know(**said)
    ben.sign_in()

    assert ben.client.get(f"/console/{alice.account.pk}/").status_code == status


def test_what_it_said_of_one_person_does_not_help_the_next(ben: Visitor, alice: Caller) -> None:
    """Ben has a factor here as well, and leaves at the page that asks for its code; Ann signs in by password."""
    Account.objects.using("system").filter(pk=alice.account.pk).update(require_second_factor=True)
    ben.know(amr=["mfa"])
    ben.sign_in()
    give_factor(ben.user)
    ben.client.logout()
    assert ben.sign_in()["Location"] == f"{SIGN_IN}/code"
    ann = Somebody(new_user(password=PASSWORD))
    join(ann.user, alice.account, "reader")

    ann.sign_in(client=ben.client)

    assert is_signed_in(ben.client) and ben.client.get("/console/").status_code == 302
