"""Verb: add recorded conversations to a dataset, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.datasets.extension import add_to_target, lock_target, repeat_if_taken
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.recorded import REASONS, LeftOut, build_record
from evalsvc.datasets.selectors import get_version
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.telemetry.sessions.recordings import Recording
from evalsvc.tenancy.scope import account_scope

IDLE = timedelta(minutes=10)
"""A conversation is over when none of its spans has ended for so long."""
MAX_READ_BYTES = 64 * 1024 * 1024
"""Of the spans of all conversations that one call reads: about two seconds of CPU time."""


@dataclass(frozen=True, slots=True)
class Options:
    """How conversations are added: `input` is one of INPUTS; `replace` reads those again that went on."""

    input: str
    include_open: bool = False
    replace: bool = False


@dataclass(slots=True)
class Additions:
    """What became of the conversations that were asked for, by id."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left_out: list[tuple[str, LeftOut]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def describe_left_out(self) -> str:
        """Return how many were left out for each reason."""
        reasons = [exc.reason for _, exc in self.left_out]
        return "; ".join(f"{reasons.count(reason)} {reason} ({REASONS[reason]})" for reason in dict.fromkeys(reasons))


@repeat_if_taken
def add_conversations(
    *,
    account: Account,
    dataset: Dataset | str,
    asked: Sequence[str],
    recordings: Sequence[Recording],
    options: Options,
    now: datetime,
    actor: str,
) -> tuple[DatasetVersion, bool, Additions]:
    """Add conversations that a dataset does not have yet; one that is named and not there is created.

    `asked` are the ids that a caller named, of which some may have no recording. Returns the newest version, whether it
    is new, and what became of each. Raises Invalid where nothing can be added to a new dataset.
    """
    with account_scope(account.pk):
        target = lock_target(account, dataset)
        ids = list(dict.fromkeys([*asked, *(recording.id for recording in recordings)]))
        stored = _load_stored(account, target, ids) if isinstance(target, Dataset) else {}
        additions = _collect(account, ids, {recording.id: recording for recording in recordings}, stored, options, now)
        if isinstance(target, str) and not additions.records:
            why = additions.describe_left_out()
            raise Invalid(FieldError("", f"No conversation can be added: {why}." if why else "No conversations match."))
        version, is_new = add_to_target(account=account, target=target, examples=additions.records, actor=actor)
    return version, is_new, additions


def _load_stored(account: Account, dataset: Dataset, ids: Sequence[str]) -> dict[str, Example]:
    version = get_version(account=account, dataset_id=dataset.pk)
    return {row.key: row for row in Example.objects.filter(account=account, version=version, key__in=ids)}


def _collect(
    account: Account,
    ids: Sequence[str],
    recordings: Mapping[str, Recording],
    stored: Mapping[str, Example],
    options: Options,
    now: datetime,
) -> Additions:
    additions, n_bytes = Additions(), 0
    for id in ids:
        example = stored.get(id)
        try:
            recording = _choose(id, recordings.get(id), example, options, additions)
            if recording is None:
                continue
            if not options.include_open and now - recording.ended_at < IDLE:
                raise LeftOut("open", "One of its spans has ended within the last ten minutes.")
            if n_bytes and n_bytes + recording.n_bytes > MAX_READ_BYTES:
                raise LeftOut("not_read", "Call again: those that were added are not read a second time.")
            n_bytes += recording.n_bytes
            record = build_record(account.pk, recording, options.input)
        except LeftOut as exc:
            additions.left_out.append((id, exc))
            continue
        (additions.added if example is None else additions.replaced).append(id)
        additions.records.append(record if example is None else _keep_annotations(record, example))
    return additions


def _choose(
    id: str, recording: Recording | None, example: Example | None, options: Options, additions: Additions
) -> Recording | None:
    """Return the recording that is to be read; None where the dataset has it as it is wanted."""
    if example is None:
        if recording is None:
            raise LeftOut("not_found", "No span of it is stored.")
        return recording
    if id not in (example.metadata.get("session_id"), example.metadata.get("trace_id")):
        raise LeftOut("id_taken", "The dataset has an example of this id that is no recorded conversation.")
    if recording is None or recording.n_spans <= example.metadata.get("n_spans", 0):
        additions.unchanged.append(id)
        return None
    additions.grown.append(id)
    return recording if options.replace else None


def _keep_annotations(record: dict[str, Any], example: Example) -> dict[str, Any]:
    """Return the example of a conversation that went on, with what people have added to the one before it."""
    return {**record, "expected": example.expected, "metadata": {**example.metadata, **record["metadata"]}}
