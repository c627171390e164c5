"""Push configs, with outputs from the caller's own code: lease examples, and post their outputs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.fields.output_schemas import BAD_OUTPUT, describe_breach
from evalsvc.experiments.definition.kinds import FINISH_REASON, STRIP_THINKING
from evalsvc.experiments.definition.metrics import ISOLATED
from evalsvc.experiments.models import Config, Output, WorkUnit
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.endings import close_answer
from evalsvc.experiments.runner.generate import MAX_LEVELS, is_too_deep, storable
from evalsvc.experiments.runner.retries import is_retry, retry_task
from evalsvc.experiments.runner.score import needs_worker
from evalsvc.experiments.runner.store import RecordResult, Unit
from evalsvc.experiments.runner.units.context import (
    Example,
    load_examples,
    read_stopped_metrics,
    recorded_outputs,
    unit_context,
)
from evalsvc.experiments.runner.units.samples import build_sample_row, sample_scores
from evalsvc.judges.calls.endings import REFUSAL
from evalsvc.judges.failures import REFUSED
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import account_scope

ERROR_TYPES = ("timeout", "rate_limited", "refused", "bad_output", "connection", "bug")


@dataclass(frozen=True, slots=True)
class UnitLease:
    """A unit for the caller's code: its examples, less those that are recorded already."""

    unit: Unit
    examples: dict[int, Example]


@dataclass(frozen=True, slots=True)
class RefusedOutput:
    """Why an output, or one of its samples, was recorded as bad."""

    pos: int
    sample: int | None
    message: str


@dataclass(frozen=True, slots=True)
class ReceivedOutputs:
    """The result of posted outputs: what was recorded, and why some outputs were recorded as bad."""

    recorded: RecordResult
    bad_outputs: list[RefusedOutput]


def lease_push_unit(*, account: Account, config: Config, size: int, lease_seconds: float) -> UnitLease | None:
    """Lease up to `size` examples of a push config; None when there is nothing to lease now."""
    if config.kind != Config.Kind.PUSH:
        raise Invalid(FieldError("", "Only the outputs of a `push` config come from its caller."))
    unit = store.lease_unit(account_id=account.pk, config_id=config.pk, size=size, lease_seconds=lease_seconds)
    if unit is None:
        return None
    examples = load_examples(unit)
    if is_retry(unit.addition):
        task, outputs = retry_task(unit), recorded_outputs(unit)
        examples = {pos: example for pos, example in examples.items() if not task.is_done(outputs[pos])}
    elif unit.attempt > 1:
        with account_scope(account.pk):
            recorded_positions = set(_outputs(unit).values_list("pos", flat=True))
        examples = {pos: example for pos, example in examples.items() if pos not in recorded_positions}
    return UnitLease(unit, dict(sorted(examples.items())))


def _outputs(unit: Unit | WorkUnit) -> Any:
    return Output.objects.filter(config_id=unit.config_id, pos__gte=unit.from_pos, pos__lt=unit.to_pos)


def get_unit(*, account: Account, experiment_id: int, unit_id: int) -> WorkUnit:
    """Return a unit of a push config; NotFound for missing and foreign alike, and for what is not the caller's work."""
    units = WorkUnit.objects.filter(account=account, experiment_id=experiment_id, id=unit_id)
    unit = units.filter(config__kind=Config.Kind.PUSH).first()
    if unit is None:
        raise NotFound()
    return unit


def post_outputs(
    *,
    held: WorkUnit,
    token: uuid.UUID,
    outputs: Sequence[Mapping[str, Any]],
    is_done: bool,
    lease_seconds: float,
    scores_later: bool = False,
) -> ReceivedOutputs:
    """Record the outputs of the caller's code for a leased unit.

    An output that violates the config's `output_schema` is recorded as the error `bad_output`. A position that has an
    output is not overwritten, and an expired lease writes nothing: duplicate or late posts do not change anything.
    Metrics that need a model are scored by the workers afterwards; with `scores_later` all are.
    """
    unit = Unit(
        id=held.pk,
        account_id=held.account_id,
        experiment_id=held.experiment_id,
        config_id=held.config_id,
        from_pos=held.from_pos,
        to_pos=held.to_pos,
        state=held.state,
        attempt=held.attempt,
        token=token,
        epoch=held.epoch,
        addition=held.addition,
    )
    context = unit_context(unit)
    waits = scores_later or needs_worker(context.metrics)
    _check_outputs(unit, outputs, context.n_samples)
    strips_thinking = context.parameters.get(STRIP_THINKING) is not False
    rows, bad_outputs = _read(context.output_schema, outputs, keep_scores=waits, strips_thinking=strips_thinking)
    scores: list[dict[str, Any]] = []
    if rows and not waits:
        examples, stopped_metrics = load_examples(unit), read_stopped_metrics(unit, context)
        for output, item in zip(rows, outputs, strict=True):
            scores += sample_scores(
                metrics=context.metrics,
                example=examples[output["pos"]],
                output=output,
                pointers=context.pointers,
                stopped=stopped_metrics,
                failures=context.failures,
                client_scores=_client_scores(item),
            )
    recorded = store.record_unit(
        account_id=held.account_id,
        unit_id=held.pk,
        token=token,
        outputs=[{**output, "scored": not waits} for output in rows],
        scores=scores,
        close="release" if is_done else "keep",
        lease_seconds=lease_seconds,
    )
    return ReceivedOutputs(recorded, [bad_output for bad_output in bad_outputs if bad_output.pos in recorded.accepted])


