"""Events as e-mails to members of the account, through the mail server of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from smtplib import SMTPException, SMTPResponseException

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models.functions import Lower

from evalsvc.accounts.models import Account, Member
from evalsvc.accounts.signing_in.mails import is_permanent
from evalsvc.events.formats import build_message
from evalsvc.events.models import EventDelivery
from evalsvc.rest.problems import FieldError

SCHEME = "mailto:"
MAX_RECIPIENTS = 20
NO_SERVER = "No mail server is configured: an operator sets EVALSVC_SMTP_HOST."
SENT = 250
"""SMTP's answer to a message that it has taken (RFC 5321, 4.2.3)."""


class NotSent(Exception):
    """The mail server has not taken a message; `is_final`: it never will."""

    def __init__(self, detail: str, *, is_final: bool) -> None:
        super().__init__(detail)
        self.is_final = is_final


def parse_recipients(url: str) -> list[str]:
    """Return the addresses of `mailto:a@example.com,b@example.com`, in small letters, each once."""
    parts = (part.strip().lower() for part in url.removeprefix(SCHEME).split(","))
    return list(dict.fromkeys(part for part in parts if part))


def list_members(account: Account, addresses: Sequence[str]) -> set[str]:
    """Return those of the addresses that are of active members of the account, in small letters."""
    rows = Member.objects.filter(account=account, user__is_active=True).annotate(address=Lower("user__email"))
    return set(rows.filter(address__in=addresses).values_list("address", flat=True))


def check_recipients(account: Account, url: str) -> list[FieldError]:
    """Return why e-mails cannot be sent to an address: it is of nobody in the account, or there is no mail server."""
    addresses = parse_recipients(url)
    if not url.startswith(SCHEME) or not 1 <= len(addresses) <= MAX_RECIPIENTS:
        detail = f"With the format `email`: `mailto:` and up to {MAX_RECIPIENTS} addresses of members, with commas."
        return [FieldError("/url", detail)]
    if not settings.EMAIL_HOST:
        return [FieldError("/format", NO_SERVER)]
    strangers = [address for address in addresses if address not in list_members(account, addresses)]
    if strangers:
        return [FieldError("/url", f"E-mails go to members of the account only, not to {', '.join(strangers)}.")]
    return []


def send_event(delivery: EventDelivery, recipients: Sequence[str]) -> int:
    """Send an event to those recipients and return the status of SMTP. Raises NotSent.

    A delivery that is tried again has the same Message-ID.
    """
    if not settings.EMAIL_HOST:
        raise NotSent(NO_SERVER, is_final=False)
    if not recipients:
        raise NotSent("None of the recipients is a member of the account any more.", is_final=True)
    message = build_message(delivery.event)
    text = f"{message.text}\n\n{message.link}\n" if message.link else f"{message.text}\n"
    # A name may have a line break, a header may not.
    subject = " ".join(message.title.split())
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">") or "localhost"
    headers = {
        "Message-ID": f"<{delivery.event_id}.{delivery.endpoint_id}@{domain}>",
        "Auto-Submitted": "auto-generated",
    }
    try:
        EmailMessage(subject, text, to=recipients, headers=headers).send()
    except SMTPException as exc:
        code = exc.smtp_code if isinstance(exc, SMTPResponseException) else ""
        raise NotSent(f"{type(exc).__name__} {code}".strip(), is_final=is_permanent(exc)) from exc
    except OSError as exc:
        raise NotSent(f"The mail server does not answer: {type(exc).__name__}.", is_final=False) from exc
    return SENT
