"""People of the admin pages: a reader, an editor and an admin of one account, its stranger, and the operator."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Caller, new_account

PASSWORD = "correct horse battery staple"
HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)"> \u202egnitsil \u05e9\u05dc\u05d5\u05dd {{ 7|add:7 }}'
HOSTILE_NAME = HOSTILE.replace("\u202e", "")
"""Names hold no character that nobody sees."""


@dataclass
class Person:
    """Somebody signed in, and the pages they open; every middleware is in between."""

    user: Any
    client: Any

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(f"/admin/{path}", query)

    def post(self, path: str, **fields: Any) -> Any:
        return self.client.post(f"/admin/{path}", fields)

    def change(self, model: str, pk: Any) -> Any:
        return self.get(f"{model}/{pk}/change/")


def new_user(*, is_superuser: bool = False, password: str | None = None, **fields: Any) -> Any:
    """Make a person; without a password, as hashing one takes longer than most tests."""
    from evalsvc.accounts.models import User
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    email = f"{uuid.uuid4().hex[:12]}@example.com"
    with role_scope(SYSTEM):
        return User.objects.create_user(email, password, is_staff=True, is_superuser=is_superuser, **fields)


def join(user: Any, account: Any, role: str) -> None:
    from evalsvc.accounts.models import Member
    from evalsvc.accounts.services import add_member
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        add_member(account=account, user=user, role=Member.Role(role))


def signed_in(user: Any) -> Person:
    from django.test import Client

    client = Client(raise_request_exception=True)
    client.force_login(user)
    return Person(user, client)


def member(account: Any, role: str) -> Person:
    user = new_user()
    join(user, account, role)
    return signed_in(user)


@pytest.fixture
def anonymous() -> Person:
    from django.test import Client

    return Person(None, Client())


@pytest.fixture
def nobody() -> Person:
    """Signed in, member of nothing."""
    return signed_in(new_user())


@pytest.fixture
def reader(alice: Caller) -> Person:
    return member(alice.account, "reader")


@pytest.fixture
def editor(alice: Caller) -> Person:
    return member(alice.account, "editor")


@pytest.fixture
def admin(alice: Caller) -> Person:
    return member(alice.account, "admin")


@pytest.fixture
def operator() -> Person:
    return signed_in(new_user(is_superuser=True))


@pytest.fixture
def other_account() -> Any:
    return new_account("other")


def new_profile(account: Any, name: str | None = None, **settings: Any) -> Any:
    from evalsvc.catalog.services import create_profile

    name = name or f"profile-{uuid.uuid4().hex[:10]}"
    settings = settings or {"metric": "bleu", "pass_threshold": 0.5}
    return create_profile(account=account, family="metrics", name=name, settings=settings, actor="test").profile


def new_evaluator(account: Any, name: str | None = None) -> Any:
    from evalsvc.catalog.models import Evaluator
    from evalsvc.catalog.services import save_evaluator

    name = name or f"mine-{uuid.uuid4().hex[:10]}"
    row = Evaluator(evaluator_id=name, base="exact-match-2026-11-28", name=name)
    return save_evaluator(account=account, evaluator=row, actor="test")


def new_evaluation(caller: Caller, **fields: str) -> Any:
    """Evaluate through the API with everything captured; return the stored row."""
    from evalsvc.evaluations.models import Evaluation

    body = {"app": "shop", "evaluated_model_output": "Paris", "evaluated_model_gold_answer": "Paris"} | fields
    answer = caller.evaluate("exact-match", **body)
    assert answer.status_code == 200, answer.content
    pk = answer.json()["results"][0]["evaluation_result"]["id"]
    return Evaluation.objects.using("system").select_related("request").get(pk=pk)


def key_of(caller: Caller) -> Any:
    from evalsvc.accounts.models import ApiKey

    return ApiKey.objects.using("system").get(public=caller.key[3:].split(".")[0])
