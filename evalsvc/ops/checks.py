"""System checks: is row-level security really a wall for the application's role, and is every family there?"""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import Error as DatabaseError
from django.db import connections

from evalsvc.infra.functions import ForeignFunctions, check_functions
from evalsvc.judges.models import Connection
from evalsvc.outbound.guard import why_not_called
from evalsvc.tenancy.rls import role_name
from evalsvc.tenancy.scope import APP, SIGNIN, SYSTEM
from evaluators.registry import list_broken_plugins

ROLE = "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
OWNED = """
SELECT count(*) FROM pg_class
WHERE relname = 'evaluations_historyscore' AND pg_get_userbyid(relowner) = current_user
"""
# Of tables that are there: before the first migration there is nothing to reach.
REACHES_PEOPLE = """
SELECT bool_or(has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'UPDATE'))
FROM pg_class c WHERE c.oid = ANY (ARRAY[to_regclass('django_session'), to_regclass('mfa_authenticator')])
"""


@register(Tags.database)
def application_role_is_bound(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Reject a DATABASE_URL with a role that bypasses row-level security: a superuser, BYPASSRLS, an owner."""
    if not databases:
        return []
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute(ROLE)
            name, unbound = cursor.fetchone()
            cursor.execute(OWNED)
            owns = cursor.fetchone()[0]
    except DatabaseError as exc:
        return [Error(f"DATABASE_URL cannot be used: {exc}", id="evalsvc.E002")]
    if not unbound and not owns:
        return []
    return [
        Error(
            f"Row-level security does not bind role {name!r} of DATABASE_URL: accounts could see each other.",
            hint="Give the application a role of its own (docs/operations.md); the owner belongs in "
            "DATABASE_MIGRATION_URL.",
            id="evalsvc.E001",
        )
    ]


@register(Tags.database)
def people_are_out_of_reach(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Report, in `check --database default`, an application's role that reads sessions, and no role for sign-in."""
    if not databases or APP not in databases:
        return []
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute(REACHES_PEOPLE)
            (reaches,) = cursor.fetchone()
    except DatabaseError:
        return []
    if reaches:
        return [
            Error(
                f"Role {role_name(APP)!r} of DATABASE_URL may read sessions and second factors.",
                hint="Run `python manage.py migrate --database owner`: it takes these rights away.",
                id="evalsvc.E005",
            )
        ]
    if role_name(SIGNIN) != role_name(SYSTEM):
        return []
    return [
        Warning(
            f"People sign in by the system role {role_name(SYSTEM)!r}, which sees the rows of all accounts.",
            hint="Make a role for sign-in, name it in DATABASE_SIGNIN_URL, and migrate (docs/operations.md).",
            id="evalsvc.W006",
        )
    ]


@register(Tags.database)
def functions_are_installed(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Report, in `check --database default`, what would prevent a web process or worker from starting."""
    # Not to `migrate`, which speaks as the owner and is the remedy.
    if not databases or APP not in databases:
        return []
    try:
        message = check_functions(connections[APP])
    except ForeignFunctions as exc:
        return [Error(str(exc), id="evalsvc.E004")]
    except DatabaseError:
        return []
    return [Warning(message, id="evalsvc.W004")] if message else []


@register(Tags.database)
def connections_can_be_called(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Report, in `check --database system`, stored connections that the operator's settings forbid to call."""
    if not databases or SYSTEM not in databases:
        return []
    try:
        rows = list(Connection.objects.using(SYSTEM).order_by("pk").values_list("pk", "account_id", "base_url"))
    except DatabaseError:
        return []
    return [
        Warning(
            f"Connection {pk} of account {account_id} leads to {base_url}, which is not called. {why}",
            hint="Allow it by EVALSVC_OUTBOUND_PORTS, EVALSVC_OUTBOUND_ALLOW or EVALSVC_OUTBOUND_PLAIN_HTTP, or tell "
            "the account's people.",
            id="evalsvc.W005",
        )
        for pk, account_id, base_url in rows
        if (why := why_not_called(base_url))
    ]


# Only in `check --deploy`: an error in the ordinary checks would block `migrate` and other commands, and one unusable
# package must not affect the rest.
@register(deploy=True)
def packages_bring_their_families(app_configs: Sequence[AppConfig] | None, **kwargs: object) -> list[CheckMessage]:
    """Report installed packages that failed to provide their evaluator family."""
    return [
        Error(
            f"Package {plugin.package!r} brings no evaluator family by {plugin.entry_point!r}. {plugin.problem}",
            hint=f"Correct or uninstall {plugin.package!r}; the other families are not affected.",
            id="evalsvc.E003",
        )
        for plugin in list_broken_plugins()
    ]
