"""Links for reviewers without an account: each opens the page of one review, for a time, and nothing else."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core import signing
from django.db import connections
from django.utils import timezone

from evalsvc.accounts.access.keys import KeyText, hash_secret, new_key_text, same_secret
from evalsvc.accounts.access.signin import count_link_attempt, refund_attempt
from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.reviews.models import Review, ReviewLink
from evalsvc.reviews.selectors import get_review
from evalsvc.tenancy.scope import APP, account_scope

LONGEST_SECONDS = 90 * 24 * 3600
MAX_LINKS = 200
PREFIX = "rl_"
DOMAIN = "review-link:"
"""Before a secret is hashed, so that the hash of a link is never that of a key."""
TRIES_PER_ADDRESS = 100
ACTS_PER_LINK = 3000
"""In a quarter of an hour: far more than a person can do."""
_shape = re.compile(r"rl_([a-z0-9]{16})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class LinkHolder:
    """The holder of a review link."""

    link_id: uuid.UUID
    public: str
    account_id: int
    review_id: uuid.UUID
    name: str
    expires_at: datetime

    @property
    def reviewer(self) -> str:
        """Return the name that their answers go by."""
        return f"link:{self.link_id}"


def issue_link(
    *, account: Account, review_id: uuid.UUID, name: str, expires_in_seconds: int, actor: str
) -> tuple[ReviewLink, str]:
    """Make a link and return it with its token, which cannot be read again."""
    text = new_key_text()
    with account_scope(account.pk):
        review = get_review(account=account, id=review_id, lock=True)
        if review.closed_at is not None:
            raise Problem(code="review_closed")
        if ReviewLink.objects.filter(account=account, review=review).count() >= MAX_LINKS:
            raise Invalid(FieldError("", f"A review has at most {MAX_LINKS} links; make another review."))
        link = ReviewLink.objects.create(
            account=account,
            review=review,
            name=_new_name(review, name),
            public=text.public,
            secret_hash=_hashed(text.secret),
            issued_by=actor[:120],
            expires_at=timezone.now() + timedelta(seconds=expires_in_seconds),
        )
        record_audit(account=account, actor=actor, action="review_link.issued", target=str(link.pk), review=review.name)
        link.refresh_from_db()
    return link, f"{PREFIX}{text.public}.{text.secret}"


def _new_name(review: Review, name: str) -> str:
    """Return the cleaned name. A name in use by another link is refused: two links would count as one person."""
    cleaned = clean_name(name.strip(), "/name")
    rows = ReviewLink.objects.filter(account=review.account_id, review=review, revoked_at=None)
    live = rows.filter(expires_at__gt=timezone.now()).values_list("name", flat=True)
    if cleaned.casefold() in {other_name.strip().casefold() for other_name in live}:
        detail = f"A link of this review is {cleaned}'s already; end that one, or write whose this is in another way."
        raise Invalid(FieldError("/name", detail), code="already_exists")
    return cleaned


def revoke_link(*, account: Account, review_id: uuid.UUID, id: uuid.UUID, actor: str) -> None:
    """End a link: the next thing that its holder does is refused. Ended again it stays as it is."""
    with account_scope(account.pk):
        rows = ReviewLink.objects.filter(account=account, review_id=review_id, pk=id)
        if rows.filter(revoked_at=None).update(revoked_at=timezone.now()):
            record_audit(account=account, actor=actor, action="review_link.revoked", target=str(id))
        elif not rows.exists():
            raise NotFound


def holder_of_token(token: str, *, review_id: uuid.UUID, address: str) -> LinkHolder | None:
    """Return who came with a token of this review; None for an unknown, wrong, ended or foreign one alike.

    Raises `too_many_requests` for an address from which too many came that were none.
    """
    counter = f"review-link-ip:{hashlib.sha256(address.encode()).hexdigest()}"
    count_link_attempt({counter: TRIES_PER_ADDRESS})
    match = _shape.fullmatch(token)
    if match is None:
        return None
    text = KeyText(*match.groups())
    holder = _find(text.public, review_id, secret=text.secret)
    if holder is not None:
        refund_attempt({counter: TRIES_PER_ADDRESS})
    return holder


def seal_holder(holder: LinkHolder) -> str:
    """Return the value of the holder's cookie: the id of the link, signed for this review only."""
    return signing.dumps(holder.public, salt=_salt(holder.review_id), compress=False)


def holder_of_cookie(cookie: str, *, review_id: uuid.UUID) -> LinkHolder | None:
    """Return the holder identified by a cookie of this review; None if it is forged, foreign or its link has ended."""
    try:
        public = signing.loads(cookie, salt=_salt(review_id))
    except signing.BadSignature:
        return None
    holder = _find(str(public), review_id, secret=None)
    if holder is not None:
        count_link_attempt({f"review-link:{holder.link_id}": ACTS_PER_LINK})
    return holder


def _find(public: str, review_id: uuid.UUID, *, secret: str | None) -> LinkHolder | None:
    with connections[APP].cursor() as cursor:
        cursor.execute("SELECT * FROM find_review_link(%s)", [public])
        row = cursor.fetchone()
    if row is None:
        return None
    id, account_id, of_review, name, secret_hash, expires_at, revoked_at = row
    if secret is not None and not same_secret(DOMAIN + secret, bytes(secret_hash)):
        return None
    if of_review != review_id or revoked_at is not None or expires_at <= timezone.now():
        return None
    return LinkHolder(id, public, account_id, of_review, name, expires_at)


def _hashed(secret: str) -> bytes:
    return hash_secret(DOMAIN + secret)


def _salt(review_id: uuid.UUID) -> str:
    return f"evalsvc.review_link:{review_id}"
