"""Somebody's address was taken here before they came by single sign-on: what whoever took it can still do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client, RequestFactory, override_settings

from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in import roles
from evalsvc.accounts.signing_in.factors import has_factor, new_secret, switch_on
from evalsvc.accounts.signing_in.passwords import change_password
from evalsvc.tenancy.scope import SYSTEM, role_scope
from tests.admin.conftest import PASSWORD, join
from tests.conftest import Caller
from tests.signin.conftest import CODE, SIGN_IN, App, Clock, give_factor, is_signed_in, trail_of
from tests.signin.single import Visitor, assert_refused, ben, configured, issuer

__all__ = ["ben", "configured", "issuer"]


@pytest.fixture(autouse=True)
def linking() -> Iterator[None]:
    with override_settings(OIDC_LINK_BY_EMAIL=True):
        yield


@pytest.fixture
def squatter(ben: Visitor, charlie: Caller) -> User:
    """Whoever was invited by Ben's address, chose a password and set a second factor up."""
    user = User.objects.db_manager("system").create_user(ben.email, PASSWORD, is_staff=True)
    join(user, charlie.account, "reader")
    give_factor(user)
    return user


def test_a_second_factor_of_before_does_not_keep_the_owner_out(ben: Visitor, squatter: User, charlie: Caller) -> None:
    assert ben.sign_in()["Location"] == "/console/"

    assert is_signed_in(ben.client) and not has_factor(ben.user)
    assert {"password.ended", "factor.ended"} <= set(trail_of(charlie, squatter))


def test_a_second_factor_of_after_is_asked_for(ben: Visitor, squatter: User, clock: Clock) -> None:
    ben.sign_in()
    secret = new_secret()
    assert switch_on(user=ben.user, secret=secret, code=App(secret, clock).code())
    ben.client = Client()

    assert ben.sign_in()["Location"] == CODE


def test_a_sign_in_that_waits_for_a_code_ends_too(ben: Visitor, squatter: User, clock: Clock) -> None:
    """The squatter stands at the page that asks for a code, and knows the one of a factor that Ben sets up."""
    waiting = Client()
    assert waiting.post(SIGN_IN, {"username": ben.email, "password": PASSWORD})["Location"] == CODE
    ben.sign_in()
    secret = new_secret()
    assert switch_on(user=ben.user, secret=secret, code=App(secret, clock).code())
    clock.next_step()

    assert waiting.post(CODE, {"code": App(secret, clock).code()})["Location"] == SIGN_IN
    assert not is_signed_in(waiting)


def test_a_form_that_was_on_its_way_sets_no_password(ben: Visitor, squatter: User) -> None:
    """The page has read who sends it, and proven the old password, when the owner comes."""
    read_before = User.objects.get(pk=squatter.pk)
    ben.sign_in()
    request = RequestFactory().post("/console/you/password")
    request.session = Client().session

    assert not change_password(request, user=read_before, password="another long secret phrase")
    assert not User.objects.get(pk=squatter.pk).has_usable_password()


def test_a_form_that_was_on_its_way_sets_no_factor_up(ben: Visitor, squatter: User, clock: Clock) -> None:
    read_before, secret = User.objects.get(pk=squatter.pk), new_secret()
    ben.sign_in()

    assert switch_on(user=read_before, secret=secret, code=App(secret, clock).code()) is None
    assert not has_factor(ben.user)


def test_of_two_sign_ins_at_once_none_leaves_a_role_for_good(ben: Visitor, alice: Caller) -> None:
    """The one has read whose roles the provider gave before the other gives one."""
    ben.know(groups=["eval-admins"])
    ben.sign_in()
    known = SocialAccount.objects.get(user=ben.user)
    known.extra_data = {roles.GIVEN: {}}

    with role_scope(SYSTEM):
        roles.give_memberships(known, {})

    assert ben.role_in(alice) is None


@pytest.mark.parametrize(
    "said",
    [{"sub": "x" * 300}, {"sub": "a\0b"}, {"sub": "\ud800"}, {"sub": ""}, {"sub": " "}],
)
def test_a_sub_that_cannot_be_kept_is_refused(
    ben: Visitor, said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = {"email": ben.email, "email_verified": True, "groups": ["staff"], **said}
    monkeypatch.setattr("evalsvc.accounts.signing_in.provider.Protocol.claims", lambda *args, **more: claims)

    assert_refused(ben.sign_in(), "cannot be one here")


def test_a_name_is_kept_as_it_is_seen(ben: Visitor) -> None:
    ben.know(name="Ben\0\u202e nettiK\n")
    ben.sign_in()

    assert ben.user.name == "Ben nettiK"
