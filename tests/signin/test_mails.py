"""A forgotten password with a real mail server and a real worker: what arrives, and what its link is good for."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.test import Client, override_settings

from tests.admin.conftest import new_user
from tests.conftest import Caller, forget_messages, start_worker, stop_group, wait_until
from tests.preloaded import Child
from tests.signin.conftest import SIGN_IN, Somebody, is_signed_in, trail_of
from tests.signin.mailbox import Mailbox, mailbox, text_of

PUBLIC, NEW = "https://evals.example.com", "another long secret phrase"
TOKEN = re.compile(r'value="\w{64}"|"X-CSRFToken": "\w{64}"')
LINK = re.compile(rf"{PUBLIC}(/console/sign-in/reset/\S+)")


@pytest.fixture(scope="module")
def box() -> Iterator[Mailbox]:
    with mailbox() as found:
        yield found


@pytest.fixture(scope="module")
def worker(box: Mailbox) -> Iterator[Child]:
    """A worker that is told of the mail server as an operator tells it."""
    known = {"HOST": "127.0.0.1", "PORT": str(box.port), "STARTTLS": "0", "FROM": "Evals <evals@example.com>"}
    known |= {"USER": "evals", "PASSWORD": "let me in"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in known.items():
            patch.setenv(f"EVALSVC_SMTP_{name}", value)
        patch.setenv("EVALSVC_PUBLIC_URL", PUBLIC)
        forget_messages()
        process = start_worker("judge", pool="threads")
    yield process
    stop_group(process)


@pytest.fixture(autouse=True)
def configured(worker: Child) -> Iterator[None]:
    with override_settings(EMAIL_HOST="127.0.0.1", PUBLIC_URL=PUBLIC):
        yield


def ask(email: str, host: str = "testserver") -> str:
    """Ask for a mail by the page; return what it says."""
    client = Client(headers={"Host": host})
    page = client.post(f"{SIGN_IN}/forgotten", {"username": email}, follow=True).content.decode()
    assert "a link has been sent" in page
    return TOKEN.sub("", page)


def choose(link: str, password: str = NEW) -> int:
    return Client().post(link, {"password": password, "again": password}).status_code


def link_for(somebody: Somebody, box: Mailbox) -> str:
    ask(somebody.user.email)
    found = LINK.search(text_of(box.next()))
    assert found is not None
    return found[1]


def test_the_mail_arrives_and_its_link_works_once(ann: Somebody, alice: Caller, box: Mailbox) -> None:
    ask(ann.user.email.upper())
    mail = box.next()

    assert (mail["To"], mail["From"]) == (ann.user.email, "Evals <evals@example.com>")
    assert mail["Subject"] == "A new password" and ann.user.email in text_of(mail)
    assert box.logins == {f"PLAIN {base64.b64encode(b'%cevals%clet me in' % (0, 0)).decode()}"}
    (link,) = LINK.findall(text_of(mail))
    assert (choose(link), choose(link)) == (302, 404)
    assert ann.sign_in(NEW).status_code == 302 and is_signed_in(ann.client)
    wait_until(lambda: "password.reset_sent" in trail_of(alice, ann.user))


def test_it_is_over_after_an_hour(ann: Somebody, box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_for(ann, box)
    late = datetime.now() + timedelta(seconds=3601)
    monkeypatch.setattr(default_token_generator, "_now", lambda: late)

    assert choose(link) == 404


def test_a_foreign_host_does_not_get_into_the_mail(ann: Somebody, box: Mailbox) -> None:
    with override_settings(ALLOWED_HOSTS=["*"]):
        ask(ann.user.email, "evil.example")
    mail = box.next()

    assert LINK.search(text_of(mail)) and "evil" not in mail.as_string()


def test_nobody_gets_nothing(ann: Somebody, box: Mailbox) -> None:
    """The page says the same of whom there is not; the next mail is the one of whoever is asked for next."""
    said = [ask(one) for one in ("nobody@example.com", new_user().email, ann.user.email)]

    assert len(set(said)) == 1
    assert box.next()["To"] == ann.user.email and box.mails.empty()


def test_a_server_that_is_busy_is_asked_again(ann: Somebody, box: Mailbox) -> None:
    box.n_busy, before = 1, box.n_turned_away
    said = ask(ann.user.email)

    assert box.next()["To"] == ann.user.email and box.n_turned_away == before + 1
    assert said == ask("nobody@example.com")
