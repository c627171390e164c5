"""Accept an evaluate call: plan it, score the quick evaluators, store the rest, and read the histories.

This module does not enqueue tasks; its callers do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.conf import settings

from evalsvc.accounts.models import Account
from evalsvc.accounts.selectors import refuses_unrunnable
from evalsvc.catalog.inline import resolve_inline
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.catalog.runnable import WEBHOOK, AvailableJudges, get_available_judges
from evalsvc.evaluations.database.uuids import new_uuid
from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.evaluate.inline_turns import turns
from evalsvc.evaluations.evaluate.rows import AcceptedCall, PlannedEvaluation, evaluation_row, is_kept, request_row
from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.alongside import PlannedRun, UnknownConfig, find_side
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.interval import answer_interval
from evalsvc.evaluations.history.scope import Window, scope_window
from evalsvc.evaluations.verdicts import (
    PENDING,
    fail_ending,
    is_undecided,
    score_sample,
    shift_spans,
    strip_thinking,
    validate_inputs,
    validation_error,
    verdict_from_message,
)
from evalsvc.evaluations.wire.answer import EntryFacts, RequestFacts
from evalsvc.evaluations.wire.request import EvaluateCall, EvaluatorRequest
from evalsvc.projects.services import Placement, place_request
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Lane, Sample
from evaluators.budget import allowed
from evaluators.cascade import remove_cascade
from evaluators.settings import LAST, get_unit

INLINE_SECONDS = 2.0
"""The limit for all quick evaluators of one request together: they hold a thread of the web process."""


def plan_evaluations(*, account_id: int, epoch: str | None, call: EvaluateCall) -> list[PlannedEvaluation]:
    """Resolve each evaluator and decide where it runs. One that cannot run gets its verdict here."""
    entries = [
        _plan_one(account_id, epoch, call, i, evaluator_request) for i, evaluator_request in enumerate(call.wanted)
    ]
    _mark_repeats(entries)
    if call.config is not None:
        _refuse_unknown_config(account_id, call, entries)
    return entries


def _mark_repeats(entries: list[PlannedEvaluation]) -> None:
    """Mark entries that repeat an earlier one: a history counts an output once, however often it is judged."""
    seen_pairs: set[tuple[str, str]] = set()
    for entry in entries:
        if (run := entry.resolved) is not None:
            pair = (run.evaluator_id, run.profile.name)
            entry.is_repeat = pair in seen_pairs
            seen_pairs.add(pair)


def _refuse_unknown_config(account_id: int, call: EvaluateCall, entries: list[PlannedEvaluation]) -> None:
    try:
        find_side(account_id=account_id, experiment_id=call.experiment_id, config=call.config)
    except UnknownConfig as exc:
        for entry in entries:
            entry.verdict, entry.lane = validation_error("unknown_config", str(exc)), None


def _plan_one(
    account_id: int, epoch: str | None, call: EvaluateCall, position: int, wanted: EvaluatorRequest
) -> PlannedEvaluation:
    try:
        resolved = _resolve(account_id, epoch, wanted)
    except UnresolvedEvaluator as exc:
        return PlannedEvaluation(position, wanted, None, validation_error(exc.code, exc.message))
    verdict = fail_ending(resolved.family, resolved.settings, call.ending, wanted.explain) or validate_inputs(
        resolved.family, resolved.evaluator_id, resolved.settings, call.sample
    )
    if verdict is not None:
        return PlannedEvaluation(position, wanted, resolved, verdict)
    return PlannedEvaluation(position, wanted, resolved, PENDING, choose_lane(resolved, call.sample))


def _resolve(account_id: int, epoch: str | None, wanted: EvaluatorRequest) -> ResolvedEvaluator:
    name, inline = wanted.evaluator, wanted.inline_profile
    if inline is not None:
        return resolve_inline(account_id=account_id, epoch=epoch, evaluator=name, settings=inline)
    return resolve(account_id=account_id, epoch=epoch, evaluator=name, profile=wanted.profile)


def refuse_unrunnable(account_id: int, epoch: str | None, entries: Sequence[PlannedEvaluation]) -> None:
    """Reject a call with evaluators that cannot run, if the account has opted into that. Raises Invalid.

    A call without such evaluators costs no query.
    """
    doubtful = [entry for entry in entries if entry.resolved is None or _needs_judge(entry)]
    if not doubtful or not refuses_unrunnable(account_id=account_id, epoch=epoch):
        return
    with account_scope(account_id):
        means = get_available_judges(Account(id=account_id))
    why = ((entry, _why_unrunnable(entry, means)) for entry in doubtful)
    if errors := [FieldError(f"/evaluators/{entry.position}", detail) for entry, detail in why if detail]:
        raise Invalid(*errors, code="unrunnable")


def _why_unrunnable(entry: PlannedEvaluation, means: AvailableJudges) -> str | None:
    if entry.resolved is None:
        return entry.verdict.error_message
    if means.has_judge_for(entry.resolved.family):
        return None
    whom = "a webhook secret to sign with" if entry.resolved.family.name == WEBHOOK else "a connection to an LLM"
    return f"Evaluator {entry.resolved.evaluator_id!r} needs {whom}, and the account has none."


def _needs_judge(entry: PlannedEvaluation) -> bool:
    """Return whether an entry has no verdict without a judge; with a cascade it has an undecided one."""
    return entry.lane == Lane.JUDGE and entry.resolved is not None and not entry.resolved.has_cascade


def choose_lane(resolved: ResolvedEvaluator, sample: Sample) -> str:
    """Return the lane to run in. Long texts go to a worker: threads of the web process share one interpreter.

    A worker has to be one that can ask, where the profile has a cascade.
    """
    lane = resolved.family.lane_of(remove_cascade(resolved.settings))
    n_chars = sample.n_chars
    if get_unit(resolved.settings) != LAST and sample.conversation is not None:
        n_chars += sum(len(message.text) for message in sample.conversation.messages)
    if lane == Lane.INLINE and (settings.INLINE_LANE == "worker" or n_chars > settings.INLINE_MAX_CHARS):
        lane = Lane.CPU
    if lane == Lane.CPU and resolved.has_cascade:
        lane = Lane.JUDGE
    return lane.value


def accept(
    *,
    account_id: int,
    epoch: str | None,
    call: EvaluateCall,
    entries: list[PlannedEvaluation],
    fingerprint: int,
    keep_always: bool = False,
    tells_pending: bool = False,
) -> AcceptedCall:
    """Score the inline evaluators, store what has to be stored, and read the histories.

    If the app is already known, this usually takes one round trip to the database.

    `keep_always` stores a row for every evaluation, for callers that fetch the results later. `tells_pending` means
    that the caller does not wait for workers: it gets `pending` for whatever they have not finished.
    """
    call = with_log_id(call)
    # Before anything is written, because this refuses a scope that does not exist.
    side, window = resolve_history_window(account_id, call, entries)
    score_inline(account_id, call, entries)
    accepted_call = AcceptedCall(account_id, call, place_call(account_id, call, epoch), entries)
    accepted_call.is_answered_pending = tells_pending and bool(accepted_call.pending_lanes)
    stored_entries = entries_to_store(accepted_call, keep_always=keep_always)
    histories = _store(accepted_call, stored_entries, fingerprint, epoch, window)
    for entry, history in zip(entries, histories, strict=True):
        if (run := entry.resolved) is not None:
            entry.interval = answer_interval(call.interval, run.family, history, has_verdict=run.has_verdict)
            entry.experiment_interval = side.interval_of(run.evaluator_id, run.profile.name) if side else None
    return accepted_call


def resolve_history_window(
    account_id: int, call: EvaluateCall, entries: list[PlannedEvaluation]
) -> tuple[PlannedRun | None, Window | None]:
    """Return the call's planned experiment, if any, and the window of scores that its history is read from.

    A window of None means the newest scores of the account. With a planned experiment, the window excludes the
    experiment's own scores.
    """
    if call.interval.strategy == "none":
        return None, None
    side = None
    if call.experiment_id is not None and not any(entry.verdict.error_code == "unknown_config" for entry in entries):
        side = find_side(account_id=account_id, experiment_id=call.experiment_id, config=call.config)
    if side is None and call.interval.is_plain:
        return None, None
    without = call.experiment_id if side is not None else None
    pointer = "/confidence_interval_strategy"
    return side, scope_window(account_id, call.interval, pointer=pointer, without_experiment=without)


def with_log_id(call: EvaluateCall) -> EvaluateCall:
    """Give a captured call a log id if it has none: clients of /v1/evaluations expect one on every evaluation."""
    return call if call.log_id is not None or call.capture == "none" else replace(call, log_id=str(new_uuid()))


def score_inline(account_id: int, call: EvaluateCall, entries: list[PlannedEvaluation]) -> None:
    """Score the inline entries within INLINE_SECONDS. An entry that takes longer, and all after it, go to a worker.

    All entries go to a worker while slow inline work of the same account occupies every turn available to the account.
    """
    inline = [entry for entry in entries if entry.lane == Lane.INLINE]
    if not inline:
        return
    if not turns.take(account_id):
        for entry in inline:
            leave_to_workers(entry)
        return
    try:
        _score_in_turn(call, inline)
    finally:
        turns.leave(account_id)


def _score_in_turn(call: EvaluateCall, entries: list[PlannedEvaluation]) -> None:
    began = time.monotonic()
    sample, n_stripped = strip_thinking(call.sample)
    with allowed(INLINE_SECONDS) as allowance:
        for entry in entries:
            if allowance.is_exceeded or time.monotonic() - began > INLINE_SECONDS:
                leave_to_workers(entry)
                continue
            assert entry.resolved is not None  # noqa: S101  only resolved entries have a lane
            run = entry.resolved
            verdict = score_sample(run.family, run.spec, remove_cascade(run.settings), sample, entry.wanted.explain)
            # A "too long for inline" verdict is discarded, since a worker has more time; so is an undecided one where
            # a worker is to ask another evaluator.
            if allowance.is_exceeded or (run.has_cascade and is_undecided(verdict)):
                leave_to_workers(entry)
            else:
                entry.verdict = shift_spans(verdict, n_stripped)


def leave_to_workers(entry: PlannedEvaluation) -> None:
    """Move an inline evaluation to a worker's lane: of one that can ask, where the profile has a cascade."""
    has_cascade = entry.resolved is not None and entry.resolved.has_cascade
    entry.lane = Lane.JUDGE.value if has_cascade else Lane.CPU.value


