"""A forgotten password: who gets a mail, where its link leads, and how long it is good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from smtplib import SMTPAuthenticationError, SMTPRecipientsRefused, SMTPServerDisconnected

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client, override_settings

from evalsvc.accounts.signing_in.mails import send_reset
from evalsvc.accounts.tasks import send_reset_mail
from tests.admin.conftest import new_user
from tests.conftest import Caller
from tests.signin.conftest import SIGN_IN, Somebody, is_signed_in, trail_of

PUBLIC, NEW = "https://evals.example.com", "another long secret phrase"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Mails go into a list, and so do the addresses that workers are told of."""
    told: list[str] = []
    monkeypatch.setattr("evalsvc.accounts.tasks.send_reset_mail.delay", told.append)
    backend = "django.core.mail.backends.locmem.EmailBackend"
    mail.outbox = []
    with override_settings(EMAIL_BACKEND=backend, EMAIL_HOST="mail.example", PUBLIC_URL=PUBLIC):
        yield told


def link_of(somebody: Somebody) -> str:
    """The path of the link in the mail that the person gets."""
    mail.outbox = []
    send_reset(somebody.user.email)
    found = re.search(rf"{PUBLIC}(/\S+)", str(mail.outbox[0].body))
    assert found is not None and mail.outbox[0].to == [somebody.user.email]
    return found[1]


def choose(link: str, password: str = NEW) -> int:
    return Client().post(link, {"password": password, "again": password}).status_code


def test_the_answer_is_the_same_whoever_is_asked_for(ann: Somebody, asked: list[str]) -> None:
    answers = [Client().post(f"{SIGN_IN}/forgotten", {"username": one}) for one in (ann.user.email, "no@example.com")]

    assert [(answer.status_code, answer["Location"]) for answer in answers] == [(302, SIGN_IN)] * 2
    assert asked == [ann.user.email, "no@example.com"] and mail.outbox == []


def test_the_link_is_of_the_configured_address(ann: Somebody) -> None:
    """The worker that writes it knows no request, so that no Host header reaches it."""
    Client(HTTP_HOST="localhost").post(f"{SIGN_IN}/forgotten", {"username": ann.user.email})
    link_of(ann)

    assert set(re.findall(r"https?://([a-z.]+[a-z])", str(mail.outbox[0].body))) == {"evals.example.com"}
    assert Client(HTTP_HOST="evil.example").post(f"{SIGN_IN}/forgotten", {"username": "a@b.c"}).status_code == 400


def test_it_is_good_once_and_ends_all_sessions(ann: Somebody, alice: Caller) -> None:
    ann.enter()
    link = link_of(ann)

    assert Client().get(link).status_code == 200, "looking uses nothing up"
    assert (choose(link), choose(link)) == (302, 404)
    assert not is_signed_in(ann.client)
    assert ann.sign_in(NEW, ann.new_browser()).status_code == 302
    assert "password.reset" in trail_of(alice, ann.user)


def test_it_is_over_after_an_hour(ann: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(ann)
    late = datetime.now() + timedelta(seconds=3601)
    monkeypatch.setattr(default_token_generator, "_now", lambda: late)

    assert choose(link) == 404


def test_it_is_over_after_a_sign_in(ann: Somebody) -> None:
    link = link_of(ann)
    ann.enter()

    assert choose(link) == 404


def test_it_opens_nobody_else(ann: Somebody) -> None:
    other = Somebody(new_user(password=NEW))
    token = link_of(ann).rsplit("/", 1)[1]
    person = link_of(other).rsplit("/", 2)[1]

    assert choose(f"{SIGN_IN}/reset/{person}/{token}") == 404
    assert choose(f"{SIGN_IN}/reset/%21%21/x") == 404
    assert f'href="{SIGN_IN}/forgotten">Request a new one' in Client().get(f"{SIGN_IN}/reset/x/x").content.decode()


def test_a_second_factor_is_asked_for_all_the_same(guarded: Somebody) -> None:
    choose(link_of(guarded))

    assert guarded.sign_in(NEW, guarded.new_browser())["Location"] == f"{SIGN_IN}/code"


def test_whoever_has_no_password_here_gets_no_mail(ann: Somebody) -> None:
    """They come by single sign-on: a password would be a way past the provider."""
    send_reset(new_user().email)

    assert mail.outbox == []


class Down:
    """A mail server that answers a given way, or not at all, until the last try."""

    def __init__(self, failure: Exception, n_times: int) -> None:
        self.failure, self.n_left, self.n_tries = failure, n_times, 0

    def __call__(self, *args: object) -> None:
        self.n_tries += 1
        if self.n_left > 0:
            self.n_left -= 1
            raise self.failure


@pytest.mark.parametrize(
    ("failure", "n_times", "n_tries", "is_sent"),
    [
        (ConnectionRefusedError(), 3, 4, True),
        (SMTPServerDisconnected(), 99, 8, False),
        (SMTPRecipientsRefused({"ann": (450, b"greylisted")}), 1, 2, True),
        (SMTPRecipientsRefused({"ann": (550, b"no such mailbox")}), 99, 1, False),
        (SMTPAuthenticationError(535, b"wrong password"), 99, 1, False),
    ],
)
def test_it_is_tried_again_while_that_may_help(
    ann: Somebody, alice: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    failure: Exception, n_times: int, n_tries: int, is_sent: bool,
) -> None:  # fmt: skip
    server = Down(failure, n_times)
    monkeypatch.setattr("evalsvc.accounts.signing_in.mails.send_mail", server)
    send_reset_mail.apply(args=[ann.user.email])

    assert server.n_tries == n_tries
    assert caplog.text.count("a mail could not be sent") == n_tries - is_sent
    assert ("password.reset_sent" in trail_of(alice, ann.user)) is is_sent


def test_a_short_password_is_refused(ann: Somebody) -> None:
    link = link_of(ann)

    assert (choose(link, "short"), choose(link)) == (200, 302)


def test_mails_to_one_address_are_few(asked: list[str], ann: Somebody) -> None:
    statuses = [
        ann.new_browser().post(f"{SIGN_IN}/forgotten", {"username": ann.user.email}).status_code for _ in range(11)
    ]

    assert statuses == [302] * 10 + [429] and len(asked) == 10


def test_without_a_mail_server_there_is_none_of_it() -> None:
    with override_settings(EMAIL_HOST=""):
        assert "Forgotten" not in Client().get(SIGN_IN).content.decode()
        assert Client().get(f"{SIGN_IN}/forgotten").status_code == 404
