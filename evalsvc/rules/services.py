"""Verbs on rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from django.db import IntegrityError, connections, transaction
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.evaluations.evaluate.accept import plan_evaluations
from evalsvc.evaluations.wire.inputs import tag_errors
from evalsvc.evaluations.wire.request import read_call
from evalsvc.rest.bodies.names import app_error, clean_name, normalize_app_name
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.rules.bodies import (
    OF_EVALUATIONS,
    BackfillBody,
    RuleBody,
    RuleChange,
    RuleEvaluator,
    RuleFilter,
    Sampling,
    SpanFilter,
    SpanMapping,
)
from evalsvc.rules.budget import check_budget
from evalsvc.rules.models import Rule, RuleBackfill
from evalsvc.rules.samples import MAX_TAG_VALUE, RULE_TAG, check_mapping
from evalsvc.rules.selectors import get_rule, list_backfills, list_rules
from evalsvc.tenancy.scope import current_role

MAX_RULES, MAX_BACKFILLS = 100, 10
LOGS_BACK_SECONDS = 300
"""Longer than the transaction that stores logs, whose ids are given before it commits."""
NOW = "SELECT id_at(clock_timestamp()), id_at(clock_timestamp() - %s * interval '1 second')"


def create_rule(*, account: Account, epoch: str | None, body: RuleBody, actor: str) -> Rule:
    """Create a rule for what arrives from now on. Raises Invalid with pointers. Within the account's scope."""
    if list_rules(account=account).count() >= MAX_RULES:
        raise Invalid(FieldError("", f"An account has at most {MAX_RULES} rules; delete one first."))
    rule = Rule(account=account, state=body.state, source=body.source)
    _begin_now(rule)
    check_mapping(body.mapping or SpanMapping())
    check_source(body.source, body.filter, body.sampling)
    rule.filter, rule.mapping = to_json(body.filter or RuleFilter()), to_json(body.mapping or SpanMapping())
    rule.cap_per_hour, rule.budget_per_day = body.cap_per_hour, _to_money(body.budget_per_day)
    if body.sampling is not None:
        _set_sampling(rule, body.sampling)
    _set_names(rule, body)
    rule.evaluators = check_evaluators(account, epoch, body.evaluators, has_budget=rule.budget_per_day is not None)
    _write(rule)
    record_audit(account=account, actor=actor, action="rule.created", target=rule.name)
    return rule


def change_rule(*, account: Account, id: int, epoch: str | None, body: RuleChange, actor: str) -> Rule:
    """Change a rule; what decides its scores makes a revision. Spans that are scored stay so. As above.

    A rule that is resumed goes on with the spans that arrive from then on.
    """
    rule = get_rule(account=account, id=id, lock=True)
    before, unit = _list_deciding(rule), rule.sample_by
    check_mapping(body.mapping or SpanMapping())
    check_source(rule.source, body.filter, body.sampling)
    for name, value in (("filter", body.filter), ("mapping", body.mapping)):
        if value is not None:
            setattr(rule, name, to_json(value))
    if body.sampling is not None:
        _set_sampling(rule, body.sampling)
    if body.cap_per_hour is not msgspec.UNSET:
        rule.cap_per_hour = body.cap_per_hour
    if body.budget_per_day is not msgspec.UNSET:
        rule.budget_per_day = _to_money(body.budget_per_day)
    if body.evaluators is not None or body.budget_per_day:
        evaluators = body.evaluators or msgspec.convert(rule.evaluators, list[RuleEvaluator])
        rule.evaluators = check_evaluators(account, epoch, evaluators, has_budget=rule.budget_per_day is not None)
    _set_names(rule, body)
    if body.state is not None and body.state != rule.state:
        rule.state = body.state
        if body.state == "active":
            _begin_now(rule)
    rule.revision += _list_deciding(rule) != before
    if rule.sample_by != unit:
        rule.drawn_since = rule.revision
    _write(rule)
    record_audit(account=account, actor=actor, action="rule.changed", target=rule.name, revision=rule.revision)
    return rule


def delete_rule(*, account: Account, id: int, actor: str) -> None:
    """Delete a rule with the list of its spans; its scores stay. Within the account's scope."""
    rule = get_rule(account=account, id=id, lock=True)
    rule.delete()
    record_audit(account=account, actor=actor, action="rule.deleted", target=rule.name)


def start_backfill(*, account: Account, id: int, body: BackfillBody, actor: str) -> RuleBackfill:
    """Have a rule score the stored spans of a range of time, each once. Raises Invalid. Within the account's scope."""
    rule = get_rule(account=account, id=id, lock=True)
    if body.until <= body.since:
        raise Invalid(FieldError("/until", "Must be later than `since`."))
    running = list_backfills(account=account, rule=rule).filter(state=RuleBackfill.State.RUNNING)
    if running.count() >= MAX_BACKFILLS:
        raise Invalid(FieldError("", f"At most {MAX_BACKFILLS} backfills of a rule run at once."))
    backfill = RuleBackfill.objects.create(account=account, rule=rule, starts_at=body.since, ends_at=body.until)
    backfill.refresh_from_db()
    record_audit(account=account, actor=actor, action="rule.backfilled", target=rule.name)
    return backfill


