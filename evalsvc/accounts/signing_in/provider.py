"""Single sign-on by OpenID Connect: requests to the provider, and validation of its responses.

The library implements the protocol: state, PKCE, the exchange of the code. ID tokens are validated here, because the
library trusts a token that it has fetched itself without checking its signature, and does not support a nonce.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import jwt
import requests
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from evalsvc.outbound.for_requests import GuardedSession
from evalsvc.rest.basics.links import public_address

BACK = "console_sso_back"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of public keys only: with a secret for a key, whoever knows the client's could write tokens."""
CLOCKS_DIFFER_SECONDS = 60
FAILURES = (requests.RequestException, OAuth2Error, jwt.PyJWTError, KeyError, ValueError, TypeError)
"""What goes wrong when a provider cannot be reached, or answers something else than it should."""


class ProviderRefused(Exception):
    """The sign-in was refused; the message explains why to the person."""


class ProviderAdapter(DefaultSocialAccountAdapter):
    """The provider from the settings, called through the guarded session like all other servers."""

    def get_requests_session(self) -> GuardedSession:
        """Return what calls go through."""
        return GuardedSession()

    def get_provider(self, request: HttpRequest, provider: object, client_id: object = None) -> Provider:
        """Return the provider of the settings."""
        facts = {
            "server_url": settings.OIDC_ISSUER.rstrip("/"),
            "oauth_pkce_enabled": True,
            "scope": settings.OIDC_SCOPES,
        }
        app = SocialApp(
            provider="openid_connect",
            provider_id="oidc",
            name=settings.OIDC_LABEL,
            client_id=settings.OIDC_CLIENT_ID,
            secret=settings.OIDC_CLIENT_SECRET,
            settings=facts,
        )
        return Provider(request, app=app)


class Protocol(OpenIDConnectOAuth2Adapter):
    """The library's part of the protocol, with an address of ours to come back to, and a check of the ID token."""

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the callback URL: at the configured address, whatever the Host header is."""
        return public_address(reverse(BACK))

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's metadata; raise OAuth2Error if the issuer is not the configured one."""
        config: dict[str, Any] = super().openid_config
        if config["issuer"].rstrip("/") != settings.OIDC_ISSUER.rstrip("/"):
            raise OAuth2Error("another issuer")
        return config

    def claims(self, answer: dict[str, Any], *, nonce: str) -> dict[str, Any]:
        """Return the person's claims: from the ID token, supplemented from userinfo."""
        token = answer["id_token"]
        claims: dict[str, Any] = jwt.decode(
            token,
            key=self._key_of(token),
            algorithms=ALGORITHMS,
            issuer=self.openid_config["issuer"],
            audience=settings.OIDC_CLIENT_ID,
            leeway=CLOCKS_DIFFER_SECONDS,
            options={"require": ["iss", "aud", "exp", "iat", "sub"]},
        )
        if not secrets.compare_digest(str(claims.get("nonce", "")), nonce):
            raise OAuth2Error("another nonce")
        if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
            raise OAuth2Error("a token for another client")
        userinfo = self._fetch_user_info(answer["access_token"]) if "userinfo_endpoint" in self.openid_config else {}
        if userinfo and userinfo["sub"] != claims["sub"]:
            raise OAuth2Error("userinfo of somebody else")
        return {**userinfo, **claims}

    def _key_of(self, token: str) -> Any:
        with ProviderAdapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
        answer.raise_for_status()
        kid = jwt.get_unverified_header(token).get("kid")
        keys = [key for key in jwt.PyJWKSet.from_dict(answer.json()).keys if kid in (None, key.key_id)]
        if len(keys) != 1:
            raise OAuth2Error("no key of that id")
        return keys[0]


class Provider(OpenIDConnectProvider):
    """The provider, speaking so."""

    oauth2_adapter_class = Protocol


def is_configured() -> bool:
    """Return whether there is a single sign-on."""
    return bool(settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID and settings.PUBLIC_URL)


def go_to_provider(request: HttpRequest, *, then: str) -> HttpResponse:
    """Redirect to the provider, and store in the session what its response must match."""
    provider, nonce = _provider(request), secrets.token_urlsafe(24)
    try:
        response: HttpResponse = provider.redirect(
            request, "login", next_url=then, auth_params={"nonce": nonce}, nonce=nonce
        )
    except FAILURES as exc:
        raise ProviderRefused(f"{settings.OIDC_LABEL} does not answer as it should. Try again later.") from exc
    return response


def handle_callback(request: HttpRequest) -> tuple[dict[str, Any], str]:
    """Return the person's claims and the page to continue to; raises ProviderRefused."""
    provider = _provider(request)
    state = statekit.unstash_state(request, provider_id=provider.sub_id, state_id=request.GET.get("state", ""))
    if state is None:
        raise ProviderRefused("This sign-in was not begun in this browser, or it took longer than ten minutes.")
    if "code" not in request.GET:
        raise ProviderRefused(f"{settings.OIDC_LABEL} has not let you in.")
    protocol = provider.get_oauth2_adapter(request)
    try:
        client = protocol.get_client(request, provider.app)
        answer = client.get_access_token(request.GET["code"], pkce_code_verifier=state["pkce_code_verifier"])
        return protocol.claims(answer, nonce=state["nonce"]), state.get("next") or ""
    except FAILURES as exc:
        raise ProviderRefused(f"The answer of {settings.OIDC_LABEL} cannot be believed. Try again.") from exc


def vouches_for_factor(claims: Mapping[str, Any]) -> bool:
    """Return whether the provider has verified a second factor, by `amr` (RFC 8176) or `acr` and OIDC_FACTOR."""
    methods = claims.get("amr")
    values = [*(methods if isinstance(methods, list) else [methods]), claims.get("acr")]
    return any(isinstance(value, str) and value in settings.OIDC_FACTOR for value in values)


def _provider(request: HttpRequest) -> Provider:
    return ProviderAdapter(request).get_provider(request, "oidc")
