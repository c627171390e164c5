"""Stages that configs share: each question to a node is sent once in an experiment, by the first worker that needs it.

The others wait for its answer. A failure is not shared: the stage is free again, as it is when the worker dies, because
its lease is that of the unit that it works on. See docs/adr/0070-stages-are-leased-with-their-unit.md.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson
from django.db import connections

from evalsvc.experiments.definition.configs import hashed
from evalsvc.experiments.definition.pipelines import PipelineNode
from evalsvc.experiments.definition.templates import fill_json
from evalsvc.experiments.models import StageOutput
from evalsvc.experiments.runner.generate import (
    SHORTEST_WAIT_SECONDS,
    TEMPLATE_FIELDS,
    ConfigClient,
    GeneratedOutput,
    RetryLater,
    connections_in,
    messages_for,
)
from evalsvc.experiments.runner.store import HeldStage, Unit, answer_stage, give_up_stage, take_stage
from evalsvc.experiments.runner.units.context import MAX_REMEMBERED_CHARS
from evalsvc.experiments.runner.writer import persistently
from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import account_scope

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.01, 0.25
# Longer than this a runner is needed elsewhere; the unit comes back, and finds the answer or waits again.
LONGEST_WAIT_SECONDS = 5.0
MAX_ANSWERS = 5_000
Place: TypeAlias = tuple[int, str]
"""An experiment, and the key of a question in it."""
MEASURED = ("latency_ms", "input_tokens", "output_tokens", "cost")


@dataclass
class Bill:
    """The resources of requests: of the answer that users would get, or of everything requested for an output."""

    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    def add(self, produced: GeneratedOutput | Bill) -> None:
        """Add one answer, the calls that gave none, or another bill."""
        for name in MEASURED:
            value = getattr(produced, name)
            if value is not None:
                setattr(self, name, (getattr(self, name) or 0) + value)


@dataclass(frozen=True, slots=True)
class StageAnswer:
    """The output of a node, or the error; `is_asked` is true if the unit that uses it also requested it and pays."""

    produced: GeneratedOutput
    is_asked: bool = True
    stage_id: int | None = None


def compute_digest(asking: ConfigClient, node: PipelineNode, fields: Mapping[str, Any], sample: int) -> str:
    """Return what tells a question from every other one: all that makes the answer, and which sample it is.

    Raises UnknownField, and CallFailed for a connection that cannot be used.
    """
    parameters = hashed(node.parameters)
    if node.kind == "chat":
        connection = asking.connection(str(parameters["connection"]))
        knobs = {name: value for name, value in parameters.items() if name not in TEMPLATE_FIELDS}
        model = parameters.get("model") or connection.model
        question = [knobs | {"connection": str(connection.id), "model": model}, messages_for(node.parameters, fields)]
        revisions = [connection.epoch]
    else:
        body = fill_json(node.parameters.get("body", {"input": "{{input}}"}), fields)
        question = [parameters | {"body": body}]
        revisions = [asking.connection(ref).epoch for ref in connections_in(node.parameters)]
    return _digest([node.kind, question, revisions, sample])


def build_answer_key(unit_id: int, pos: int, sample: int, mode: str, node: str) -> str:
    """Return the key of an answer that no other unit can reuse, stored while its output is postponed."""
    return _digest(["kept", unit_id, pos, sample, mode, node])


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).hexdigest()


class StageCache:
    """The stages that a process has in memory: answers, which never change, and questions in flight.

    Its threads wait here for each other's questions, and in the database for other processes.
    """

    def __init__(self) -> None:
        self._answers: BoundedCache[Place, HeldStage] = BoundedCache(MAX_ANSWERS)
        self._flights: dict[Place, threading.Event] = {}
        self._lock = threading.Lock()

    def get_answer(self, place: Place) -> HeldStage | None:
        """Return an answer."""
        return self._answers.get(place)

    def remember(self, place: Place, stage: HeldStage) -> None:
        """Cache an answer, unless it is long."""
        if len(repr(stage.output)) <= MAX_REMEMBERED_CHARS:
            self._answers.put(place, stage)

    def join(self, place: Place) -> threading.Event | None:
        """Return what to wait for while another thread sees to a question; None where it is ours now."""
        with self._lock:
            if place in self._flights:
                return self._flights[place]
            self._flights[place] = threading.Event()
            return None

    def leave(self, place: Place) -> None:
        """Let the others look."""
        with self._lock:
            self._flights.pop(place).set()


_desk = StageCache()


def request_once(
    unit: Unit, key: str, pos: int, ask: Callable[[], GeneratedOutput], *, should_stop: Callable[[], bool]
) -> StageAnswer:
    """Return the answer to a question: the existing one, or by sending the question.

    Raises RetryLater while another worker takes long to answer, and any error of the request.
    """
    place, until = (unit.experiment_id, key), time.monotonic() + LONGEST_WAIT_SECONDS
    while True:
        if (stage := _desk.get_answer(place)) is not None:
            return _reuse_answer(unit, pos, stage)
        flight = _desk.join(place)
        if flight is None:
            try:
                return _request_stage(unit, place, pos, ask, should_stop, until)
            finally:
                _desk.leave(place)
        _check_patience(until, should_stop)
        flight.wait(LONGEST_PAUSE_SECONDS)


def _request_stage(
    unit: Unit,
    place: Place,
    pos: int,
    ask: Callable[[], GeneratedOutput],
    should_stop: Callable[[], bool],
    until: float,
) -> StageAnswer:
    stage = _wait_for(unit, place, pos, should_stop, until)
    if stage.output is not None:
        _desk.remember(place, stage)
        return _reuse_answer(unit, pos, stage)
    try:
        produced = ask()
    except BaseException:
        _give_up(unit, stage)
        raise
    if produced.status != "ok" or produced.output is None:
        _give_up(unit, stage)
        return StageAnswer(produced)
    # The answer has been paid for: retry while the database is unavailable.
    if persistently(lambda: _answer(unit, stage, produced)):
        _desk.remember(place, replace(stage, output=produced.output, **_get_usage(produced)))
    return StageAnswer(produced, True, stage.id)


def _reuse_answer(unit: Unit, pos: int, found: HeldStage) -> StageAnswer:
    produced = GeneratedOutput(output=dict(found.output or {}), **_get_usage(found))
    # A retry of a failed output belongs to another unit: the query of the first attempt has been paid for.
    return StageAnswer(produced, (found.unit_id, found.pos) == (unit.id, pos), found.id)


def _get_usage(found: Any) -> dict[str, Any]:
    return {name: getattr(found, name) for name in MEASURED}


def _wait_for(unit: Unit, place: Place, pos: int, should_stop: Callable[[], bool], until: float) -> HeldStage:
    """Wait until a stage has its answer, or is leased to this unit."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            stage = take_stage(unit, key=place[1], pos=pos)
        finally:
            connections.close_all()
        if stage is not None and (stage.output is not None or stage.token == unit.token):
            return stage
        _check_patience(until, should_stop)
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _check_patience(until: float, should_stop: Callable[[], bool]) -> None:
    if time.monotonic() > until or should_stop():
        raise RetryLater(SHORTEST_WAIT_SECONDS)


