"""Celery tasks: three lines, call a service."""

from celery import shared_task

from evalsvc.accounts.signing_in.mails import send_reset


# A mail that is late is asked for again; one that comes hours later would only be strange.
@shared_task(name="evalsvc.accounts.send_reset", queue="judge", expires=600, acks_late=False)
def send_reset_mail(email: str) -> None:
    """Send a link for a new password, if there is such a person."""
    send_reset(email)
