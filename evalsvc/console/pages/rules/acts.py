"""What editors do to a rule: pause, resume, delete."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.rules.bodies import RuleChange
from evalsvc.rules.selectors import get_rule
from evalsvc.rules.services import change_rule, delete_rule


@require_POST
@console_page()
def switch_rule(request: PageRequest, id: int) -> HttpResponse:
    """Pause a rule, or resume it with the spans that arrive from then on."""
    visitor, is_paused = request.visitor, request.POST.get("to") == "paused"
    change = RuleChange(state="paused" if is_paused else "active")
    rule = change_rule(account=visitor.account, id=id, epoch=None, body=change, actor=visitor.actor)
    result = "paused" if is_paused else "resumed: it scores spans from now on"
    messages.success(request, f"Rule {rule.name} {result}.")
    return redirect(page_address("console_rule", id))


@require_POST
@console_page()
def remove_rule(request: PageRequest, id: int) -> HttpResponse:
    """Delete a rule once its name is typed; its scores stay."""
    visitor = request.visitor
    rule = get_rule(account=visitor.account, id=id)
    if not check_confirmation(request, rule.name):
        return redirect(page_address("console_rule", id))
    delete_rule(account=visitor.account, id=id, actor=visitor.actor)
    messages.success(request, f"Rule {rule.name} deleted. Its scores stay.")
    return redirect(page_address("console_rules"))
