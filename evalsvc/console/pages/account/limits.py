"""/console/limits: limits with their usage, retention periods, refusal of calls that cannot run, and deletion."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from evalsvc.accounts import services
from evalsvc.accounts.models import Account
from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.pages.account.uses import limit_uses, list_spends, spends_table
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.words import number_text

KEPT = (Column("What", kind="wide"), Column("Kept for"), Column("By whose rule"))
REFUSALS = (("", "answers null, with the reason"), ("refused", "is refused (422)"))


@require_safe
@console_page()
def limits_page(request: PageRequest) -> HttpResponse:
    """Show the limits with their usage, the size limits and the retention periods."""
    account = request.visitor.account
    refusal = "refused" if account.refuse_unrunnable else ""
    context = {
        "account": account,
        "limits": limit_uses(account),
        "spends": spends_table(list_spends(account, request.visitor.now)),
        "sizes": _sizes(),
        "kept": PageTable("Data retention", KEPT, _build_retention_rows(account)),
        "refusal": FormField(
            "refusal", "Requests that name an evaluator or profile that cannot run", "select", refusal, REFUSALS
        ),
        "limits_admin": reverse("admin:accounts_account_change", args=[account.pk]),
        "call": ApiCall("GET", "/v1/account"),
    }
    return render(request, "console/account/limits.html", context)


def _sizes() -> list[tuple[str, str]]:
    return [
        ("Body of a request", _bytes(settings.MAX_BODY_BYTES)),
        ("File of a dataset", _bytes(settings.MAX_UPLOAD_BYTES)),
        ("Examples in a version of a dataset", number_text(settings.MAX_EXAMPLES)),
        ("Spans or logs in a call, unpacked", _bytes(settings.TELEMETRY_MAX_BYTES)),
        ("Response timeout", f"{settings.MAX_WAIT_SECONDS} s"),
    ]


def _bytes(n: int) -> str:
    return f"{number_text(n / 2**20)} MiB" if n >= 2**20 else f"{number_text(n)} bytes"


def _build_retention_rows(account: Account) -> Sequence[TableRow]:
    account_rule, of_service = "the account's own", "the service's"
    ruled = (
        ("Texts and evaluations, with their tags", account.retention_days, settings.RETENTION_DAYS),
        ("Scores of histories", account.retention_history_days, settings.RETENTION_HISTORY_DAYS),
    )
    rows = [
        TableRow((what, days_text(default if days is None else days), of_service if days is None else account_rule))
        for what, days, default in ruled
    ]
    others = (
        ("Spans and logs", days_text(settings.RETENTION_TELEMETRY_DAYS)),
        ("Events and their deliveries", days_text(settings.EVENTS_RETENTION_DAYS)),
        ("What capture does not keep", f"{number_text(settings.RETENTION_UNCAPTURED_SECONDS / 3600)} h"),
    )
    return [
        *rows,
        *(TableRow((what, period, of_service)) for what, period in others),
        TableRow(("Datasets, experiments, labels", "for ever", "until deleted")),
        TableRow(("The audit trail", "for ever", "goes with the account")),
    ]


def days_text(days: int) -> str:
    """Return a retention period in words."""
    return "for ever" if days == 0 else "1 day" if days == 1 else f"{number_text(days)} days"


@require_POST
@console_page(role=ADMIN, write=ADMIN)
def refusal_page(request: PageRequest) -> HttpResponse:
    """Choose what calls get that name what cannot run."""
    visitor = request.visitor
    is_refused = request.POST.get("refusal") == "refused"
    services.change_refusal(account=visitor.account, refuse_unrunnable=is_refused, actor=visitor.actor)
    messages.success(request, f"From now on such a request {dict(REFUSALS)['refused' if is_refused else '']}.")
    return redirect(page_address("console_limits"))


@require_POST
@console_page(role=ADMIN, write=ADMIN)
def deletion_page(request: PageRequest) -> HttpResponse:
    """End the account for good, once its name was typed."""
    visitor = request.visitor
    if not is_confirmed(request, visitor.account.name):
        messages.error(request, "Nothing was deleted: the name does not match this account.")
        return redirect(page_address("console_limits"))
    by = services.OPERATOR if visitor.is_operator else services.ADMIN
    services.begin_deletion(account=visitor.account, ordered_by=by, actor=visitor.actor)
    messages.success(request, "The account is deleted. Nobody can use it or see its data.")
    return redirect("console_accounts")
