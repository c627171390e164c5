"""A sign-in that waits for a code: what happens meanwhile counts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.mails import find_link_person, reset_password
from tests.signin.conftest import CODE, SIGN_IN, Somebody, is_signed_in

NEW = "another long secret phrase"


def waiting(somebody: Somebody) -> Client:
    """Somebody who has given the password and is asked for a code."""
    browser = somebody.new_browser()
    assert somebody.sign_in(client=browser)["Location"] == CODE
    return browser


def test_a_new_password_ends_it(guarded: Somebody) -> None:
    """Whoever has stolen the password, and the phone, is told to come with the new one."""
    browser = waiting(guarded)
    user = User.objects.get(pk=guarded.user.pk)
    user.set_password(NEW)
    user.save(update_fields=["password"])

    assert guarded.app is not None
    assert guarded.send_code(guarded.app.code(), browser)["Location"] == SIGN_IN
    assert not is_signed_in(browser)


@pytest.mark.parametrize("switch", ["is_active", "is_staff"])
def test_whoever_is_switched_off_meanwhile_stays_out(guarded: Somebody, switch: str) -> None:
    browser = waiting(guarded)
    User.objects.using("system").filter(pk=guarded.user.pk).update(**{switch: False})

    assert guarded.app is not None
    assert guarded.send_code(guarded.app.code(), browser)["Location"] == SIGN_IN
    assert not is_signed_in(browser)


def test_of_two_who_hold_a_link_one_chooses(ann: Somebody) -> None:
    """Both have opened it before either has sent a password."""
    from django.contrib.auth.tokens import default_token_generator
    from django.utils.http import urlsafe_base64_encode

    token = default_token_generator.make_token(ann.user)
    person = urlsafe_base64_encode(str(ann.user.pk).encode())
    first, second = find_link_person(person, token), find_link_person(person, token)
    assert first is not None and second is not None

    assert [reset_password(user=one, password=NEW + str(i)) for i, one in enumerate((first, second))] == [True, False]
    assert User.objects.get(pk=ann.user.pk).check_password(f"{NEW}0")


def test_a_recovery_code_that_two_send_at_once_is_good_once(guarded: Somebody) -> None:
    browsers, gate, answers = [waiting(guarded) for _ in range(2)], threading.Barrier(2), list[Any]()

    def send(browser: Client) -> None:
        gate.wait()
        answers.append(guarded.send_code(guarded.codes[0], browser).status_code)
        connections.close_all()

    threads = [threading.Thread(target=send, args=[browser]) for browser in browsers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [200, 302]
    assert sorted(map(is_signed_in, browsers)) == [False, True]