def _answer(unit: Unit, found: HeldStage, produced: GeneratedOutput) -> bool:
    try:
        usage = [getattr(produced, name) for name in MEASURED]
        return answer_stage(unit, id=found.id, output=produced.output or {}, measured=usage)
    finally:
        connections.close_all()


def _give_up(unit: Unit, found: HeldStage) -> None:
    try:
        give_up_stage(unit, id=found.id)
    finally:
        connections.close_all()


def store_answers(unit: Unit, answers: Mapping[tuple[str, int], GeneratedOutput]) -> None:
    """Store, by key and position, answers that have been paid for and are not in a stage: their output comes later."""
    rows = [
        StageOutput(
            account_id=unit.account_id,
            experiment_id=unit.experiment_id,
            key=key,
            config_id=unit.config_id,
            pos=pos,
            unit_id=unit.id,
            token=unit.token,
            output=produced.output,
            **_get_usage(produced),
        )
        for (key, pos), produced in answers.items()
    ]
    with account_scope(unit.account_id):
        StageOutput.objects.bulk_create(rows, ignore_conflicts=True)


def load_answers(unit: Unit, keys: Iterable[str]) -> dict[str, GeneratedOutput]:
    with account_scope(unit.account_id):
        rows = StageOutput.objects.filter(experiment_id=unit.experiment_id, key__in=list(keys))
        return {
            row.key: GeneratedOutput(output=row.output, **_get_usage(row)) for row in rows if row.output is not None
        }
