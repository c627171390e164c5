"""The exact prompts that an account's evaluators send to judges."""

from __future__ import annotations

from dataclasses import dataclass

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.judges.calls.loop import run
from evalsvc.judges.questions.usage import prompt_hash
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evaluators.gateway import Question
from evaluators.judging.shown import collect_prompts


@dataclass(frozen=True, slots=True)
class EvaluatorPrompts:
    """The prompts of an evaluator with a profile, each with its digest."""

    resolved: ResolvedEvaluator
    prompts: list[tuple[str, Question]]


def read_prompts(*, account: Account, evaluator: str, profile: str | None) -> EvaluatorPrompts:
    """Return the prompts of an evaluator with a profile, by default its own.

    Raises NotFound for an evaluator or a profile that the account does not have, and Invalid if a profile is required.
    """
    try:
        resolved = resolve(account_id=account.pk, epoch=None, evaluator=evaluator, profile=profile)
    except UnresolvedEvaluator as exc:
        if exc.code in ("unknown_evaluator", "unknown_profile"):
            raise NotFound from None
        raise Invalid(FieldError("/criteria" if exc.code == "profile_required" else "/id", exc.message)) from None
    questions = run(collect_prompts(resolved.family, resolved.settings))
    return EvaluatorPrompts(resolved, [(prompt_hash(question), question) for question in questions])
