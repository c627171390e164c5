"""Verbs on profiles and on an account's own evaluators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import forget_caches, record_audit
from evalsvc.catalog.cascade import InvalidCascade, freeze_cascade
from evalsvc.catalog.inline import MAX_BYTES, is_inline_name
from evalsvc.catalog.managed import managed_names
from evalsvc.catalog.models import Evaluator, Profile, ProfileRevision, valid_name
from evalsvc.catalog.resolve import find_profile, list_family_profiles, load_own_catalog
from evalsvc.catalog.selectors import get_evaluator
from evalsvc.documents import find_unstorable
from evalsvc.outbound.guard import why_not_called
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Family, Settings
from evaluators.cascade import NAME as CASCADE
from evaluators.registry import UnknownFamily, find_evaluator, get_family
from evaluators.veto import EVALUATOR as VETO_EVALUATOR
from evaluators.veto import NAME as VETO

VETOING = "retrieval-hallucination"
IS_MANAGED = "This is the id of a managed evaluator. To switch it on or off, PATCH its `evaluation_enabled`."
MANAGED = "A managed evaluator is only switched on or off. Make an evaluator of your own on top of it, by POST."


def create_profile(
    *, account: Account, family: str, name: str, settings: Settings, description: str = "", actor: str
) -> ProfileRevision:
    """Make a profile with its first revision. Names are unique in the account, whatever the family."""
    check_profile_name(name)
    check_settings(family, settings)
    settings = _freeze(account, settings)
    try:
        with account_scope(account.pk), transaction.atomic():
            profile = Profile.objects.create(account=account, family=family, name=name)
            revision = _add_revision(profile, settings, description)
            record_audit(account=account, actor=actor, action="profile.created", target=name, family=family)
            forget_caches(account.pk)
    except IntegrityError:
        raise Invalid(FieldError("/name", f"A profile named {name!r} exists already."), code="already_exists") from None
    return revision


def revise_profile(
    *, account: Account, profile: Profile, settings: Settings, description: str | None = None, actor: str
) -> ProfileRevision:
    """Freeze new settings as the profile's next revision.

    Earlier results continue to reference the revision that produced them. Revisions share one history, that of the
    profile's name: create a new profile for a change of what is measured, and not only of what passes.
    """
    check_settings(profile.family, settings)
    settings = _freeze(account, settings)
    with account_scope(account.pk):
        locked = Profile.objects.select_for_update().get(account=account, pk=profile.pk)
        if locked.archived_at is not None:
            raise Invalid(FieldError("/public_id", "This profile is archived and takes no more revisions."))
        if description is None:
            description = locked.revisions.order_by("-number").values_list("description", flat=True)[0]
        revision = _add_revision(locked, settings, description)
        record_audit(
            account=account, actor=actor, action="profile.revised", target=locked.name, revision=revision.number
        )
        forget_caches(account.pk)
    return revision


def archive_profile(*, account: Account, profile: Profile, now: datetime, actor: str) -> list[ProfileRevision]:
    """Take a profile out of use; its revisions and the scores that point to them stay. Twice is as once."""
    with account_scope(account.pk):
        if Profile.objects.filter(account=account, pk=profile.pk, archived_at=None).update(archived_at=now):
            record_audit(account=account, actor=actor, action="profile.archived", target=profile.name)
            forget_caches(account.pk)
        return list(
            ProfileRevision.objects.filter(account=account, profile=profile)
            .select_related("profile")
            .order_by("-number")
        )


def _add_revision(profile: Profile, settings: Settings, description: str) -> ProfileRevision:
    profile.n_revisions += 1
    profile.save(update_fields=["n_revisions"])
    revision = ProfileRevision.objects.create(
        account_id=profile.account_id,
        profile=profile,
        number=profile.n_revisions,
        settings=dict(settings),
        description=description,
    )
    revision.refresh_from_db(fields=["created_at"])
    return revision


def create_evaluator(*, account: Account, evaluator: Evaluator, actor: str) -> Evaluator:
    """Make one of the account's own evaluators, under an id that no managed one has. Raises Invalid."""
    match = find_evaluator(evaluator.evaluator_id)
    if match is not None and match[1].id == evaluator.evaluator_id == evaluator.base:
        raise Invalid(FieldError("/evaluator_id", IS_MANAGED))
    return save_evaluator(account=account, evaluator=evaluator, actor=actor)


