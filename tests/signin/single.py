"""Somebody whom a provider of single sign-on knows, and the provider, on this machine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock
import pytest
from django.test import Client, override_settings

from evalsvc.accounts.models import Member, User
from tests.conftest import Caller
from tests.signin.conftest import SIGN_IN

START, BACK = f"{SIGN_IN}/provider", f"{SIGN_IN}/provider/back"
PUBLIC = "https://evals.example.com"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        with oidc_provider_mock.run_server_in_thread() as server:
            yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def configured(issuer: str, alice: Caller) -> Iterator[None]:
    roles = [("eval-admins", alice.account.name, "admin"), ("staff", alice.account.name, "reader")]
    known = {"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "evalsvc", "OIDC_CLIENT_SECRET": "s", "OIDC_ROLES": roles}
    with override_settings(PUBLIC_URL=PUBLIC, **known):
        yield


@dataclass
class Visitor:
    """Somebody whom the provider knows."""

    issuer: str
    claims: dict[str, Any] = field(default_factory=dict)
    sub: str = field(default_factory=lambda: uuid.uuid4().hex)
    client: Client = field(default_factory=Client)

    def __post_init__(self) -> None:
        self.email = f"{self.sub[:12]}@corp.example"

    def know(self, **claims: Any) -> None:
        """Tell the provider what it is to say."""
        said = {"email": self.email, "email_verified": True, "groups": ["staff"], **claims}
        httpx.put(f"{self.issuer}/users/{self.sub}", json=said).raise_for_status()

    def leave(self, **query: str) -> str:
        return str(self.client.get(START, query)["Location"])

    def agree(self, address: str) -> dict[str, str]:
        """Sign in at the provider; return what it sends along on the way back."""
        answer = httpx.post(address, data={"sub": self.sub})
        assert answer.status_code in (302, 303), answer.text
        assert answer.headers["Location"].startswith(f"{PUBLIC}{BACK}?")
        return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}

    def sign_in(self, **query: str) -> Any:
        return self.client.get(BACK, self.agree(self.leave(**query)))

    @property
    def user(self) -> User:
        return User.objects.get(email=self.email)

    def role_in(self, caller: Caller) -> str | None:
        rows = Member.objects.using("system").filter(account=caller.account, user__email=self.email)
        return rows.values_list("role", flat=True).first()


@pytest.fixture
def ben(issuer: str) -> Visitor:
    visitor = Visitor(issuer)
    visitor.know()
    return visitor


def assert_refused(answer: Any, why: str) -> None:
    assert answer.status_code == 403, answer.status_code
    assert why in answer.content.decode()
