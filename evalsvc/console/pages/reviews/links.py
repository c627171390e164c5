"""Links of a review: for people without an account. Their addresses are shown once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from evalsvc.console.access import PageRequest
from evalsvc.console.once import format_once_message
from evalsvc.console.parts.forms.fields import FormField, populate_fields
from evalsvc.rest.basics.links import link_for_others
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.links import LONGEST_SECONDS, issue_link
from evalsvc.reviews.models import Review, ReviewLink
from evalsvc.reviews.selectors import list_links

LINKS_ONCE = format_once_message("The address of a new link", "If nobody copied it, end it and create another one.")
A_DAY = 86_400
MOST_DAYS = LONGEST_SECONDS // A_DAY
MOST_AT_ONCE = 20
OPENS, MAKER_LEFT, ENDED = "opens the queue", "inactive: its creator can no longer edit", "ended"


def link_fields(sent: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None) -> list[FormField]:
    """Return the form of a new link."""
    fields = (
        FormField("name", "Name", is_required=True, help="One per person, so that answers can be told apart."),
        FormField("days", "Expires after (days)", "number", value="14", help=f"At most {MOST_DAYS}."),
    )
    return populate_fields(fields, sent or {}, errors)


def parse_days(text: str) -> int:
    """Parse the number of days until a link expires. Raises Invalid for a number that is not valid."""
    if not text.strip():
        return 14
    if not text.isdecimal() or len(text) > 3 or not 1 <= int(text) <= MOST_DAYS:
        raise Invalid(FieldError("/days", f"A whole number from 1 to {MOST_DAYS}."))
    return int(text)


def issued_links(request: PageRequest, review: Review, names: Sequence[str], days: str) -> list[tuple[str, str]]:
    """Make a link for each name; return names with addresses, which cannot be read again."""
    visitor, seconds = request.visitor, parse_days(days) * A_DAY
    if len(names) > MOST_AT_ONCE:
        raise Invalid(FieldError("/people", f"At most {MOST_AT_ONCE} links at once."))
    issued = []
    for name in names:
        link, token = issue_link(
            account=visitor.account, review_id=review.pk, name=name, expires_in_seconds=seconds, actor=visitor.actor
        )
        issued.append((link.name, link_for_others(request, reverse("enter_review", args=[review.pk, token]))))
    return issued


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link as the page lists it."""

    link: ReviewLink
    ended_at: datetime
    state: str

    @property
    def is_open(self) -> bool:
        """Return whether it lets its holder in."""
        return self.state == OPENS

    @property
    def may_end(self) -> bool:
        """Return whether the link can be ended. One that is shut works again as soon as its creator regains access."""
        return self.state != ENDED


def shown_links(request: PageRequest, review: Review) -> list[LinkRow]:
    """Return the links, the newest first."""
    rows = list_links(account=request.visitor.account, review=review)
    return [_build_link(link, opens, review, request.visitor.now) for link, opens in rows]


def _build_link(link: ReviewLink, opens: bool, review: Review, now: datetime) -> LinkRow:
    ended_at = link.revoked_at or link.expires_at
    if review.closed_at is not None or ended_at <= now:
        return LinkRow(link, ended_at, ENDED)
    return LinkRow(link, ended_at, OPENS if opens else MAKER_LEFT)