def check_source(source: str, wanted: SpanFilter | None, sampling: Sampling | None) -> None:
    """Raise Invalid for conditions that the source does not have, and for sessions of evaluations."""
    strata = [] if sampling is None or sampling.strata is msgspec.UNSET else sampling.strata
    filters = [("/filter", wanted)] if wanted is not None else []
    filters += [(f"/sampling/strata/{i}/filter", stratum.filter) for i, stratum in enumerate(strata)]
    errors = [
        FieldError(f"{pointer}/{name}", f"Rules on {source} have no such condition.")
        for pointer, part in filters
        for name in to_json(part)
        if name not in (OF_EVALUATIONS if source == "evaluations" else SpanFilter.__struct_fields__)
    ]
    if source == "evaluations" and sampling is not None and sampling.by == "session":
        errors.append(FieldError("/sampling/by", "Evaluations are drawn by trace: they name no session."))
    if errors:
        raise Invalid(*errors)


def check_evaluators(
    account: Account, epoch: str | None, evaluators: Sequence[RuleEvaluator], *, has_budget: bool = False
) -> list[Any]:
    """Return evaluators as they are stored. Raises Invalid for one that the account does not have.

    With a budget, also for judges whose cost cannot be counted.
    """
    entries = [to_json(entry) for entry in evaluators]
    call = read_call(msgspec.json.encode({"evaluators": entries, "evaluated_model_output": "-"}))
    planned = plan_evaluations(account_id=account.pk, epoch=epoch, call=call)
    unknown = [entry for entry in planned if entry.resolved is None]
    if unknown:
        raise Invalid(
            *(
                FieldError(f"/evaluators/{entry.position}", entry.verdict.error_message or "Unknown.")
                for entry in unknown
            )
        )
    if has_budget:
        check_budget(account.pk, [entry.resolved for entry in planned if entry.resolved is not None])
    return entries


def _to_money(budget: float | None) -> Decimal | None:
    """Return a budget to a millionth, as it is stored."""
    if budget is None:
        return None
    money = Decimal(budget).quantize(Decimal("0.000001"))
    if not money:
        raise Invalid(FieldError("/budget_per_day", "At least 0.000001."))
    return money


def to_json(part: msgspec.Struct) -> Any:
    """Return a part of a rule as it is stored: what was not sent is left out."""
    return {name: value for name, value in msgspec.to_builtins(part).items() if value is not None}


def _begin_now(rule: Rule) -> None:
    """Have a rule score spans that arrive from now on by the database's clock; their logs may have been sent before."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(NOW, [LOGS_BACK_SECONDS])
        rule.watermark, rule.log_watermark = cursor.fetchone()
    rule.first_id, rule.marks = rule.watermark, []


def _list_deciding(rule: Rule) -> list[Any]:
    return [rule.filter, rule.mapping, rule.evaluators, rule.rate, rule.strata, rule.sample_by, rule.app, rule.tags]


def _set_sampling(rule: Rule, sampling: Sampling) -> None:
    rule.rate, rule.sample_by = sampling.rate, sampling.by
    strata = None if sampling.strata is msgspec.UNSET else sampling.strata
    rule.strata = strata and [{"filter": to_json(stratum.filter), "rate": stratum.rate} for stratum in strata]


def _set_names(rule: Rule, body: RuleBody | RuleChange) -> None:
    """Set name, app and tags. Raises Invalid."""
    if body.name is not None:
        rule.name = clean_name(body.name.strip(), "/name")
        if not rule.name:
            raise Invalid(FieldError("/name", "A name has at least one character."))
    if body.app is not None:
        if wrong := app_error(body.app):
            raise Invalid(wrong)
        rule.app = normalize_app_name(body.app)
    if body.tags is not None:
        _check_tags(body.tags)
        rule.tags = dict(body.tags)


def _check_tags(tags: Mapping[str, str]) -> None:
    errors = tag_errors(tags)
    if RULE_TAG in tags:
        errors.append(FieldError(f"/tags/{RULE_TAG}", "This tag has the rule's name."))
    if any(len(value) > MAX_TAG_VALUE for value in tags.values()):
        errors.append(FieldError("/tags", f"A tag of a rule has at most {MAX_TAG_VALUE} characters."))
    if errors:
        raise Invalid(*errors)


def _write(rule: Rule) -> None:
    rule.updated_at = Now()
    try:
        with transaction.atomic(using=current_role()):
            rule.save()
    except IntegrityError:
        detail = f"There is a rule named {rule.name!r} already."
        raise Invalid(FieldError("/name", detail), code="already_exists") from None
    rule.refresh_from_db()
