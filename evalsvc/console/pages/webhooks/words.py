"""The results of deliveries as text, with remedies."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from evalsvc.events.models import EventDelivery, EventEndpoint
from evalsvc.events.selectors import MOST_LEFT_OUT, EndpointHealth

AGAIN = "then deliver again."
ERRORS = {
    "timeout": ("", f"Make the receiver return 2xx immediately and do its work afterwards; {AGAIN}"),
    "connection": ("", f"Check that the receiver is running and its certificate is valid, or edit the URL; {AGAIN}"),
    "refused_address": ("", f"Edit the URL, or ask the operator to allow the network; {AGAIN}"),
    "bad_url": ("", f"Edit the address; {AGAIN}"),
    "too_large": ("", f"Make the receiver return a short response; {AGAIN}"),
    "bad_answer": ("", f"Make the receiver return an uncompressed response; {AGAIN}"),
    "disabled": ("The webhook was switched off.", f"Switch it on; {AGAIN}"),
    "secret": ("The secret cannot be decrypted.", f"Rotate the secret and give the new one to the receiver; {AGAIN}"),
}  # fmt: skip
ANSWERS = {
    400: f"Check the receiver's logs for why it rejects this event; {AGAIN}",
    401: f"Configure this webhook's secret at the receiver (rotate it if lost); {AGAIN}",
    403: f"Configure this webhook's secret at the receiver (rotate it if lost); {AGAIN}",
    404: f"Nothing exists at this path: edit the URL; {AGAIN}",
    405: f"The path does not accept POST: edit the URL; {AGAIN}",
    410: f"The path no longer exists: edit the URL; {AGAIN}",
    413: f"Raise the receiver's body size limit; {AGAIN}",
    429: f"Lower the maximum deliveries per hour, or raise the receiver's rate limit; {AGAIN}",
}
REDIRECT = f"Redirects are not followed: use the final URL; {AGAIN}"
REFUSED = f"Check the receiver's logs for why it rejects this event; {AGAIN}"
BROKEN = f"The receiver failed: fix it, {AGAIN}"
CALM = {"delivered": "good", "failed": "bad", "limited": "warn"}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a delivery has not arrived, and the remedy; both are empty if nothing needs to be reported."""

    says: str = ""
    remedy: str = ""


def get_cause(last_status: int | None, last_error: str | None) -> Cause:
    """Return the result of an attempt: the status of the response in words, or why no response arrived."""
    if last_error is not None:
        code, _, detail = last_error.partition(": ")
        says, remedy = ERRORS.get(code, ("", f"Check the receiver; {AGAIN}"))
        return Cause(says or detail or last_error, remedy)
    if last_status is None:
        return Cause()
    says = f"The receiver answered {last_status}{_phrase(last_status)}."
    if last_status < HTTPStatus.MULTIPLE_CHOICES:
        return Cause(says)
    if last_status < HTTPStatus.BAD_REQUEST:
        return Cause(says, REDIRECT)
    if last_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Cause(says, BROKEN)
    return Cause(says, ANSWERS.get(last_status, REFUSED))


def cause_of_delivery(row: EventDelivery) -> Cause:
    """Return the result of a delivery's last attempt, or why it was not attempted."""
    if row.status == EventDelivery.Status.LIMITED:
        return Cause("More deliveries than the webhook allows in this hour.", "Edit it, or deliver again.")
    return get_cause(row.last_status, row.last_error)


def get_state(row: EventDelivery) -> tuple[str, str]:
    """Return a delivery's state in a word, and its tone."""
    if row.status != EventDelivery.Status.PENDING:
        return {"limited": "left out"}.get(row.status, row.status), CALM.get(row.status, "")
    return ("will be tried again", "warn") if row.n_attempts else ("on its way", "live")


def get_cause_of_health(health: EndpointHealth) -> Cause:
    """Return why something has not arrived at a webhook, or why the service disabled it."""
    if health.disabled_reason is None:
        return get_cause(health.last_status, health.last_error)
    reason = EventEndpoint.DisabledReason(health.disabled_reason)
    return Cause(f"Disabled: {reason.label}", "Fix the receiver or edit the URL, then enable the webhook.")


def format_health(one: EndpointHealth) -> tuple[str, str]:
    """Return a webhook's status as a word, and its tone."""
    if one.disabled_reason is not None:
        return "disabled", "bad"
    if not one.is_enabled:
        return "off", ""
    if one.is_failing:
        return "does not deliver", "bad"
    if one.wants_a_look:
        return "delivers again", "warn"
    if one.n_limited:
        return "leaves some out", "warn"
    return ("delivers", "good") if one.n_delivered else ("nothing sent yet", "")


def missing_words(one: EndpointHealth) -> str:
    """Return how much of the newest deliveries has not arrived."""
    parts = [(one.n_failed, "given up"), (one.n_retried, "being tried again")]
    missing = [f"{n} {what}" for n, what in parts if n] + ([format_left_out(one)] if one.n_limited else [])
    return ", ".join(missing) or "nothing"


def format_left_out(one: EndpointHealth) -> str:
    """Return how many the rate limit has left out."""
    suffix = " or more" if one.n_limited == MOST_LEFT_OUT else ""
    return f"{one.n_limited}{suffix} left out"


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""