def save_evaluator(*, account: Account, evaluator: Evaluator, actor: str) -> Evaluator:
    """Write one of the account's own evaluators, or its row of a managed one, with its family. Raises Invalid."""
    errors = validate_own_evaluator(account, evaluator)
    if errors:
        raise Invalid(*errors)
    match = find_evaluator(evaluator.base)
    assert match is not None  # noqa: S101  evaluator_errors has refused an unknown base
    evaluator.account, evaluator.family = account, match[0].name
    created = evaluator._state.adding
    try:
        with account_scope(account.pk), transaction.atomic():
            evaluator.save()
            action = "evaluator.created" if created else "evaluator.changed"
            record_audit(account=account, actor=actor, action=action, target=evaluator.evaluator_id)
            forget_caches(account.pk)
    except IntegrityError:
        raise Invalid(FieldError("/evaluator_id", f"{evaluator.evaluator_id!r} exists already.")) from None
    return evaluator


def switch_evaluator(*, account: Account, evaluator: Evaluator, is_enabled: bool, actor: str) -> Evaluator:
    """Switch a managed evaluator, or one of the account's own, on or off for this account.

    A managed one is switched by a row of the account with the same id, so its history goes on where it stopped.
    """
    with account_scope(account.pk):
        row = _lock_row(account, evaluator.evaluator_id)
        if row is None:
            row = Evaluator(evaluator_id=evaluator.evaluator_id, base=evaluator.base, name=evaluator.name)
            row.description, row.deprecated = evaluator.description, evaluator.deprecated
        row.is_enabled = is_enabled
        return save_evaluator(account=account, evaluator=row, actor=actor)


def change_evaluator(*, account: Account, id: str, changes: Mapping[str, Any], actor: str) -> Evaluator:
    """Set columns of one of the account's own evaluators, or switch a managed one.

    Raises NotFound for an id that the account does not have, and Invalid.
    """
    with account_scope(account.pk):
        evaluator = _lock_row(account, id) or get_evaluator(account=account, id=id)
        if evaluator.evaluator_id != evaluator.base:
            for column, value in changes.items():
                setattr(evaluator, column, value)
            return save_evaluator(account=account, evaluator=evaluator, actor=actor)
    if others := [column for column in changes if column != "is_enabled"]:
        raise Invalid(*(FieldError(f"/{column}", MANAGED) for column in others))
    is_enabled = changes.get("is_enabled", evaluator.is_enabled)
    return switch_evaluator(account=account, evaluator=evaluator, is_enabled=is_enabled, actor=actor)


def _lock_row(account: Account, id: str) -> Evaluator | None:
    """Return the account's row of this id as it is now, which no other change reads until the transaction ends."""
    return Evaluator.objects.select_for_update().filter(account=account, evaluator_id=id).first()


def validate_own_evaluator(account: Account, evaluator: Evaluator) -> list[FieldError]:
    """Return the errors that prevent an own evaluator from being saved."""
    errors = [*_validate_names(evaluator)]
    match = find_evaluator(evaluator.base)
    if match is None or match[1].id != evaluator.base:
        meant = f" {match[1].id!r} has this alias." if match else ""
        errors.append(FieldError("/base", f"No managed evaluator has the id {evaluator.base!r}.{meant}"))
    # Switching a managed evaluator off is a row of the same id, so that one collision is meant.
    if find_evaluator(evaluator.evaluator_id) is not None and evaluator.evaluator_id != evaluator.base:
        errors.append(FieldError("/evaluator_id", f"{evaluator.evaluator_id!r} is the name of a managed evaluator."))
    for name in evaluator.aliases:
        # An alias may be pointed at another evaluator; an id never changes its meaning.
        if (managed := find_evaluator(name)) is not None and managed[1].id == name:
            errors.append(FieldError("/aliases", f"{name!r} is the id of a managed evaluator."))
    errors += _validate_default_profile(account, evaluator)
    with account_scope(account.pk):
        others = Evaluator.objects.filter(account=account).exclude(pk=evaluator.pk)
        used_names = {name for other in others for name in (other.evaluator_id, *other.aliases)}
        current = Evaluator.objects.filter(account=account, pk=evaluator.pk).first()
    if current is not None and (current.evaluator_id, current.base) != (evaluator.evaluator_id, evaluator.base):
        # Searches go by it that an evaluator's scores are all of one family.
        errors.append(FieldError("/base", "Scores know an evaluator by its id and base: make another one instead."))
    if evaluator.evaluator_id in used_names:
        errors.append(FieldError("/evaluator_id", f"{evaluator.evaluator_id!r} exists already."))
    for name in used_names.intersection(evaluator.aliases):
        errors.append(FieldError("/aliases", f"{name!r} is the name of another evaluator of this account."))
    return errors


