"""POST /v1/evaluate as it comes in: three dialects of field names become one EvaluateCall."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from evalsvc.evaluations.wire.inputs import (
    Identifier,
    InputSpellings,
    build_extras,
    fields_in,
    first_spelling,
    size_errors,
    tag_errors,
    type_errors,
)
from evalsvc.evaluations.wire.interval_request import IntervalOptions, parse_interval_options
from evalsvc.evaluations.wire.sessions import FindSession, is_session_request, read_session
from evalsvc.judges.calls.endings import STOP, close_text, find_reason, name_ending
from evalsvc.rest.answering.shapes import KeyWarning
from evalsvc.rest.answering.unknown import MAX_WARNINGS, key_warnings
from evalsvc.rest.bodies.names import app_error, normalize_app_name
from evalsvc.rest.bodies.parsers import decode_noting_unknown, list_body_keys
from evalsvc.rest.bodies.scalars import is_bigint, read_uuid
from evalsvc.rest.problems import FieldError, Invalid
from evaluators.base import Sample
from evaluators.samples import build_sample

MAX_ATTACHMENTS = 4
MAX_EVALUATORS = 50
MAX_ID = 255
MAX_ANSWER_BYTES = 32 * 2**20
# The widths of the columns: a longer name cannot exist.
MAX_NAMES = {"evaluator": 100, "evaluator_id": 100, "criteria": 120, "profile_name": 120}
MAX_FINISH_REASON = 50
EXPLAIN = ("never", "on-fail", "on-success", "always")

Explain = Literal["never", "on-fail", "on-success", "always"]
Capture = Literal["all", "always", "fails-only", "none"]


class EvaluatorRef(msgspec.Struct):
    """One entry of `evaluators`."""

    evaluator: str | None = None
    evaluator_id: str | None = None
    criteria: str | None = None
    profile_name: str | None = None
    explain_strategy: Explain | None = None
    profile_inline: dict[str, Any] | None = None


class Body(InputSpellings, kw_only=True):
    """Every spelling of every field; unknown ones are ignored, as clients of this wire expect."""

    evaluators: Sequence[EvaluatorRef]
    explain: bool | Explain | None = None
    capture: Capture | None = None
    strip_thinking: bool | None = None
    finish_reason: str | None = None
    confidence_interval_strategy: str | dict[str, Any] | None = None
    config: str | int | None = None
    app: str | None = None
    experiment_id: Identifier = None
    project_id: str | None = None
    project_name: str | None = None
    dataset_id: Identifier = None
    dataset_sample_id: Identifier = None
    log_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    tags: dict[str, str] | None = None


class KnownRef(EvaluatorRef, forbid_unknown_fields=True):
    """The same, for entries that have no other keys."""


class KnownBody(Body, kw_only=True, forbid_unknown_fields=True):
    """The same, for the bodies that have no others."""

    evaluators: Sequence[KnownRef]


class Entries(msgspec.Struct):
    """A body; of its evaluators, only the keys are parsed."""

    evaluators: list[dict[str, msgspec.Raw]]


_decoder = msgspec.json.Decoder(Body)
_entries = msgspec.json.Decoder(Entries)
_strict_decoder: msgspec.json.Decoder[Body] = msgspec.json.Decoder(KnownBody)


@dataclass(frozen=True, slots=True)
class EvaluatorRequest:
    """One evaluator as the caller named it."""

    evaluator: str
    profile: str | None
    explain: str
    inline_profile: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class EvaluateCall:
    """A validated request: the sample, the evaluators and what to capture."""

    wanted: tuple[EvaluatorRequest, ...]
    sample: Sample
    capture: str
    interval: IntervalOptions
    config: str | None
    app: str | None
    experiment_id: int | None
    project_id: uuid.UUID | None
    project_name: str | None
    extras: dict[str, Any] | None
    tags: dict[str, str] | None
    dataset_id: str | None
    dataset_sample_id: str | None
    log_id: str | None
    trace_id: str | None
    span_id: str | None
    ending: str | None = None
    """How the output ended; None without an output."""
    warnings: tuple[KeyWarning, ...] = ()
    """What the caller should know of the request that did not keep it from being run."""

    @property
    def names_itself(self) -> bool:
        """Return whether the call names the log or the span that it is about.

        A repeated call with the same name is then the same evaluation. Disabled tracing sends an id of zeros.
        """
        return any(name is not None and name.strip("0-") for name in (self.log_id, self.span_id))


def read_call(body: bytes, find_session: FindSession | None = None) -> EvaluateCall:
    """Decode and check a body; raise a Problem that points to each field that cannot be accepted.

    `find_session` finds the conversation of a session that the call names; without it such a call is refused.
    """
    raw, may_warn = decode_noting_unknown(body, _strict_decoder, _decoder)
    n_bytes, session = len(body), None
    if is_session_request(raw.conversation):
        session = read_session(raw.conversation, find_session)
        raw.conversation = session.conversation
        n_bytes += len(msgspec.json.encode(raw.conversation))
    fields = fields_in(raw)
    sample = build_sample(fields)
    if raw.strip_thinking is False:
        sample = replace(sample, strips_thinking=False)
    interval, interval_errors = parse_interval_options(
        raw.confidence_interval_strategy, "/confidence_interval_strategy"
    )
    errors = [
        *interval_errors,
        *requested_evaluator_errors(raw),
        *sample_errors(raw, sample),
        *place_errors(raw),
        *text_errors(raw),
        *answer_errors(raw, n_bytes),
    ]
    if errors:
        raise Invalid(*errors)
    ending = find_ending(sample, raw.finish_reason or find_reason(fields["output"]))
    return EvaluateCall(
        wanted=tuple(_build_evaluator_request(ref, raw.explain) for ref in raw.evaluators),
        sample=sample,
        capture=resolve_capture(raw),
        interval=interval,
        config=id_text(raw.config),
        app=normalize_app_name(raw.app),
        experiment_id=int(raw.experiment_id) if raw.experiment_id is not None else None,
        project_id=uuid.UUID(raw.project_id) if raw.project_id else None,
        project_name=raw.project_name,
        extras=add_options(build_extras(raw, fields, sample), interval, raw, ending),
        ending=ending,
        tags=raw.tags,
        dataset_id=id_text(raw.dataset_id),
        dataset_sample_id=id_text(raw.dataset_sample_id),
        log_id=raw.log_id,
        trace_id=raw.trace_id or (session.trace_id if session else None),
        span_id=raw.span_id,
        warnings=request_warnings(body, raw, sample) if may_warn or sample.unread else (),
    )


def request_warnings(body: bytes, raw: Body, sample: Sample) -> tuple[KeyWarning, ...]:
    """Warn of keys that no dialect has, and of inputs of the wrong type, whether an evaluator reads them or not."""
    type_warnings = [
        KeyWarning(pointer=error.pointer, detail=error.detail, did_you_mean=[]) for error in type_errors(raw, sample)
    ]
    unknown = key_warnings(list_body_keys(body), Body.__struct_fields__)
    for i, entry in enumerate(_entries.decode(body).evaluators[:MAX_EVALUATORS]):
        unknown += key_warnings(entry, EvaluatorRef.__struct_fields__, f"/evaluators/{i}")
    return (*unknown[:MAX_WARNINGS], *type_warnings)


def find_ending(sample: Sample, finish_reason: str | None) -> str | None:
    """Return how the output ended, by the rule of experiments; None where there is neither an output nor a reason.

    A conversation that ends in a call of a tool has no output yet.
    """
    if sample.output is None and (not finish_reason or sample.conversation is not None):
        return None
    if sample.answer is not None or (sample.output is None and sample.unread):
        return name_ending(finish_reason)
    return close_text(sample.output, finish_reason, strips_thinking=sample.strips_thinking).ending


def add_options(
    extras: dict[str, Any] | None, interval: IntervalOptions, raw: Body, ending: str | None
) -> dict[str, object] | None:
    """Add what a stored request needs to be judged by workers, and answered again with the same interval."""
    options = {
        "interval": interval.to_json() or None,
        "config": id_text(raw.config),
        "strip_thinking": False if raw.strip_thinking is False else None,
        "finish_reason": raw.finish_reason,
        "ending": None if ending == STOP else ending,
    }
    members = {name: value for name, value in options.items() if value is not None}
    return {**(extras or {}), **members} if members else extras


def id_text(value: Identifier) -> str | None:
    """Read an id that older clients send as a number."""
    return None if value is None else str(value)


def resolve_capture(raw: Body) -> str:
    """Return what to capture: as requested, else all if the call names an app or experiment, else nothing."""
    if raw.capture is not None:
        return "all" if raw.capture == "always" else raw.capture
    return "all" if raw.app is not None or raw.experiment_id is not None else "none"


def _build_evaluator_request(ref: EvaluatorRef, explain: bool | str | None) -> EvaluatorRequest:
    strategy = ref.explain_strategy or explain
    if isinstance(strategy, bool) or strategy is None:
        strategy = "never" if strategy is False else "always"
    return EvaluatorRequest(
        evaluator=first_spelling(ref.evaluator, ref.evaluator_id),
        profile=first_spelling(ref.criteria, ref.profile_name),
        explain=strategy,
        inline_profile=ref.profile_inline,
    )


def requested_evaluator_errors(raw: Body) -> list[FieldError]:
    """Check the list of evaluators."""
    errors = []
    if not 1 <= len(raw.evaluators) <= MAX_EVALUATORS:
        errors.append(FieldError("/evaluators", f"Name 1 to {MAX_EVALUATORS} evaluators."))
    for i, ref in enumerate(raw.evaluators):
        if not first_spelling(ref.evaluator, ref.evaluator_id):
            errors.append(FieldError(f"/evaluators/{i}/evaluator", "Name an evaluator by its id or alias."))
        if first_spelling(ref.criteria, ref.profile_name) == "":
            errors.append(FieldError(f"/evaluators/{i}/criteria", "A profile's name has at least one character."))
        for name, longest in MAX_NAMES.items():
            if len(getattr(ref, name) or "") > longest:
                errors.append(FieldError(f"/evaluators/{i}/{name}", f"At most {longest} characters."))
    return errors


def sample_errors(raw: Body, sample: Sample) -> list[FieldError]:
    """Check what is to be judged."""
    errors = size_errors(raw, sample)
    if len(sample.attachments) > MAX_ATTACHMENTS:
        detail = f"At most {MAX_ATTACHMENTS} attachments; {len(sample.attachments)} were sent."
        errors.append(FieldError("/evaluated_model_attachments", detail))
    if not is_judgeable(sample):
        detail = "Provide `output` (or `input`); ranking metrics need only contexts and gold contexts."
        errors.insert(0, FieldError("/evaluated_model_output", detail))
    return errors


def is_judgeable(sample: Sample) -> bool:
    """Return whether there is an input, an output, a conversation, or retrieved and gold contexts."""
    if sample.input is not None or sample.output is not None or sample.conversation is not None or sample.unread:
        return True
    return sample.contexts is not None and sample.gold_contexts is not None


def place_errors(raw: Body) -> list[FieldError]:
    """Validate the app, project and experiment of the request."""
    errors = []
    if raw.app is not None and raw.experiment_id is not None:
        errors.append(FieldError("/app", "Send either `app` or `experiment_id`: an experiment has no app."))
    if wrong := app_error(raw.app):
        errors.append(wrong)
    if raw.project_name is not None and not 1 <= len(raw.project_name) <= 50:
        errors.append(FieldError("/project_name", "1 to 50 characters."))
    if raw.experiment_id is not None and not is_bigint(str(raw.experiment_id)):
        errors.append(FieldError("/experiment_id", "An experiment's id is a string of digits."))
    if raw.project_id and read_uuid(raw.project_id) is None:
        errors.append(FieldError("/project_id", "A project's id is a UUID."))
    return errors


def text_errors(raw: Body) -> list[FieldError]:
    """Check the lengths of ids and tags."""
    names = ("dataset_id", "dataset_sample_id", "log_id", "trace_id", "span_id")
    errors = [
        FieldError(f"/{name}", f"At most {MAX_ID} characters.")
        for name in names
        if len(id_text(getattr(raw, name)) or "") > MAX_ID
    ]
    if len(raw.finish_reason or "") > MAX_FINISH_REASON:
        errors.append(FieldError("/finish_reason", f"At most {MAX_FINISH_REASON} characters."))
    return errors + tag_errors(raw.tags)


def answer_errors(raw: Body, n_bytes: int) -> list[FieldError]:
    """Check how long the answer would be: each result repeats what was judged."""
    if n_bytes * len(raw.evaluators) > MAX_ANSWER_BYTES:
        # As it will be written: escaped, a character may have come as six bytes.
        n_bytes = len(msgspec.json.encode(msgspec.structs.replace(raw, evaluators=())))
    if n_bytes * len(raw.evaluators) <= MAX_ANSWER_BYTES:
        return []
    detail = (
        f"Each of {len(raw.evaluators)} results would repeat a sample of {n_bytes} bytes: more than"
        f" {MAX_ANSWER_BYTES} bytes in one answer. Name fewer evaluators in a request."
    )
    return [FieldError("/evaluators", detail)]


def fingerprint(account_id: int, body: bytes) -> int:
    """Return 63 bits that are the same for the same body of the same account."""
    digest = hashlib.blake2b(body, digest_size=8, key=str(account_id).encode()).digest()
    return int.from_bytes(digest) >> 1
