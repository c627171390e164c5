"""Inline settings of a request: stored as a profile of the account, so that the same settings share one history."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import orjson
from django.db import IntegrityError, transaction

from evalsvc.accounts.services import forget_caches
from evalsvc.catalog.cascade import InvalidCascade, freeze_cascade
from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.catalog.resolve import ProfileState, ResolvedEvaluator, UnresolvedEvaluator, resolve_evaluator
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Family
from evaluators.cascade import NAME as CASCADE

PREFIX = "inline-"
_inline_name = re.compile(PREFIX + "[0-9a-f]{24}")
MAX_BYTES = 64 * 1024
MAX_KEPT = 1000


def resolve_inline(
    *, account_id: int, epoch: str | None, evaluator: str, settings: dict[str, Any]
) -> ResolvedEvaluator:
    """Find the evaluator, and the profile with these settings; create the profile for new settings.

    Raises UnresolvedEvaluator, with the reason, if the evaluator cannot run these settings.
    """
    evaluator_id, family, spec, _, catalog = resolve_evaluator(account_id, epoch, evaluator)
    _check(family, settings)
    if CASCADE in settings:
        settings = _freeze(account_id, settings)
    name = _build_name(family, settings)
    state = catalog.profiles.get(name)
    # The catalog contains the newest revision, and the profile might have been revised since its name was made.
    if state is None or state.settings != settings:
        state = _find_or_create(account_id, family, name, settings)
    return ResolvedEvaluator(evaluator_id, family, spec, state)


def is_inline_name(name: str) -> bool:
    """Return whether this service made the name, for settings written into a request."""
    return _inline_name.fullmatch(name) is not None


def _check(family: Family, settings: dict[str, Any]) -> None:
    if not family.accepts_own_profiles:
        raise UnresolvedEvaluator("invalid_settings", f"Family {family.name!r} takes no settings of your own.")
    if len(orjson.dumps(settings)) > MAX_BYTES:
        raise UnresolvedEvaluator("invalid_settings", f"`profile_inline` is longer than {MAX_BYTES} bytes.")
    if problems := family.check_settings(settings):
        message = "; ".join(f"{problem.pointer or 'the object'} {problem.detail}" for problem in problems[:5])
        raise UnresolvedEvaluator("invalid_settings", f"`profile_inline` cannot be run: {message}.")


def _freeze(account_id: int, settings: dict[str, Any]) -> dict[str, Any]:
    try:
        return freeze_cascade(account_id, settings)
    except InvalidCascade as exc:
        message = f"`profile_inline` cannot be run: {exc.pointer} {exc.detail}"
        raise UnresolvedEvaluator("invalid_settings", message) from None


def _build_name(family: Family, settings: dict[str, Any]) -> str:
    text = orjson.dumps([family.name, settings], option=orjson.OPT_SORT_KEYS)
    return PREFIX + hashlib.blake2b(text, digest_size=12).hexdigest()


def _find_or_create(account_id: int, family: Family, name: str, settings: dict[str, Any]) -> ProfileState:
    with account_scope(account_id):
        profile = Profile.objects.filter(account_id=account_id, name=name).first()
        if profile is None:
            profile = _create(account_id, family, name, settings)
        # The name is a digest of the first revision's settings, so later revisions do not count here.
        return ProfileState(profile.id, name, family.name, 1, settings)


def _create(account_id: int, family: Family, name: str, settings: dict[str, Any]) -> Profile:
    # Limited, because every process that serves the account caches all of its profiles in memory.
    if Profile.objects.filter(account_id=account_id, name__startswith=PREFIX).count() >= MAX_KEPT:
        detail = (
            f"The account keeps {MAX_KEPT} sets of such settings already. Make a profile, and name it in `criteria`."
        )
        raise UnresolvedEvaluator("invalid_settings", detail)
    try:
        with transaction.atomic():
            profile = Profile.objects.create(account_id=account_id, family=family.name, name=name, n_revisions=1)
            ProfileRevision.objects.create(account_id=account_id, profile=profile, number=1, settings=settings)
            forget_caches(account_id)
            return profile
    except IntegrityError:
        # Another request with the same settings was first.
        return Profile.objects.get(account_id=account_id, name=name)