def _validate_names(evaluator: Evaluator) -> Iterator[FieldError]:
    names = [("/evaluator_id", evaluator.evaluator_id)]
    names += [(f"/aliases/{place}", alias) for place, alias in enumerate(evaluator.aliases)]
    for pointer, name in names:
        try:
            valid_name(name)
        except ValidationError as exc:
            yield FieldError(pointer, exc.messages[0])


def _validate_default_profile(account: Account, evaluator: Evaluator) -> list[FieldError]:
    """Refuse a default profile of another family.

    An alias of contradictions may be pointed at a model only if its profile says whether they are a veto.
    """
    match = find_evaluator(evaluator.base)
    if match is None:
        return []
    own = load_own_catalog(account.pk, None)
    state = find_profile(account.pk, own, evaluator.default_profile) if evaluator.default_profile else None
    is_unknown = evaluator.default_profile and (state is None or state.family != match[0].name)
    if is_unknown and not _has_default_profile(account, evaluator):
        names = ", ".join(list_family_profiles(own, match[0])) or "none"
        detail = f"Family {match[0].name} has no profile {evaluator.default_profile!r}; there is: {names}."
        return [FieldError("/default_profile", detail)]
    pointed = [name for name in evaluator.aliases if (managed := find_evaluator(name)) and managed[0].name == VETOING]
    if not pointed or match[1].id == VETO_EVALUATOR or (state is not None and VETO in state.settings):
        return []
    detail = (
        f"With the alias {pointed[0]!r} it needs a profile that sets `veto`: whether contradictions fail an output."
    )
    return [FieldError("/default_profile", detail)]


def _has_default_profile(account: Account, evaluator: Evaluator) -> bool:
    """Return whether the stored evaluator has this default profile, which may have been archived since."""
    with account_scope(account.pk):
        rows = Evaluator.objects.filter(account=account, pk=evaluator.pk, default_profile=evaluator.default_profile)
        return rows.exists()


def check_profile_name(name: str) -> None:
    """Refuse a name that the wire could not tell from a managed one or from a revision."""
    try:
        valid_name(name)
    except ValidationError as exc:
        raise Invalid(FieldError("/name", exc.messages[0])) from None
    if is_inline_name(name):
        raise Invalid(FieldError("/name", "Names like this stand for settings that are written into requests."))
    if name in managed_names():
        raise Invalid(FieldError("/name", f"{name!r} is the name of a managed profile."), code="already_exists")


def check_settings(family_name: str, settings: Any) -> None:
    """Refuse settings that the family cannot run, by pointer."""
    try:
        family = get_family(family_name)
    except UnknownFamily:
        raise Invalid(FieldError("/evaluator_family", f"No evaluator family is named {family_name!r}.")) from None
    if not family.accepts_own_profiles:
        raise Invalid(FieldError("/evaluator_family", f"Family {family_name!r} takes no profiles of your own."))
    if errors := list(_size_errors(settings)):
        raise Invalid(*errors)
    problems = family.check_settings(settings)
    if problems:
        raise Invalid(*(FieldError(f"/config{problem.pointer}", f"{problem.detail}.") for problem in problems))
    if errors := list(_address_errors(family, settings)):
        raise Invalid(*errors)


def _freeze(account: Account, settings: Settings) -> Settings:
    """Return the settings with what their cascade asks, and refuse a cascade that cannot be run."""
    if CASCADE not in settings:
        return settings
    try:
        frozen = freeze_cascade(account.pk, settings)
    except InvalidCascade as exc:
        raise Invalid(FieldError(f"/config{exc.pointer}", exc.detail)) from None
    if errors := list(_size_errors(frozen)):
        raise Invalid(*errors)
    return frozen


def _size_errors(settings: Any) -> Iterator[FieldError]:
    """Find what could not be stored: an account's profiles are all held in memory, and not all of them come as JSON."""
    unstorable = list(islice(find_unstorable(settings), 10))
    yield from (FieldError(f"/config{error.pointer}", error.detail) for error in unstorable)
    if unstorable:
        return
    try:
        n_bytes = len(json.dumps(settings, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError):
        yield FieldError("/config", "Must be JSON, without NaN and Infinity.")
        return
    if n_bytes > MAX_BYTES:
        yield FieldError("/config", f"At most {MAX_BYTES} bytes of JSON; {n_bytes} were sent.")


def _address_errors(family: Family, settings: Settings) -> Iterator[FieldError]:
    """Find URLs that could never be called; names are looked up at each call."""
    for name in family.url_settings:
        if name in settings and (why := why_not_called(str(settings[name]))):
            yield FieldError(f"/config/{name}", why)
