"""The admin site: sign-in, the choice of account, and nothing that looks across accounts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from evalsvc.accounts.membership import CURRENT, choose_account, get_memberships
from evalsvc.accounts.selectors import get_account
from evalsvc.accounts.services import ADMIN, begin_deletion

# Django's page `view_on_site` finds any row by content type and id, without asking its ModelAdmin who may see it.
LEFT_OUT = {"view_on_site"}
SIGNED_OUT = "You are signed out."


def files() -> dict[str, Any]:
    """Return our style sheet and script for unfold's templates.

    `colors` is None: unfold would write the colours into the page, and our Content-Security-Policy refuses that.
    """
    return {"styles": [static("evalsvc/pages.css")], "scripts": [static("evalsvc/pages.js")], "colors": None}


class Site(UnfoldAdminSite):
    """One site for operators and members; each ModelAdmin checks permissions itself."""

    index_template = "accounts/index.html"

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Add the page that switches the account, and remove the addresses in LEFT_OUT."""
        urls = [url for url in super().get_urls() if getattr(url, "name", None) not in LEFT_OUT]
        extra_urls = [
            path("switch-account/", self.admin_view(self.switch_account), name="switch_account"),
            path("delete-account/", self.admin_view(self.delete_account), name="delete_account"),
        ]
        return [*extra_urls, *urls]

    def each_context(self, request: HttpRequest) -> dict[str, object]:
        """Tell every page which account it shows."""
        return {**super().each_context(request), **files(), "membership": CURRENT.get()}

    def bare_context(self, request: HttpRequest) -> dict[str, object]:
        """Return the context of a page without a sidebar. It makes no query, so that error pages can use it."""
        icons = self._get_favicons("SITE_FAVICONS", request)
        return {**files(), "site_favicons": icons, "site_title": self._get_config("SITE_TITLE", request)}

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect anonymous visitors to the one sign-in page."""
        if not request.user.is_authenticated:
            return redirect(f"{reverse('account_login')}?{urlencode({'next': self.get_next_url(request)})}")
        return redirect("admin:index")

    @method_decorator(never_cache)
    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """End the session and redirect to the one sign-in page, with a message."""
        answer = super().logout(request, extra_context)
        if request.method != "POST":
            return answer
        messages.success(request, SIGNED_OUT)
        return redirect("account_login")

    def get_next_url(self, request: HttpRequest) -> str:
        """Return the page to open after a sign-in; the sign-in page checks that the address is ours."""
        return request.GET.get("next") or request.POST.get("next") or reverse("admin:index")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect to the person's own page, where passwords are changed."""
        return redirect("console_you")

    def search(self, request: HttpRequest, extra_context: object = None) -> HttpResponse:
        """Refuse every search: unfold caches the results by user, and a user may belong to several accounts."""
        raise Http404

    def switch_account(self, request: HttpRequest) -> HttpResponse:
        """Let a member of several accounts choose the one to look at."""
        if request.method == "POST":
            membership = choose_account(request, request.POST.get("account", ""))
            if membership is None:
                messages.error(request, "You are not a member of that account.")
            else:
                messages.success(request, f"Switched to {membership.account_name}.")
            return redirect("admin:index")
        context = {
            **self.each_context(request),
            "title": "Switch account",
            "memberships": get_memberships(request),
        }
        return render(request, "accounts/switch_account.html", context)

    def delete_account(self, request: HttpRequest) -> HttpResponse:
        """Let an admin of an account end it for good, once they have typed its name."""
        membership = CURRENT.get()
        if membership is None or not membership.may_administer:
            raise PermissionDenied
        if request.method == "POST":
            if request.POST.get("name", "") == membership.account_name:
                account = get_account(id=membership.account_id)
                begin_deletion(account=account, ordered_by=ADMIN, actor=f"user:{request.user.pk}")
                messages.success(request, "The account is deleted. Nobody can use it or see its data.")
                return redirect("admin:index")
            messages.error(request, "Nothing was deleted: the name does not match this account.")
        context = {**self.each_context(request), "title": "Delete this account"}
        return render(request, "accounts/delete_account.html", context)
