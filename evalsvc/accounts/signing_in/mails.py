"""Password reset by email: the link is valid once, and for an hour.

The token is Django's: it signs the password's hash and the last sign-in, so that a new password or a sign-in
invalidates it. The person is looked up after the response was sent, so that content and timing are the same for every
address.
"""

from __future__ import annotations

import logging
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.passwords import store_password
from evalsvc.accounts.signing_in.sessions import end_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.rest.basics.links import public_address

log = logging.getLogger(__name__)
PERMANENT = 500
TEXT = """Somebody, probably you, has asked for a new password for {email} at {origin}.

Choose one here, within an hour:

{link}

If it was not you, do nothing: your password stays as it is.
"""


class MailNotSent(Exception):
    """The mail server did not respond or reported a temporary failure; the mail should be retried."""


def sends_mails() -> bool:
    """Return whether a mail server and the public URL are configured."""
    return bool(settings.EMAIL_HOST and settings.PUBLIC_URL)


def send_reset(email: str) -> None:
    """Send a reset link if a person with this address has a password. Raises MailNotSent."""
    user = User.objects.filter(email=email.lower(), is_active=True, is_staff=True).first()
    if user is None or not user.has_usable_password():
        return
    person = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("console_reset", args=[person, default_token_generator.make_token(user)])
    text = TEXT.format(email=user.email, origin=settings.PUBLIC_URL, link=public_address(path))
    try:
        send_mail("A new password", text, settings.DEFAULT_FROM_EMAIL, [user.email])
    except (OSError, SMTPException) as exc:
        log.exception("a mail could not be sent")
        if is_permanent(exc):
            return
        raise MailNotSent from exc
    record_of_person(user, "password.reset_sent", actor="system")


def is_permanent(exc: Exception) -> bool:
    """Return whether the mail server has refused in a way that another try does not change (RFC 5321, 4.2.1)."""
    if isinstance(exc, SMTPRecipientsRefused):
        return all(code >= PERMANENT for code, _ in exc.recipients.values())
    return isinstance(exc, SMTPResponseException) and exc.smtp_code >= PERMANENT


def find_link_person(person: str, token: str) -> User | None:
    """Return the person of a link; None if it was used, has expired or is invalid."""
    try:
        user = User.objects.filter(pk=int(urlsafe_base64_decode(person)), is_active=True, is_staff=True).first()
    except (ValueError, OverflowError):
        return None
    if user is None or not user.has_usable_password() or not default_token_generator.check_token(user, token):
        return None
    return user


def reset_password(*, user: User, password: str) -> bool:
    """Set the password of a link; all sessions end, a second factor stays. False for a link that was used meanwhile."""
    if not store_password(user=user, password=password):
        return False
    n = end_sessions(user=user)
    record_of_person(user, "password.reset", n_sessions=n)
    return True
