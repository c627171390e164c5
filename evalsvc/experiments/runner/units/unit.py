"""The unit runner: queries, scores and hands over one unit. It does not stay in a transaction while it waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

from django.db import connections

from evalsvc.experiments.decisions.control import stop_by_worker
from evalsvc.experiments.definition.fields.output_schemas import BAD_OUTPUT, describe_breach
from evalsvc.experiments.models import Config, Output, Retry
from evalsvc.experiments.runner.generate import EndpointAway, GeneratedOutput, MustStop, RetryLater
from evalsvc.experiments.runner.retries import (
    build_final_error,
    failed_metrics,
    is_retry,
    retry_task,
    select_unscored_outputs,
)
from evalsvc.experiments.runner.score import WAITS, failed_score, needs_judge
from evalsvc.experiments.runner.store import Outcome, RecordResult, Unit
from evalsvc.experiments.runner.units.context import (
    Example,
    UnitContext,
    load_examples,
    read_stopped_metrics,
    recorded_outputs,
    twin_outputs,
    unit_context,
)
from evalsvc.experiments.runner.units.pipelines import Requester, build_requester
from evalsvc.experiments.runner.units.samples import SampleKeeper, sample_scores
from evalsvc.experiments.runner.units.waits import find_scored_metrics, set_delays
from evalsvc.experiments.runner.writer import Writer
from evalsvc.tenancy.outages import is_outage

log = logging.getLogger(__name__)
FLUSH_SECONDS = 0.5
MAX_LEASES = 5
MAX_REFUSALS = 6
MAX_JUDGED_AT_ONCE = 8
# After a stall of our own servers: what waits for them now would meet the same.
OUTAGE_PAUSE_SECONDS = 0.5


class UnitRunner:
    """The work on one unit."""

    def __init__(
        self,
        unit: Unit,
        *,
        writer: Writer,
        is_lost: Callable[[Unit], bool],
        should_stop: Callable[[], bool],
        n_refusals: int = 0,
    ) -> None:
        self.unit = unit
        self.writer = writer
        self.n_refusals = n_refusals
        self.was_refused = False
        self.is_lost = is_lost
        self.should_stop = should_stop
        self.outputs: list[dict[str, Any]] = []
        self.scores: list[dict[str, Any]] = []
        self.stopped: dict[str, str] = {}
        self.n_kept = 0
        self.postponed_seconds = 0.0
        self._is_held = True
        self._flushed_at = time.monotonic()

    def run(self) -> Future[RecordResult] | None:
        """Process the unit as far as possible and hand it over; missing positions are released at the end.

        Return a future of the record; None if the processing failed and the unit retains its lease.
        """
        try:
            context = unit_context(self.unit)
            self.stopped = read_stopped_metrics(self.unit, context)
            if is_retry(self.unit.addition):
                self._retry(context)
            elif self.unit.state == "scoring":
                self._score_recorded(context)
            else:
                self._ask_all(context)
            return self._hand_over("release")
        except Exception as exc:
            if is_outage(exc) and self.unit.state != "scoring":
                return self._leave(exc)
            # The lease ends by itself, and another worker tries; after several the examples count as failed.
            log.exception("unit %s of config %s failed", self.unit.id, self.unit.config_id)
            return None
        finally:
            connections.close_all()

    def _leave(self, outage: Exception) -> Future[RecordResult]:
        """Release the unit for the next lease: an outage of this service is not an answer of the config."""
        log.warning("unit %s postponed: %s", self.unit.id, type(outage).__name__)
        self.postponed_seconds = OUTAGE_PAUSE_SECONDS
        return self._hand_over("release")

    def _is_stopped(self) -> bool:
        return not self._is_held or self.should_stop() or self.is_lost(self.unit)

    def _retry(self, context: UnitContext) -> None:
        """Request outputs again, or compute the missing scores; results of a lost lease are retained."""
        task, outputs = retry_task(self.unit), recorded_outputs(self.unit)
        done_positions = {pos for pos, output in outputs.items() if task.is_done(output)}
        if task.what == Retry.What.SCORES:
            self._score_all(context, select_unscored_outputs(self.unit, task, outputs), failed_metrics(self.unit, task))
            return
        if context.kind != Config.Kind.PUSH:
            self._ask(context, done_positions, {})
        if unscored_outputs := select_unscored_outputs(self.unit, task, outputs):
            self._score_all(context, unscored_outputs)

    def _ask_all(self, context: UnitContext) -> None:
        recorded_positions = set(recorded_outputs(self.unit)) if self.unit.attempt > 1 else set()
        self._ask(context, recorded_positions, twin_outputs(self.unit, context))

    def _ask(self, context: UnitContext, known: Collection[int], twins: Mapping[int, dict[str, Any]]) -> None:
        examples = load_examples(self.unit)
        ask = build_requester(self.unit, context, self._is_stopped)
        keeper = SampleKeeper(self.unit, context.n_samples) if context.n_samples > 1 else None
        connections.close_all()
        for pos in range(self.unit.from_pos, self.unit.to_pos):
            if pos in known:
                continue
            if self._is_stopped():
                return
            try:
                twin = twins.get(pos)
                row = None if twin is not None else self._row(context, ask, keeper, examples[pos], pos)
                self._keep(context, examples[pos], row or build_twin_row(context.output_schema, pos, twin or {}))
            except EndpointAway as exc:
                # Without a metric it is the output that waits.
                self.scores.append({"pos": pos, "metric": None, "error_message": exc.detail, WAITS: exc.seconds})
                return
            except RetryLater as exc:
                self.postponed_seconds, self.was_refused = exc.seconds, exc.was_refused
                # Part of a conversation is progress too.
                self.n_kept += exc.n_answered
                if exc.was_refused and self.n_refusals >= MAX_REFUSALS:
                    detail = f"The endpoint has answered 429 to {MAX_REFUSALS} calls in a row, with pauses in between."
                    self._stop("error", detail)
                return
            except MustStop as exc:
                self._stop(exc.reason, exc.detail)
                return
            if time.monotonic() - self._flushed_at > FLUSH_SECONDS:
                self._flush()

    def _stop(self, reason: str, detail: str) -> None:
        unit = self.unit
        stop_by_worker(
            account_id=unit.account_id,
            experiment_id=unit.experiment_id,
            config_id=unit.config_id,
            reason=reason,
            detail=detail,
        )

    def _row(
        self, context: UnitContext, ask: Requester, keeper: SampleKeeper | None, example: Example, pos: int
    ) -> dict[str, Any]:
        """Request an output, or all samples of one; raises RetryLater and MustStop."""

        def answer(sample: int) -> GeneratedOutput:
            if sample and self._is_stopped():
                raise RetryLater(0.0)
            return _apply_schema(context.output_schema, self._produced(ask, example, pos, sample))

        if keeper is None:
            return {"pos": pos, **asdict(answer(0))}
        try:
            return keeper.ask(pos, answer)
        except (RetryLater, MustStop):
            # Part of an example is progress: an endpoint that answers now and then is not failing continuously.
            self.n_kept += keeper.n_fresh
            raise

    def _produced(self, ask: Requester, example: Example, pos: int, sample: int) -> GeneratedOutput:
        if self.unit.attempt > MAX_LEASES:
            message = f"{MAX_LEASES} workers were lost on this example or the ones beside it."
            return GeneratedOutput("error", error_type="bug", error_message=message, attempt=self.unit.attempt)
        try:
            return ask(example, pos, sample)
        except (RetryLater, MustStop) as exc:
            if is_retry(self.unit.addition) and self._gives_up(exc):
                return build_final_error(exc)
            raise
        except Exception as exc:
            if is_outage(exc):
                raise
            log.exception("config %s failed on an example", self.unit.config_id)
            return GeneratedOutput("error", error_type="bug", error_message="Asking for this output broke on our side.")

    def _gives_up(self, exc: RetryLater | MustStop) -> bool:
        return isinstance(exc, MustStop) or (exc.was_refused and self.n_refusals >= MAX_REFUSALS)

    def _keep(self, context: UnitContext, example: Example, row: dict[str, Any]) -> None:
        scores = sample_scores(
            metrics=context.metrics,
            example=example,
            output=row,
            pointers=context.pointers,
            stopped=self.stopped,
            failures=context.failures,
            account_id=self.unit.account_id,
        )
        set_delays(self.unit, scores)
        if any(WAITS in score for score in scores):
            row["scored"] = False
        self.outputs.append(row)
        self.scores += scores
        self.n_kept += 1

    def _score_recorded(self, context: UnitContext) -> None:
        # What was added later looks at outputs that have the plan's own scores already.
        waiting = [row for row in recorded_outputs(self.unit).values() if self.unit.addition or not row.scored]
        scored = find_scored_metrics(self.unit) if needs_judge(context.metrics) else {}
        names = {metric.name for metric in context.metrics}
        self._score_all(context, waiting, {row.pos: names - scored.get(row.pos, set()) for row in waiting})

    def _score_all(
        self, context: UnitContext, waiting: Sequence[Output], only: Mapping[int, Collection[str]] | None = None
    ) -> None:
        """Score outputs by all metrics, or each by those that are named for its position."""
        examples = load_examples(self.unit)
        # They are recorded together, so those that wait for a judge wait side by side.
        n_threads = min(MAX_JUDGED_AT_ONCE, max(1, len(waiting))) if needs_judge(context.metrics) else 1
        connections.close_all()
        with ThreadPoolExecutor(n_threads, thread_name_prefix="judge") as pool:
            for scores in pool.map(lambda output: self._scores_of_recorded(context, examples, output, only), waiting):
                set_delays(self.unit, scores)
                self.scores += scores

    def _scores_of_recorded(
        self,
        context: UnitContext,
        examples: Mapping[int, Example],
        output: Output,
        only: Mapping[int, Collection[str]] | None,
    ) -> list[dict[str, Any]]:
        metrics = [metric for metric in context.metrics if only is None or metric.name in only.get(output.pos, ())]
        if self.unit.attempt > MAX_LEASES:
            message = f"{MAX_LEASES} workers were lost on scoring this output or the ones beside it."
            return [failed_score(output.pos, metric, "worker_lost", message) for metric in metrics]
        row = {name: getattr(output, name) for name in ("pos", "status", "output", "samples")}
        row |= {name: getattr(output, name) for name in ("error_type", "error_message", "isolated", "stages")}
        row |= {name: getattr(output, name) for name in ("latency_ms", "cost", "input_tokens", "output_tokens")}
        return sample_scores(
            metrics=metrics,
            example=examples[output.pos],
            output=row,
            pointers=context.pointers,
            stopped=self.stopped,
            failures=context.failures,
            client_scores=output.client_scores,
            account_id=self.unit.account_id,
        )

    def _hand_over(self, close: str) -> Future[RecordResult]:
        """Let the writer record what there is."""
        future = self.writer.submit(Outcome(self.unit, self.outputs, self.scores, close))
        self.outputs, self.scores = [], []
        return future

    def _flush(self) -> None:
        """Record the results so far before the next query, and check whether the unit is still leased."""
        connections.close_all()
        self._is_held = self._hand_over("keep").result().is_held
        self._flushed_at = time.monotonic()


def build_twin_row(schema: Mapping[str, Any] | None, pos: int, twin: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a reused output, checked against this config's schema, each sample separately."""
    row = {"pos": pos, **asdict(_apply_schema(schema, GeneratedOutput(**twin)))}
    if not row["samples"]:
        return row
    names = ("status", "output", "error_type", "error_message")
    outputs = [
        _apply_schema(schema, GeneratedOutput(**{name: sample.get(name) for name in names}))
        for sample in row["samples"]
    ]
    row["samples"] = [
        sample | {name: getattr(output, name) for name in names}
        for sample, output in zip(row["samples"], outputs, strict=True)
    ]
    return row | {name: getattr(select_sample(outputs), name) for name in names}


def select_sample(samples: Sequence[GeneratedOutput]) -> GeneratedOutput:
    """Return the sample that an output shows: the first that is ok, else the first."""
    return next((sample for sample in samples if sample.status == Output.Status.OK), samples[0])


def _apply_schema(schema: Mapping[str, Any] | None, produced: GeneratedOutput) -> GeneratedOutput:
    """Return an output that fits what its config declares, and in place of any other the error that it is."""
    if schema is None or produced.output is None or produced.status != Output.Status.OK:
        return produced
    why = describe_breach(schema, produced.output)
    if why is None:
        return produced
    return replace(produced, status="error", output=None, error_type=BAD_OUTPUT, error_message=why)
