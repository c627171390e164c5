"""`manage.py seed_demo`: two accounts, their keys, an operator; the same ones each time."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from django.core.management.base import CommandParser

from evalsvc.accounts.access.keys import KeyText, new_key_text, parse_key
from evalsvc.accounts.models import Account, ApiKey, Member, User
from evalsvc.accounts.services import add_member, create_account, issue_key
from evalsvc.local.supervisor.demo.accounts import KEYS, MEMBERS, OPERATOR, load_demo_values
from evalsvc.ops.management.base import ServiceCommand
from evalsvc.tenancy.scope import SYSTEM, role_scope


class Command(ServiceCommand):
    """Make the demo accounts, or find them again."""

    help = "Make two demo accounts with a key each, a member each, and an operator; running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --json."""
        parser.add_argument("--json", action="store_true", help="Print the values as one JSON object.")

    def handle(self, *args: object, **options: object) -> None:
        """Create what is missing, reuse existing keys and passwords, and print them."""
        values = read_or_draw(demo_file())
        with role_scope(SYSTEM):
            seed(values)
        if options["json"]:
            self.stdout.write(json.dumps(values))
        else:
            for name, value in values.items():
                self.stdout.write(f"{name}={value}")


def demo_file() -> Path:
    """Return the path of the generated keys and passwords, which must be printed at the next start too."""
    return Path(os.environ.get("EVALSVC_HOME", ".evalsvc")) / "demo.json"


def read_or_draw(path: Path) -> dict[str, str]:
    """Return the stored values, generated at the first call; the file is readable by its owner only."""
    if stored_values := load_demo_values(path):
        return stored_values
    values = {
        "EVALSVC_API_KEY": str(new_key_text()),
        "EVALSVC_API_KEY_B": str(new_key_text()),
        "EVALSVC_ADMIN_USER": OPERATOR,
        "EVALSVC_ADMIN_PASSWORD": secrets.token_urlsafe(15),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(values, file)
    return values


def seed(values: dict[str, str]) -> None:
    """Make what is missing. Members sign in with the operator's password: it is a demo on one machine."""
    password = values["EVALSVC_ADMIN_PASSWORD"]
    if not User.objects.filter(email=OPERATOR).exists():
        User.objects.create_superuser(OPERATOR, password)
    keys = [values[name] for name in KEYS]
    for (name, email), text in zip(MEMBERS, keys, strict=True):
        account = Account.objects.filter(name=name).first() or create_account(name=name)
        parsed = parse_key(text)
        if parsed and not ApiKey.objects.filter(public=parsed.public).exists():
            issue_key(account=account, name="demo", text=KeyText(*parsed))
        if not User.objects.filter(email=email).exists():
            user = User.objects.create_user(email, password, is_staff=True)
            add_member(account=account, user=user, role=Member.Role.ADMIN)