def entries_to_store(accepted: AcceptedCall, *, keep_always: bool) -> list[PlannedEvaluation]:
    """Return the entries to store: all if the caller fetches the results later, else those that `capture` selects.

    A request with `capture` = `all` also stores its unresolved entries, so that stored results match the submitted
    list.
    """
    captured_entries = [entry for entry in accepted.entries if is_kept(accepted.call, entry)]
    everything = keep_always or accepted.pending_lanes or (captured_entries and accepted.call.capture == "all")
    return accepted.entries if everything else captured_entries


def place_call(account_id: int, call: EvaluateCall, epoch: str | None) -> Placement:
    """Find where a captured call belongs; a call that captures nothing leaves no app or project behind."""
    if call.capture == "none":
        return Placement()
    return place_request(
        account_id=account_id,
        app=call.app,
        experiment_id=call.experiment_id,
        project_id=call.project_id,
        project_name=call.project_name,
        epoch=epoch,
    )


def _store(
    accepted: AcceptedCall,
    kept: Sequence[PlannedEvaluation],
    fingerprint: int,
    epoch: str | None,
    window: Window | None,
) -> list[HistorySnapshot | None]:
    """Store the selected entries, set their ids, and return the history of every entry."""
    call = accepted.call
    pairs = [
        (entry.resolved.evaluator_id, entry.resolved.profile.name)
        if entry.resolved and call.interval.strategy != "none"
        else None
        for entry in accepted.entries
    ]
    read = None
    if window is not None:
        # Read before anything is stored, so that the call's own scores are not in its history.
        read, pairs = store.read_scoped(accepted.account_id, pairs, window), [None] * len(pairs)
    if not kept:
        return read or store.read_histories(accepted.account_id, pairs, epoch=epoch)
    captured = captures.capture(
        accepted.account_id,
        request_row(accepted, fingerprint),
        [evaluation_row(call, entry) for entry in kept],
        pairs,
        epoch=epoch,
        lease_seconds=settings.LEASE_SECONDS,
    )
    accepted.request_id, accepted.created_at = captured.request_id, captured.created_at
    for entry, evaluation_id in zip(kept, captured.evaluation_ids, strict=True):
        entry.evaluation_id = evaluation_id
    return read or captured.histories


