"""Threads that lease examples, run the caller's code on them, and post what it made."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from evalsvc.client.coroutines import Loop
from evalsvc.client.errors import InvalidError, NotFoundError
from evalsvc.client.experiment.examples import LocalExample, build_row, strip_output, to_components
from evalsvc.client.experiment.runners import RowRunner, fill_row, make_runner, score_row, set_span
from evalsvc.client.experiment.samples import (
    build_refused_body,
    build_sampled_body,
    mark_bad_outputs,
    merge_samples,
)
from evalsvc.client.experiment.tracing import EXPERIMENT, Tracing
from evalsvc.client.pipeline.pipelines import Simulation
from evalsvc.client.results.live import ALIVE, Live
from evalsvc.client.results.rows import Row
from evalsvc.client.scoring.scorers import CustomMetric
from evalsvc.client.service.bodies import ExampleBody, RecordBody, UnitBody
from evalsvc.client.service.experiments_api import ExperimentsApi
from evalsvc.client.shapes import find_finish_reason
from evalsvc.client.values import to_wire

log = logging.getLogger("evalsvc.client")

UNIT_SECONDS = 2.0
LARGEST_UNIT = 10
LONGEST_LEASE_SECONDS = 3600
MAX_MESSAGE = 2000
DELETED = "deleted"
SPAN_FIELDS = ("trace_id", "span_id")
RECORDED_FIELDS = ("input_tokens", "output_tokens", "cost", *SPAN_FIELDS)
REFUSED_BODIES = frozenset({"validation_failed", "body_too_large", "malformed_json"})


@dataclass(slots=True)
class Job:
    """One config that this process runs."""

    config_id: str
    name: str
    runner: RowRunner
    strips_thinking: bool = True
    # Empty until the service has reported it.
    state: str = ""
    # Whether a lease might return examples. A config that has ended has work again when failures are retried, which
    # only a lease reveals.
    is_wanted: bool = True
    # Whether it was running and runs no more: what is left of a unit is given back.
    is_called_off: bool = False
    n_units_held: int = 0
    ready_at: float = 0.0
    # How long one example took lately: decides how many are leased at once, and for how long.
    seconds: float | None = None

    def update_state(self, state: str) -> None:
        """Apply a state that the service reported. A config that has just ended is not leased from again."""
        if state in ALIVE:
            self.is_wanted, self.is_called_off = True, False
        elif self.state in ALIVE or state == DELETED:
            self.is_wanted, self.is_called_off = False, True
        self.state = state

    def update_after_empty_lease(self, state: str) -> None:
        """Apply the state from a lease without a unit; for a config that has ended, it is final."""
        self.update_state(state)
        self.is_wanted = self.state in ALIVE


@dataclass
class WorkerPool:
    """Runs the push configs of one experiment. `failure` is what ended it early, if something did."""

    api: ExperimentsApi
    experiment_id: str
    metrics: Mapping[str, CustomMetric]
    local_examples: Mapping[str, LocalExample] = field(default_factory=dict)
    threads: int = 8
    lease_seconds: int = 60
    modes: Sequence[str] = ()
    simulation: Simulation = field(default_factory=Simulation)
    n_samples: int = 1
    by_source: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loop = Loop()
        self.tracing = Tracing()
        self.jobs: dict[str, Job] = {}
        self.rows: dict[tuple[str, int], Row] = {}
        self.failure: BaseException | None = None
        self.has_changed = threading.Event()
        self._n_turns = 0
        self._stopping = threading.Event()
        self._condition = threading.Condition()
        self._workers: list[threading.Thread] = []

    @property
    def is_running(self) -> bool:
        """Return whether the threads are started and have not been stopped."""
        return bool(self._workers) and not self._stopping.is_set()

    @property
    def has_work(self) -> bool:
        """Return whether examples are in progress, or might be available to lease."""
        return any(job.is_wanted or job.n_units_held for job in self.jobs.values())

    def add(self, config_id: str, name: str, runnable: object, parameters: Mapping[str, object]) -> None:
        """Run a config from now on."""
        with self._condition:
            runner = make_runner(runnable, self.loop, self.modes, self.simulation, self.by_source)
            strips_thinking = parameters.get("strip_thinking") is not False
            self.jobs[config_id] = Job(config_id, name, runner, strips_thinking)
            self._condition.notify_all()

    def start(self) -> None:
        """Start the threads as daemons, so that a call that hangs does not prevent the process from exiting."""
        self._stopping.clear()
        self._workers = [
            threading.Thread(target=self._work, name=f"evalsvc-{i}", daemon=True) for i in range(self.threads)
        ]
        for worker in self._workers:
            worker.start()

    def stop(self, *, patience: float = 5.0) -> None:
        """Take no more examples, and wait some seconds for those in work."""
        self._stopping.set()
        with self._condition:
            self._condition.notify_all()
        deadline = time.monotonic() + patience
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        self._workers = []
        self.loop.close()

    def update_states(self, live: Live) -> None:
        """Take over the states of the configs: someone may have stopped or resumed one."""
        with self._condition:
            states = {config.id: config.state for config in live.configs}
            for job in self.jobs.values():
                job.update_state(states.get(job.config_id, DELETED))
            self._condition.notify_all()

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                if (job := self._next_job()) is not None:
                    try:
                        self._lease_and_run(job)
                    except NotFoundError:
                        # The config was deleted. If the complete experiment was deleted, the thread that follows it
                        # gets the error.
                        self._update_job(job, job.update_state, DELETED)
        except BaseException as exc:
            # A worker must not fail silently: the thread that waits for the experiment raises this error.
            self.failure = self.failure or exc
            self._stopping.set()
        finally:
            self.has_changed.set()

    def _next_job(self) -> Job | None:
        """Return the next config in turn; wait when none has anything to lease."""
        with self._condition:
            alive = [job for job in self.jobs.values() if job.is_wanted]
            now = time.monotonic()
            ready = [job for job in alive if job.ready_at <= now]
            if not ready:
                self._condition.wait(min((job.ready_at - now for job in alive), default=1.0))
                return None
            self._n_turns += 1
            return ready[self._n_turns % len(ready)]

    def _lease_and_run(self, job: Job) -> None:
        size, seconds = self._lease_size(job)
        # Count the unit before the request: in the meantime another thread might be answered that no work remains.
        with self._track_unit(job):
            answer = self.api.lease(self.experiment_id, job.config_id, size, seconds)
            if (unit := answer.get("unit")) is not None:
                self._run_unit(job, unit)
                return
        self._update_job(job, job.update_after_empty_lease, answer["state"])
        job.ready_at = time.monotonic() + answer.get("retry_after_ms", 1000) / 1000

    @contextmanager
    def _track_unit(self, job: Job) -> Iterator[None]:
        with self._condition:
            job.n_units_held += 1
        try:
            yield
        finally:
            with self._condition:
                job.n_units_held -= 1
                if not (job.is_wanted or job.n_units_held):
                    self.has_changed.set()

    def _lease_size(self, job: Job) -> tuple[int, int]:
        """Return how many examples to lease and for how long: about two seconds of work, and ample time for it."""
        if job.seconds is None:
            return 1, min(LONGEST_LEASE_SECONDS, self.lease_seconds * self.n_samples)
        seconds = job.seconds * self.n_samples
        size = max(1, min(LARGEST_UNIT, int(UNIT_SECONDS / max(seconds, 1e-3))))
        return size, max(self.lease_seconds, min(LONGEST_LEASE_SECONDS, int(10 * size * seconds)))

    def _run_unit(self, job: Job, unit: UnitBody) -> None:
        outputs: list[dict[str, object]] = []
        rows: list[Row] = []
        for example in unit["examples"]:
            if self._stopping.is_set() or job.is_called_off:
                break
            row, output = self._run_samples(job, example)
            # An example that was cut short by the end is not recorded but given back: the next process runs it.
            if row is not None:
                rows.append(row)
                outputs.append(output)
        answer = self._record(unit, outputs, done=True)
        mark_bad_outputs(rows, answer.get("bad_outputs", ()))
        with self._condition:
            self.rows.update({(job.config_id, row.pos): row for row in rows})
        self._update_job(job, job.update_state, answer["state"])
        self.has_changed.set()

    def _run_samples(self, job: Job, example: ExampleBody) -> tuple[Row | None, dict[str, object]]:
        rows: list[Row] = []
        bodies: list[dict[str, object]] = []
        for _ in range(self.n_samples):
            row, body = self._run_one(job, example)
            if row is None or (rows and self._stopping.is_set()):
                return None, {}
            rows.append(row)
            bodies.append(body)
        return merge_samples(rows), build_sampled_body(example["pos"], bodies)

    def _run_one(self, job: Job, example: ExampleBody) -> tuple[Row | None, dict[str, object]]:
        row = build_row(example, example["pos"], self.local_examples)
        about = {EXPERIMENT: self.experiment_id, "evalsvc.config": job.name, "evalsvc.example_id": row.example_id}
        try:
            with self.tracing.example(**about) as place:
                set_span(row, place)
                _run_timed(job, row)
        except (Exception, SystemExit) as exc:
            # The caller's code: one example that breaks it is a result about that example, not the end.
            if self._stopping.is_set():
                return None, {}
            row.status, row.error_type, row.error_message = "error", "bug", _error_message(exc)
        # After the timing, because isolated runs are not part of the answer or of its failure.
        job.runner.isolate(row)
        return row, self._build_output(row, strips_thinking=job.strips_thinking)

    def _build_output(self, row: Row, *, strips_thinking: bool) -> dict[str, object]:
        took = {name: getattr(row, name) for name in RECORDED_FIELDS if getattr(row, name) is not None}
        body: dict[str, object] = {"latency_ms": row.latency_ms, **took}
        body |= {"isolated": to_wire(row.isolated)} if row.isolated else {}
        body |= {"isolated_errors": row.isolated_errors} if row.isolated_errors else {}
        if not row.is_ok:
            return body | {"error": {"type": row.error_type, "message": row.error_message}}
        scores = score_row(row, strip_output(row.output) if strips_thinking else row.output, self.metrics, self.loop)
        body |= {"finish_reason": reason} if (reason := find_finish_reason(row.output)) else {}
        return body | {"output": to_components(row.output)} | ({"scores": scores} if scores else {})

    def _record(self, unit: UnitBody, outputs: list[dict[str, object]], *, done: bool) -> RecordBody:
        """Post; what the service cannot accept becomes an error of its example, and spoils no other."""
        try:
            return self.api.record(self.experiment_id, unit, outputs, done=done)
        except InvalidError as exc:
            if exc.code not in REFUSED_BODIES:
                raise
            if len(outputs) > 1:
                last = len(outputs) - 1
                answers = [self._record(unit, [output], done=done and i == last) for i, output in enumerate(outputs)]
                bad = [bad_output for answer in answers for bad_output in answer.get("bad_outputs", ())]
                return {**answers[-1], "bad_outputs": bad}
            body = build_refused_body(outputs[0], _error_message(exc))
            return self.api.record(self.experiment_id, unit, [body], done=done)

    def _update_job(self, job: Job, hear: Callable[[str], None], state: str) -> None:
        with self._condition:
            before = (job.state, job.is_wanted)
            hear(state)
            if before != (job.state, job.is_wanted):
                self.has_changed.set()
                self._condition.notify_all()


def _run_timed(job: Job, row: Row) -> None:
    """Run the caller's code on one example, and note how long that took, whatever comes of it."""
    began = time.perf_counter()
    try:
        fill_row(row, job.runner.run(row))
    finally:
        seconds = time.perf_counter() - began
        row.latency_ms = round(seconds * 1000, 3)
        job.seconds = seconds if job.seconds is None else 0.7 * job.seconds + 0.3 * seconds


def _error_message(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {exc}"[:MAX_MESSAGE]
