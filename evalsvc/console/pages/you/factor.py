"""Set the second factor up, make new recovery codes, switch it off."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.accounts.membership import get_memberships, has_provider_vouched
from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in import factors
from evalsvc.accounts.signing_in.library import FactorAdapter
from evalsvc.accounts.signing_in.rule import switch_own_factor_off
from evalsvc.accounts.signing_in.sessions import end_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.console.access import PageError
from evalsvc.console.pages.you.personal import get_person, personal_page, proof_label, require_proof
from evalsvc.console.pages.you.qr_code import qr_code
from evalsvc.console.parts.addresses import safe_next
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret, decrypt, encrypt
from evalsvc.rest.problems import Invalid

PENDING = "factor_secret"
"""Where the session keeps the secret that is being set up, encrypted as it will be stored."""
NO_KEYS = "The operator has not set ENCRYPTION_KEYS, which is required to store secrets."


@require_http_methods(["GET", "POST"])
@personal_page
def set_up_factor(request: HttpRequest) -> HttpResponse:
    """Show a secret as a picture and take the first code of it."""
    user = get_person(request)
    if factors.has_factor(user):
        return redirect(safe_next(request, reverse("console_you")))
    secret = _pending_secret(request)
    if request.method != "POST":
        return _set_up_form(request, user, secret)
    require_proof(request)
    codes = factors.switch_on(user=user, secret=secret, code=request.POST.get("code", ""))
    if codes is None:
        return _set_up_form(request, user, secret, "Wrong code. Check that your phone's clock is right.")
    del request.session[PENDING]
    n = end_sessions(user=user, but=request.session.session_key)
    record_of_person(user, "factor.switched_on", n_sessions=n)
    return _show_codes(request, codes, "Two-factor authentication is on")


@require_POST
@personal_page
def renew_recovery_codes(request: HttpRequest) -> HttpResponse:
    """Show new recovery codes; the old ones are refused from now on."""
    user = get_person(request)
    require_proof(request)
    codes = factors.renew_codes(user=user)
    if codes is None:
        return redirect("console_you")
    record_of_person(user, "factor.codes_renewed")
    return _show_codes(request, codes, "New recovery codes")


@require_POST
@personal_page
def switch_factor_off(request: HttpRequest) -> HttpResponse:
    """Switch off the second factor."""
    user = get_person(request)
    require_proof(request)
    try:
        is_off = switch_own_factor_off(user=user, is_vouched=has_provider_vouched(request))
    except Invalid as error:
        messages.error(request, error.errors[0].detail)
        return redirect("console_you")
    if is_off:
        record_of_person(user, "factor.switched_off")
        messages.success(request, "Two-factor authentication is off. A password is enough to sign in as you.")
    return redirect("console_you")


def _pending_secret(request: HttpRequest) -> str:
    try:
        if pending := request.session.get(PENDING):
            try:
                return decrypt(pending.encode()).decode()
            except UnreadableSecret:
                pass
        secret = factors.new_secret()
        request.session[PENDING] = encrypt(secret.encode()).decode()
    except NoEncryptionKeys:
        raise PageError(503, "No second factor required", NO_KEYS) from None
    return secret


def _set_up_form(request: HttpRequest, user: User, secret: str, error: str = "") -> HttpResponse:
    picture: SafeString = qr_code(FactorAdapter().build_totp_url(user, secret), f"QR code for {user.email}")
    parts = [secret[at : at + 4] for at in range(0, len(secret), 4)]
    context: dict[str, object] = {"picture": picture, "secret": " ".join(parts), "error": error}
    context |= {"person": user, "proof": proof_label(user), "then": safe_next(request, reverse("console_you"))}
    context["asking"] = [membership for membership in get_memberships(request) if membership.lacks_factor]
    return render(request, "console/you/factor.html", context)


def _show_codes(request: HttpRequest, codes: list[str], title: str) -> HttpResponse:
    codes_text = "\n".join(f"{code[:5]}-{code[5:]}" for code in codes)
    context = {"codes": codes_text, "title": title, "then": safe_next(request, reverse("console_you"))}
    return render(request, "console/you/codes.html", context)
