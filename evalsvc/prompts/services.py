"""Verbs on prompts: revise, describe, label, delete."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.projects.selectors import get_project
from evalsvc.projects.services import lock_project, no_such_project
from evalsvc.prompts.evidence import LabelEvidence, evidence_from
from evalsvc.prompts.models import MAX_NAME, Prompt, PromptLabel, PromptRevision
from evalsvc.prompts.selectors import get_prompt, get_prompt_revision
from evalsvc.rest.bodies.names import clean_name, list_spellings
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.tenancy.scope import account_scope, current_role

MAX_PROMPTS = 10_000
MAX_LABELS = 100
BAD_NAME = f"A name has 1 to {MAX_NAME} characters, and not only blanks."


@dataclass(frozen=True, slots=True)
class PromptPlace:
    """The prompt of a new revision: by id, else by name in a project.

    The project's name takes precedence over its id.
    """

    prompt_id: uuid.UUID | None = None
    name: str | None = None
    project_id: uuid.UUID | None = None
    project_name: str | None = None


@dataclass(frozen=True, slots=True)
class PromptText:
    """Content of a revision."""

    body: str
    metadata: Any = None


def normalized_sha256(body: str) -> str:
    """Return the digest of a text without the blanks at its ends, by which clients know that they have it already."""
    return hashlib.sha256(body.strip().encode()).hexdigest()


def add_prompt_revision(
    *,
    account: Account,
    place: PromptPlace,
    text: PromptText,
    description: str | None = None,
    only_new: bool = False,
    actor: str,
) -> PromptRevision:
    """Add a text as the next revision of a prompt, creating the prompt if its name is new.

    `description` applies to a new prompt only. Raises Invalid for an invalid place, and with `only_new`
    `already_exists` for a name that is taken.
    """
    with account_scope(account.pk):
        prompt = _find_or_create_prompt(account, place, description, only_new=only_new, actor=actor)
        prompt.n_revisions += 1
        Prompt.objects.filter(account=account, pk=prompt.pk).update(n_revisions=prompt.n_revisions, updated_at=Now())
        row = PromptRevision.objects.create(
            account=account,
            prompt=prompt,
            number=prompt.n_revisions,
            body=text.body,
            body_sha256=normalized_sha256(text.body),
            metadata=text.metadata,
        )
        record_audit(account=account, actor=actor, action="prompt.revised", target=prompt.name, revision=row.number)
        return get_prompt_revision(account=account, id=row.pk)


def describe_prompt(
    *, account: Account, prompt: Prompt, name: str | None, description: str | None, actor: str
) -> Prompt:
    """Give a prompt another name or description; None leaves either. Raises `already_exists` for a name taken."""
    with account_scope(account.pk):
        row = get_prompt(account=account, id=prompt.pk, lock=True)
        row.name = row.name if name in (None, row.name) else clean_name(_validate_name(name, "/name"), "/name")
        row.description = row.description if description is None else description
        row.updated_at = Now()
        try:
            with transaction.atomic(using=current_role()):
                row.save(update_fields=["name", "description", "updated_at"])
        except IntegrityError:
            raise _build_name_conflict("/name", row.name) from None
        record_audit(account=account, actor=actor, action="prompt.changed", target=row.name)
        return get_prompt(account=account, id=row.pk)


def set_prompt_labels(*, account: Account, revision: PromptRevision, labels: Collection[str], actor: str) -> None:
    """Put labels on a revision; those that another revision of the prompt had move here, and what they rest on ends."""
    with account_scope(account.pk):
        existing = _lock_labels(account, revision, labels, "/labels")
        labels_to_move = set(labels) - {name for name, row in existing.items() if row.revision_id == revision.pk}
        _save_labels(account, revision, {name: None for name in labels_to_move})
        _audit_labels(account, revision, "prompt.labelled", labels, actor)


def set_label_with_evidence(
    *, account: Account, revision: PromptRevision, label: str, evidence: LabelEvidence, actor: str
) -> LabelEvidence:
    """Put one label on a revision with its evidence; return the evidence as stored.

    Repeating it changes nothing: the first author is retained. Requires the account's scope.
    """
    existing = _lock_labels(account, revision, [label], "/label").get(label)
    if existing is not None and existing.revision_id == revision.pk and existing.evidence is not None:
        current = evidence_from(existing.evidence)
        if current.is_same_evidence(evidence):
            return current
    _save_labels(account, revision, {label: evidence})
    _audit_labels(account, revision, "prompt.labelled", [label], actor, experiment=evidence.experiment_id)
    return evidence


def _lock_labels(
    account: Account, revision: PromptRevision, labels: Collection[str], pointer: str
) -> dict[str, PromptLabel]:
    # The lock makes the limit exact, and serializes concurrent calls that set the same labels.
    prompt = get_prompt(account=account, id=revision.prompt_id, lock=True)
    existing = {row.name: row for row in PromptLabel.objects.filter(account=account, prompt=prompt)}
    if len(existing.keys() | set(labels)) > MAX_LABELS:
        raise Invalid(FieldError(pointer, f"A prompt has at most {MAX_LABELS} labels."))
    return existing


def _save_labels(account: Account, revision: PromptRevision, labels: Mapping[str, LabelEvidence | None]) -> None:
    PromptLabel.objects.bulk_create(
        [
            PromptLabel(
                account=account,
                prompt_id=revision.prompt_id,
                revision=revision,
                name=name,
                evidence=None if (rests_on := labels[name]) is None else msgspec.to_builtins(rests_on),
            )
            for name in sorted(labels)
        ],
        update_conflicts=True,
        unique_fields=["account", "prompt", "name"],
        update_fields=["revision", "evidence"],
    )


def remove_prompt_labels(*, account: Account, revision: PromptRevision, labels: Collection[str], actor: str) -> None:
    """Take labels off a revision; those that it does not have are ignored."""
    with account_scope(account.pk):
        PromptLabel.objects.filter(account=account, revision=revision, name__in=labels).delete()
        _audit_labels(account, revision, "prompt.unlabelled", labels, actor)


def delete_prompts(*, account: Account, id: uuid.UUID | None, project_id: uuid.UUID | None, actor: str) -> None:
    """Delete a prompt, or all of a project, with their revisions. Raises `filter_required` for neither."""
    if id is None and project_id is None:
        raise Problem("Send `prompt_id`, or `project_id` for all prompts of a project.", code="filter_required")
    conditions: dict[str, uuid.UUID] = {}
    with account_scope(account.pk):
        if project_id is not None:
            conditions["project_id"] = get_project(account=account, id=project_id).pk
        if id is not None:
            conditions["pk"] = id
        rows = Prompt.objects.filter(account=account, **conditions)
        names = list(rows.values_list("name", flat=True))
        if id is not None and not names:
            raise NotFound
        rows.delete()
        for name in names:
            record_audit(account=account, actor=actor, action="prompt.deleted", target=name)


def _find_or_create_prompt(
    account: Account, place: PromptPlace, description: str | None, *, only_new: bool, actor: str
) -> Prompt:
    if place.prompt_id is not None:
        try:
            return get_prompt(account=account, id=place.prompt_id, lock=True)
        except NotFound:
            raise Invalid(FieldError("/prompt_id", "No such prompt.")) from None
    name = _validate_name(place.name, "/prompt_name")
    if place.project_id is None and not place.project_name:
        raise Invalid(FieldError("/project_name", "Send `project_id` or `project_name`, or a `prompt_id`."))
    by_name = place.project_name or ""
    project_id = lock_project(account.pk, id=None if by_name else place.project_id, name=by_name)
    if project_id is None:
        raise no_such_project()
    return _get_or_create_prompt(account, project_id, name, description, only_new=only_new, actor=actor)


def _get_or_create_prompt(
    account: Account, project_id: uuid.UUID, name: str, description: str | None, *, only_new: bool, actor: str
) -> Prompt:
    rows = Prompt.objects.filter(account=account)
    existing_names = set(
        rows.filter(project_id=project_id, name__in=list_spellings(name)).values_list("name", flat=True)
    )
    if not existing_names and rows.count() >= MAX_PROMPTS:
        raise Invalid(FieldError("", f"An account has at most {MAX_PROMPTS} prompts."))
    # A prompt that an earlier release stored in another spelling is still the same prompt.
    name = name if existing_names == {name} else clean_name(name, "/prompt_name")
    prompt, created = Prompt.objects.get_or_create(
        account=account, project_id=project_id, name=name, defaults={"description": description}
    )
    if only_new and not created:
        raise _build_name_conflict("/prompt_name", name)
    if created:
        record_audit(account=account, actor=actor, action="prompt.created", target=name)
    return get_prompt(account=account, id=prompt.pk, lock=True)


def _validate_name(name: str | None, pointer: str) -> str:
    if name is None or not name.strip() or len(name) > MAX_NAME:
        raise Invalid(FieldError(pointer, BAD_NAME))
    return name


def _build_name_conflict(pointer: str, name: str) -> Invalid:
    return Invalid(FieldError(pointer, f"The project has a prompt named {name!r} already."), code="already_exists")


def _audit_labels(
    account: Account,
    revision: PromptRevision,
    action: str,
    labels: Collection[str],
    actor: str,
    experiment: str | None = None,
) -> None:
    target = f"{revision.prompt.name}:{revision.number}"
    names = ", ".join(sorted(labels))[:500]
    record_audit(account=account, actor=actor, action=action, target=target, labels=names, experiment=experiment)
