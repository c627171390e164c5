"""The second evaluator of a cascade, kept with the profile: its id, the revision of its profile, and its settings."""

from __future__ import annotations

from typing import Any

from evalsvc.catalog.resolve import UnresolvedEvaluator, resolve, resolve_evaluator
from evaluators.base import Settings, effective_settings
from evaluators.cascade import NAME, Cascade, get_cascade


class InvalidCascade(Exception):
    """A cascade that cannot be run: a pointer into the settings, and a sentence."""

    def __init__(self, pointer: str, detail: str) -> None:
        super().__init__(detail)
        self.pointer = f"/{NAME}{pointer}"
        self.detail = detail


def freeze_cascade(account_id: int, settings: Settings) -> dict[str, Any]:
    """Return a profile's settings, which its family has checked, with the second evaluator's as they are now.

    Results point to a revision of the profile: whatever happens to the second profile later, they tell what was asked.
    Raises InvalidCascade.
    """
    cascade = get_cascade(settings)
    if cascade is None:
        return dict(settings)
    by_criteria = cascade.criteria is not None or "config" not in _as_dict(settings[NAME])
    frozen = _freeze_profile(account_id, cascade) if by_criteria else _freeze_config(account_id, cascade)
    return {**settings, NAME: frozen}


def _as_dict(value: Any) -> dict[str, Any]:
    return dict(value)


def _freeze_profile(account_id: int, cascade: Cascade) -> dict[str, Any]:
    try:
        run = resolve(account_id=account_id, epoch=None, evaluator=cascade.evaluator, profile=cascade.criteria)
    except UnresolvedEvaluator as exc:
        pointer = "/criteria" if exc.code in ("unknown_profile", "profile_required") else "/evaluator"
        raise InvalidCascade(pointer, exc.message) from None
    _require_verdict(has_verdict=run.has_verdict, has_cascade=run.has_cascade)
    name = f"{run.profile.name}:{run.profile.revision}"
    return {"evaluator": run.spec.id, "criteria": name, "config": dict(run.profile.settings)}


def _freeze_config(account_id: int, cascade: Cascade) -> dict[str, Any]:
    try:
        _, family, spec, _, _ = resolve_evaluator(account_id, None, cascade.evaluator)
    except UnresolvedEvaluator as exc:
        raise InvalidCascade("/evaluator", exc.message) from None
    if not family.accepts_own_profiles:
        raise InvalidCascade("/config", f"Family {family.name!r} takes no settings of your own.")
    if problems := family.check_settings(cascade.settings):
        raise InvalidCascade(f"/config{problems[0].pointer}", f"{problems[0].detail}.")
    has_verdict = family.has_verdict(effective_settings(spec, cascade.settings))
    _require_verdict(has_verdict=has_verdict, has_cascade=NAME in cascade.settings)
    return {"evaluator": spec.id, "config": dict(cascade.settings)}


def _require_verdict(*, has_verdict: bool, has_cascade: bool) -> None:
    if not has_verdict:
        raise InvalidCascade("", "The scores of this evaluator neither pass nor fail with these settings.")
    if has_cascade:
        raise InvalidCascade("", "An evaluator that is asked cannot have a cascade itself.")
