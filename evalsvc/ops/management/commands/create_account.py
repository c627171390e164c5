"""`manage.py create_account NAME`: an account with its first key, and on request the first operator."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.services import add_member, create_account, issue_key
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.tenancy.scope import SYSTEM, role_scope


class Command(ServiceCommand):
    """Make an account."""

    help = "Make an account and print its first key, once. With --operator also whoever administers the installation."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the name and the people."""
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--operator", metavar="EMAIL", help="a new person who sees all accounts, admin of this one")
        parser.add_argument(
            "--password-file", type=Path, metavar="FILE", help="the operator's password; drawn and printed without it"
        )
        parser.add_argument("--no-key", action="store_true", help="issue no key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make all of it or nothing, and print what cannot be read again."""
        if options["password_file"] and not options["operator"]:
            raise CommandError("--password-file is the password of --operator EMAIL, which is missing.")
        with role_scope(SYSTEM):
            try:
                with transaction.atomic(using=SYSTEM):
                    printed = self._make(options)
            except ValidationError as exc:
                raise CommandError(" ".join(exc.messages)) from None
        for name, value in printed.items():
            self.stdout.write(f"{name}={value}")

    def _make(self, options: dict[str, Any]) -> dict[str, str]:
        printed: dict[str, str] = {}
        Account(name=options["name"]).full_clean(exclude=["id"])
        account = create_account(name=options["name"])
        if email := options["operator"]:
            user, generated_password = _operator(email, options["password_file"])
            add_member(account=account, user=user, role=Member.Role.ADMIN)
            printed |= {"EVALSVC_ADMIN_USER": user.email} | (
                {"EVALSVC_ADMIN_PASSWORD": generated_password} if generated_password else {}
            )
        if not options["no_key"]:
            _, text = issue_key(account=account, name="first")
            printed["EVALSVC_API_KEY"] = str(text)
        return printed


def _operator(email: str, file: Path | None) -> tuple[User, str]:
    """Return the new operator, and the password if it was drawn here."""
    generated_password = "" if file else secrets.token_urlsafe(15)
    user = User(email=email.lower())
    try:
        password = generated_password or (file.read_text(encoding="utf-8").strip() if file else "")
    except OSError as exc:
        raise CommandError(f"{file} cannot be read: {exc.strerror}.") from None
    user.full_clean(exclude=["password"])
    validate_password(password, user)
    return User.objects.create_superuser(email, password), generated_password
