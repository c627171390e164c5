"""Password changes. They require the old password and end all other sessions."""

from __future__ import annotations

from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.factors import lock_person
from evalsvc.accounts.signing_in.sessions import end_sessions, note_session
from evalsvc.accounts.signing_in.trail import record_of_person

MIN_DISTINCT = 5


class DistinctCharactersValidator:
    """Refuses passwords of very few characters, such as `aaaaaaaaaaaa`, which no list of common passwords has."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError if there are too few."""
        if len(set(password)) < MIN_DISTINCT:
            raise ValidationError(self.get_help_text(), code="password_too_uniform")

    def get_help_text(self) -> str:
        """Return the requirement."""
        return f"Your password must contain at least {MIN_DISTINCT} different characters."


def password_faults(user: User, password: str, again: str) -> list[str]:
    """Return what is wrong with a new password, in sentences."""
    if password != again:
        return ["The two passwords differ."]
    try:
        validate_password(password, user)
    except ValidationError as exc:
        return list(exc.messages)
    return []


def store_password(*, user: User, password: str) -> bool:
    """Store a new password; False where the old one, which was proven, is another by now: of two at once one counts."""
    hashed = make_password(password)  # it takes long, and is done before others wait
    with lock_person(user) as is_same:
        if is_same:
            user.password = hashed
            user.save(update_fields=["password"])
        return is_same


def change_password(request: HttpRequest, *, user: User, password: str) -> bool:
    """Set a new password for the signed-in person; their other sessions end, and this one continues under a new key.

    Return False, without a change, if the password was changed in the meantime.
    """
    if not store_password(user=user, password=password):
        return False
    update_session_auth_hash(request, user)
    n = end_sessions(user=user, but=request.session.session_key)
    note_session(request, user)
    record_of_person(user, "password.changed", n_sessions=n)
    return True