def fill_in(accepted: AcceptedCall, row: Mapping[str, object]) -> None:
    """Set the verdict of the entry that a worker's row belongs to."""
    entry = next(entry for entry in accepted.entries if entry.position == row["position"])
    entry.verdict = verdict_from_message(row)


def answer_facts(accepted: AcceptedCall) -> tuple[RequestFacts, list[EntryFacts]]:
    """Return the values that the answer is written from: those of the request, and those of each entry."""
    call, placement = accepted.call, accepted.placement
    request = RequestFacts(
        sample=call.sample,
        strategy=call.interval.strategy,
        id=accepted.request_id,
        created_at=accepted.created_at,
        project_id=placement.project_id,
        app=placement.app,
        experiment_id=placement.experiment_id,
        extras=call.extras,
        tags=call.tags,
        dataset_id=call.dataset_id,
        dataset_sample_id=call.dataset_sample_id,
        log_id=call.log_id,
        warnings=call.warnings,
    )
    return request, [_entry_facts(call, entry) for entry in accepted.entries]


def _entry_facts(call: EvaluateCall, entry: PlannedEvaluation) -> EntryFacts:
    resolved = entry.resolved
    facts = EntryFacts(
        evaluator_id=resolved.evaluator_id if resolved else entry.wanted.evaluator,
        profile_name=resolved.profile.name if resolved else entry.wanted.profile or "",
        verdict=entry.verdict,
        explain_strategy=entry.wanted.explain,
        evaluation_id=entry.evaluation_id,
        captured=is_kept(call, entry),
        interval=entry.interval,
        experiment_interval=entry.experiment_interval,
    )
    if resolved is not None:
        profile = resolved.profile
        facts.family, facts.profile_id, facts.profile_revision = resolved.family.name, profile.id, profile.revision
    return facts
