"""From the names in a request to what runs. On the hot path, so an account's own rows are cached under its epoch."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings as django_settings

from evalsvc.catalog.managed import OLD_PREFIX, PREFIX, default_profile_name, managed_aliases, managed_profiles
from evalsvc.catalog.models import Evaluator, Profile, ProfileRevision
from evalsvc.infra.cache import AccountCache
from evalsvc.rest.basics.nearest import suggestion
from evalsvc.tenancy.rows import KeyLocks
from evalsvc.tenancy.scope import account_scope
from evaluators.base import EvaluatorSpec, Family, Settings, effective_settings
from evaluators.cascade import NAME as CASCADE
from evaluators.families.metrics import Metrics, find_metric_profile, metric_names
from evaluators.registry import UnknownFamily, evaluator_names, find_evaluator, get_family

NO_THRESHOLD_REMEDY = "Set `pass_threshold` in a profile of your own, or use the score."
_with_revision = re.compile(r"(?P<name>.+):(?P<number>[0-9]{1,9})")


class UnresolvedEvaluator(Exception):
    """One evaluator of a request cannot run; the others are not affected."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class ProfileState:
    """A profile revision as evaluation needs it."""

    id: uuid.UUID
    name: str
    family: str
    revision: int
    settings: Settings


@dataclass(frozen=True, slots=True)
class ResolvedEvaluator:
    """What one entry of `evaluators` runs."""

    evaluator_id: str
    family: Family
    spec: EvaluatorSpec
    profile: ProfileState

    @property
    def settings(self) -> Settings:
        """Return the profile's settings over what the evaluator itself fixes."""
        return effective_settings(self.spec, self.profile.settings)

    @property
    def has_cascade(self) -> bool:
        """Return whether its profile asks another evaluator where this one cannot decide."""
        return CASCADE in self.profile.settings

    @property
    def has_verdict(self) -> bool:
        """Return whether its scores pass or fail."""
        return self.family.has_verdict(self.settings)


@dataclass(slots=True)
class OwnCatalog:
    """An account's own evaluators and profiles."""

    evaluators: dict[str, Evaluator] = field(default_factory=dict)
    profiles: dict[str, ProfileState] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    revised: dict[str, datetime] = field(default_factory=dict)
    """When profiles were revised last, by name; archived ones too."""

    def find_families(self, evaluators: Collection[str]) -> dict[str, Family]:
        """Return the family of each of these ids and aliases, of disabled ones too; unknown ones are left out."""
        families = {}
        for name in evaluators:
            with suppress(UnresolvedEvaluator):
                families[name] = _find_evaluator(self, name)[1]
        return families


MAX_CACHED_ACCOUNTS = 1000
_own: AccountCache[int, OwnCatalog] = AccountCache(
    MAX_CACHED_ACCOUNTS, seconds=lambda: django_settings.API_KEY_CACHE_SECONDS
)
_locks = KeyLocks()


def resolve(*, account_id: int, epoch: str | None, evaluator: str, profile: str | None) -> ResolvedEvaluator:
    """Find the evaluator by id or alias and the profile by any of its spellings; raise Unresolved with the reason.

    Both may come as one word, `pii/patronus:detect-pii`, as the client writes them; so may a metric: `mrr`, `ndcg@10`.
    """
    if "/" in evaluator and profile is None:
        evaluator, _, profile = evaluator.partition("/")
    try:
        evaluator_id, family, spec, default, catalog = resolve_evaluator(account_id, epoch, evaluator)
    except UnresolvedEvaluator as exc:
        is_unknown = exc.code == "unknown_evaluator" and profile is None
        profile = find_metric_profile(evaluator) if is_unknown else None
        if profile is None:
            raise
        evaluator_id, family, spec, default, catalog = resolve_evaluator(account_id, epoch, Metrics.name)
    name = profile or default
    if name is None:
        examples = ", ".join(PREFIX + p.name for p in family.managed_profiles)
        hint = f"for example: {examples}" if examples else "make one with POST /v1/evaluator-criteria"
        raise UnresolvedEvaluator("profile_required", f"Evaluator {evaluator!r} needs a profile in `criteria`; {hint}.")
    state = find_profile(account_id, catalog, name)
    if state is not None and state.family != family.name and (managed := _find_managed(catalog, evaluator, state)):
        return managed
    if state is None or state.family != family.name:
        raise UnresolvedEvaluator(
            "unknown_profile",
            f"Family {family.name!r} has no profile {name!r}.{_suggest_profiles(catalog, family, name)}",
        )
    return ResolvedEvaluator(evaluator_id, family, spec, state)


def _find_managed(own: OwnCatalog, name: str, state: ProfileState) -> ResolvedEvaluator | None:
    """Return the managed evaluator of an alias that the account has pointed elsewhere, for a profile of its family."""
    match = find_evaluator(name)
    if match is None or match[0].name != state.family or match[1].id in own.disabled:
        return None
    return ResolvedEvaluator(match[1].id, *match, state)