def _read(
    schema: Mapping[str, Any] | None,
    outputs: Sequence[Mapping[str, Any]],
    *,
    keep_scores: bool,
    strips_thinking: bool,
) -> tuple[list[dict[str, Any]], list[RefusedOutput]]:
    """Return the rows to record, and what of them was sent as an answer and is none."""
    rows: list[dict[str, Any]] = []
    bad_outputs: list[RefusedOutput] = []
    for item in outputs:
        parts = item.get("samples")
        part_rows = [
            _apply_schema(schema, _row(part, item["pos"], keep_scores=keep_scores, strips_thinking=strips_thinking))
            for part in parts or [item]
        ]
        bad_outputs += [
            RefusedOutput(item["pos"], None if parts is None else i, row["error_message"])
            for i, (row, part) in enumerate(zip(part_rows, parts or [item], strict=True))
            if row["status"] != "ok" and not part.get("error")
        ]
        rows.append(part_rows[0] if parts is None else build_sample_row(item["pos"], part_rows))
    return rows, bad_outputs


def _client_scores(item: Mapping[str, Any]) -> Any:
    """Return the caller's numbers of an output; of several samples a list of them."""
    if (samples := item.get("samples")) is not None:
        return [sample.get("scores") for sample in samples]
    return item.get("scores")


def _check_outputs(unit: Unit, outputs: Sequence[Mapping[str, Any]], n_samples: int) -> None:
    positions: set[int] = set()
    for i, item in enumerate(outputs):
        pos = item["pos"]
        if not unit.from_pos <= pos < unit.to_pos:
            detail = f"The unit has the positions {unit.from_pos} to {unit.to_pos - 1}, and not {pos}."
            raise Invalid(FieldError(f"/outputs/{i}/pos", detail))
        if pos in positions:
            raise Invalid(FieldError(f"/outputs/{i}/pos", f"Position {pos} is there twice."))
        positions.add(pos)
        _check_samples(f"/outputs/{i}/samples", item, n_samples)
        parts = {f"/samples/{k}": sample for k, sample in enumerate(item.get("samples") or [])}
        for at, part in {"": item, **parts}.items():
            for name in ("output", "isolated", "scores"):
                if is_too_deep(part.get(name)):
                    detail = f"It is nested deeper than {MAX_LEVELS} levels."
                    raise Invalid(FieldError(f"/outputs/{i}{at}/{name}", detail))


def _check_samples(pointer: str, item: Mapping[str, Any], n_samples: int) -> None:
    samples = item.get("samples")
    if samples is None and n_samples > 1:
        raise Invalid(FieldError(pointer, f"The plan asks for {n_samples} samples of each example; send all of them."))
    if samples is not None and len(samples) != n_samples:
        raise Invalid(FieldError(pointer, f"The plan says `n_samples`: {n_samples}, and these are {len(samples)}."))


def _row(item: Mapping[str, Any], pos: int, *, keep_scores: bool, strips_thinking: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"pos": pos, "attempt": 1}
    row |= {name: item.get(name) for name in ("latency_ms", "input_tokens", "output_tokens", "cost")}
    row |= {name: item.get(name) for name in ("trace_id", "span_id")}
    row |= {"isolated": storable(item.get("isolated")), "stages": _build_isolated_errors(item.get("isolated_errors"))}
    if error := item.get("error"):
        status = "timeout" if error["type"] == "timeout" else "error"
        message = storable(error.get("message") or "")[:1000]
        ending = REFUSAL if error["type"] == REFUSED else None
        return row | {"status": status, "error_type": error["type"], "error_message": message, "ending": ending}
    components = storable(item.get("output"))
    if not isinstance(components, dict) or "output" not in components:
        components = {"output": components}
    # The workers that score later have no other way to learn of the caller's numbers.
    client_scores = storable(item.get("scores")) if keep_scores else None
    closed = close_answer(components, strips_thinking=strips_thinking, finish_reason=item.get(FINISH_REASON))
    return row | {"status": "ok", "client_scores": client_scores} | closed


def _build_isolated_errors(errors: Mapping[str, str] | None) -> dict[str, Any] | None:
    """Note which components broke on expected inputs, as a pipeline of ours does."""
    if not errors:
        return None
    isolated_errors = {name: {"error_type": "bug", "error_message": message[:1000]} for name, message in errors.items()}
    return {ISOLATED: storable(isolated_errors)}


def _apply_schema(schema: Mapping[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row if its output satisfies the config's schema, otherwise an error row with the violation."""
    why = describe_breach(schema, row["output"]) if schema is not None and row["status"] == "ok" else None
    if why is None:
        return row
    error = {"status": "error", "error_type": BAD_OUTPUT, "error_message": why}
    return {name: value for name, value in row.items() if name not in ("output", "client_scores")} | error
