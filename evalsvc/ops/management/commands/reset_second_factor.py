"""`manage.py reset_second_factor EMAIL`: for a person who has lost both phone and recovery codes."""

from __future__ import annotations

from django.core.management.base import CommandError, CommandParser

from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.factors import switch_off
from evalsvc.accounts.signing_in.sessions import end_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.ops.management.base import ServiceCommand


class Command(ServiceCommand):
    """Switch a second factor off."""

    help = (
        "Switch a person's second factor off and end their sessions. Be sure who is asking: a password is then enough."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the person."""
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *args: object, **options: str) -> None:
        """Switch it off and print a confirmation; fail if the person is unknown or uses no second factor."""
        user = User.objects.filter(email=options["email"].lower()).first()
        if user is None:
            raise CommandError(f"There is nobody with the address {options['email']}.")
        if not switch_off(user=user):
            raise CommandError(f"{user.email} has no second factor.")
        n = end_sessions(user=user)
        record_of_person(user, "factor.switched_off", actor="system", by="operator", n_sessions=n)
        self.stdout.write(f"The second factor of {user.email} is off; {n} sessions ended.")