def resolve_evaluator(
    account_id: int, epoch: str | None, evaluator: str
) -> tuple[str, Family, EvaluatorSpec, str | None, OwnCatalog]:
    """Find what runs under an id or alias, the name of its default profile, and the catalogue it was found in."""
    catalog = load_own_catalog(account_id, epoch)
    evaluator_id, family, spec, default = _find_evaluator(catalog, evaluator)
    if evaluator_id in catalog.disabled:
        raise UnresolvedEvaluator("evaluator_disabled", f"Evaluator {evaluator!r} is switched off in this account.")
    return evaluator_id, family, spec, default, catalog


def evaluator_meant(account_id: int, name: str) -> tuple[str, str]:
    """Return the id that a name means now and nothing, or the name itself and ` Did you mean …?` where none is near."""
    catalog = load_own_catalog(account_id, None)
    try:
        return _find_evaluator(catalog, name)[0], ""
    except UnresolvedEvaluator:
        return name, suggestion(name, {*evaluator_names(), *catalog.evaluators})


def _find_evaluator(own: OwnCatalog, ref: str) -> tuple[str, Family, EvaluatorSpec, str | None]:
    row = own.evaluators.get(ref)
    match = find_evaluator(row.base if row else ref)
    if match is None:
        hint = suggestion(ref, {*evaluator_names(), *own.evaluators, *metric_names()})
        raise UnresolvedEvaluator("unknown_evaluator", f"No evaluator has the id or alias {ref!r}.{hint}")
    family, spec = match
    row = row or own.evaluators.get(spec.id)
    default = (row.default_profile if row else None) or default_profile_name(family, spec.default_profile)
    return (row.evaluator_id if row else spec.id), family, spec, default


def _suggest_profiles(own: OwnCatalog, family: Family, name: str) -> str:
    bare = name.removeprefix(PREFIX).removeprefix(OLD_PREFIX)
    return suggestion(bare, list_family_profiles(own, family))


def list_family_profiles(own: OwnCatalog, family: Family) -> list[str]:
    """Return the names of a family's managed profiles, and of the account's own."""
    managed = [profile.name for profile in family.managed_profiles]
    return [*managed, *(state.name for state in own.profiles.values() if state.family == family.name)]


def find_profile(account_id: int, own: OwnCatalog, ref: str) -> ProfileState | None:
    """Find `name`, `name:revision`, `patronus:name`, `patronus:name:revision` or `system:name`."""
    match = _with_revision.fullmatch(ref)
    name, number = (match["name"], int(match["number"])) if match else (ref, None)
    if ":" in name:
        prefix, _, bare = name.partition(":")
        return _managed(bare, number) if f"{prefix}:" in (PREFIX, OLD_PREFIX) else None
    state = own.profiles.get(name)
    if state is None:
        return _managed(name, number)
    if number is None or number == state.revision:
        return state
    return _earlier(account_id, state, number)


def may_fail(account_id: int, profile: str) -> bool:
    """Return whether results of a profile can pass or fail; true for a name that is unknown by now."""
    state = find_profile(account_id, load_own_catalog(account_id, None), profile)
    family = find_family(state.family) if state else None
    return state is None or family is None or family.has_verdict(state.settings)


def _managed(bare: str, number: int | None) -> ProfileState | None:
    row = managed_profiles().get(managed_aliases().get(bare, bare))
    if row is None:
        return None
    revisions = row.revisions
    number = len(revisions) if number is None else number
    if not 1 <= number <= len(revisions):
        return None
    return ProfileState(row.id, row.name, row.family.name, number, revisions[number - 1])


def _earlier(account_id: int, state: ProfileState, number: int) -> ProfileState | None:
    with account_scope(account_id):
        row = ProfileRevision.objects.filter(account_id=account_id, profile_id=state.id, number=number).first()
    return ProfileState(state.id, state.name, state.family, number, row.settings) if row else None


def load_own_catalog(account_id: int, epoch: str | None) -> OwnCatalog:
    """Return the account's own rows, read again when its epoch has moved or the cache is old."""
    if (cached := _own.get(account_id, epoch)) is not None:
        return cached
    # All requests of the account notice a stale entry at once, and one reloads it. Without an epoch, results are not
    # shared.
    with _locks.turn(account_id) if epoch is not None else nullcontext():
        if (cached := _own.get(account_id, epoch)) is not None:
            return cached
        until, catalog = _own.end(), _read_own(account_id)
        _own.put(account_id, catalog, epoch, until=until)
        return catalog


def _read_own(account_id: int) -> OwnCatalog:
    catalog = OwnCatalog()
    with account_scope(account_id):
        for row in Evaluator.objects.filter(account_id=account_id).order_by("created_at"):
            if not row.is_enabled:
                catalog.disabled.add(row.evaluator_id)
            for name in (row.evaluator_id, *row.aliases):
                catalog.evaluators.setdefault(name, row)
        revisions = ProfileRevision.objects.filter(account_id=account_id)
        for revision in revisions.order_by("profile_id", "number").select_related("profile"):
            profile: Profile = revision.profile
            if revision.number > 1:
                catalog.revised[profile.name] = revision.created_at
            if profile.archived_at is not None:
                continue
            catalog.profiles[profile.name] = ProfileState(
                profile.id, profile.name, profile.family, revision.number, revision.settings
            )
    return catalog


def find_family(name: str) -> Family | None:
    """Return the family of a stored row; None if its package is not installed any more."""
    try:
        return get_family(name)
    except UnknownFamily:
        return None
