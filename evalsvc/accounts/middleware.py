"""Whose rows a signed-in person's page may show."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from evalsvc.accounts.membership import CURRENT, membership_of
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope

ADMIN_PREFIX = "/admin/"


class MemberScopeMiddleware:
    """Run an admin page as the operator's system role, or inside the member's account: the database enforces either."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request in the scope of whoever is signed in."""
        if not request.path.startswith(ADMIN_PREFIX) or not request.user.is_authenticated:
            return self.get_response(request)
        if request.user.is_superuser:
            with role_scope(SYSTEM):
                return rendered(self.get_response(request))
        membership = membership_of(request)
        if membership is None:
            return self.get_response(request)
        token = CURRENT.set(membership)
        try:
            with account_scope(membership.account_id):
                return rendered(self.get_response(request))
        finally:
            CURRENT.reset(token)


def rendered(response: HttpResponse) -> HttpResponse:
    """Render a lazy page now, while its scope is open."""
    render = getattr(response, "render", None)
    return render() if callable(render) else response
