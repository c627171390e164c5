"""Stages that configs share: one question to a node is asked once in an experiment, by whichever worker comes first.

The others wait for its answer. A failure is nobody else's: the stage is free again, and so it is when the worker dies,
because its lease is that of the unit which it works on. See docs/adr/0070-stages-are-leased-with-their-unit.md.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.configs import hashed
from evalsvc.experiments.definition.pipelines import PipelineNode
from evalsvc.experiments.definition.templates import fill_json
from evalsvc.experiments.models import StageOutput
from evalsvc.experiments.runner.generate import (
    TEMPLATE_FIELDS,
    AskedConfig,
    Postponed,
    Produced,
    connections_in,
    messages_for,
)
from evalsvc.experiments.runner.store import Unit
from evalsvc.tenancy.scope import account_scope

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.25
# Longer than this a runner is needed elsewhere; the unit comes back, and finds the answer or waits again.
LONGEST_WAIT_SECONDS = 5.0
MEASURED = ("latency_ms", "input_tokens", "output_tokens", "cost")


@dataclass(frozen=True, slots=True)
class StageAnswer:
    """The output of a node, or why there is none; `is_asked` says whether whoever has it now asked and pays for it."""

    produced: Produced
    is_asked: bool = True
    stage_id: int | None = None


def digest_of(asking: AskedConfig, node: PipelineNode, fields: Mapping[str, Any], sample: int) -> str:
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


def kept_key(config_id: int, pos: int, sample: int, mode: str, node: str) -> str:
    """Return under what an answer is kept that nobody else may take over, while its output is put off."""
    return _digest(["kept", config_id, pos, sample, mode, node])


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).hexdigest()


def ask_once(
    unit: Unit, key: str, pos: int, ask: Callable[[], Produced], *, should_stop: Callable[[], bool]
) -> StageAnswer:
    """Return the answer to a question: of whoever has asked it, or by asking.

    Raises Postponed while somebody else asks for long, and what asking raises.
    """
    found = _wait_for(unit, key, pos, should_stop)
    if found.output is not None:
        produced = Produced(output=found.output, **{name: getattr(found, name) for name in MEASURED})
        return StageAnswer(produced, (found.config_id, found.pos) == (unit.config_id, pos), found.pk)
    try:
        produced = ask()
    except BaseException:
        _give_up(unit, found.pk)
        raise
    if produced.status != "ok":
        _give_up(unit, found.pk)
        return StageAnswer(produced)
    _answer(unit, found.pk, produced)
    return StageAnswer(produced, True, found.pk)


def _wait_for(unit: Unit, key: str, pos: int, should_stop: Callable[[], bool]) -> StageOutput:
    """Wait until a stage has its answer, or is ours to ask."""
    pause, waited = FIRST_PAUSE_SECONDS, 0.0
    while True:
        found = _take(unit, key, pos)
        if found is not None and (found.output is not None or found.token == unit.token):
            return found
        if waited > LONGEST_WAIT_SECONDS or should_stop():
            raise Postponed(pause)
        time.sleep(pause)
        waited += pause
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _take(unit: Unit, key: str, pos: int) -> StageOutput | None:
    sql = "SELECT * FROM take_stage(%s, %s, %s, %s, %s, %s, %s)"
    values = [unit.account_id, unit.experiment_id, key, unit.config_id, pos, unit.id, unit.token]
    try:
        with account_scope(unit.account_id):
            return next(iter(StageOutput.objects.raw(sql, values)), None)
    finally:
        connections.close_all()


def _answer(unit: Unit, id: int, produced: Produced) -> None:
    _held(unit, id, lambda rows: rows.update(output=produced.output, **{n: getattr(produced, n) for n in MEASURED}))


def _give_up(unit: Unit, id: int) -> None:
    _held(unit, id, lambda rows: rows.delete())


def _held(unit: Unit, id: int, change: Callable[[Any], object]) -> None:
    try:
        with account_scope(unit.account_id):
            change(StageOutput.objects.filter(pk=id, token=unit.token, output__isnull=True))
    finally:
        connections.close_all()


def keep_answers(unit: Unit, answers: Mapping[tuple[str, int], Produced]) -> None:
    """Keep, by key and position, what has been paid for and what no stage holds: its output comes later."""
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
            **{name: getattr(produced, name) for name in MEASURED},
        )
        for (key, pos), produced in answers.items()
    ]
    with account_scope(unit.account_id):
        StageOutput.objects.bulk_create(rows, ignore_conflicts=True)


def kept_answers(unit: Unit, keys: Iterable[str]) -> dict[str, Produced]:
    """Return, by key, what was kept."""
    with account_scope(unit.account_id):
        rows = StageOutput.objects.filter(experiment_id=unit.experiment_id, key__in=list(keys))
        return {
            row.key: Produced(output=row.output, **{name: getattr(row, name) for name in MEASURED})
            for row in rows
            if row.output is not None
        }
