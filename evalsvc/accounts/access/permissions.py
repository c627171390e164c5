"""What a key may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from evalsvc.accounts.models import ApiKey
from evalsvc.rest.problems import Problem

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KeyScopePermission(BasePermission):
    """Allow a read key to call safe methods, and POST on views that only read (`reads = True`)."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return True, or raise `read_only_key`."""
        check_scope(request.user, request, view)
        return True


def check_scope(caller: Any, request: Request | HttpRequest, view: APIView) -> None:
    """Raise `read_only_key` where the key of an authentication.Caller does not do."""
    only_reads = request.method in SAFE_METHODS or getattr(view, "reads", False)
    if not only_reads:
        check_write_scope(caller)


def check_write_scope(caller: Any) -> None:
    """Raise `read_only_key` if the caller's key is read-only."""
    if caller.key.scope != ApiKey.Scope.WRITE:
        raise Problem(code="read_only_key")
