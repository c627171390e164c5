"""Celery tasks: three lines, call a service."""

from celery import shared_task
from django.db import close_old_connections
from django.utils import timezone

from evalsvc.accounts.signing_in.mails import MailNotSent, send_reset
from evalsvc.accounts.signing_in.sessions import prune_sessions
from evalsvc.accounts.signing_in.trail import record_lock


# Retried after 2, 4, 8 … 128 seconds, eight attempts in all. People request a late mail again; one that arrives hours
# later would only confuse them.
@shared_task(
    name="evalsvc.accounts.send_reset",
    queue="judge",
    expires=600,
    acks_late=False,
    autoretry_for=(MailNotSent,),
    retry_backoff=2,
    retry_jitter=False,
    max_retries=7,
)
def send_reset_mail(email: str) -> None:
    """Send a link for a new password, if there is such a person."""
    send_reset(email)


# Not in the request: rows are written only for existing people, and the time that takes would reveal them.
@shared_task(name="evalsvc.accounts.record_lock")
def record_sign_in_lock(email: str, address: str) -> None:
    """Record a lockout, if the address belongs to a person."""
    record_lock(email, address=address)
    close_old_connections()


@shared_task(name="evalsvc.accounts.prune_sessions")
def run_session_prune() -> int:
    """Delete sessions that are over."""
    n = prune_sessions(timezone.now())
    close_old_connections()
    return n
