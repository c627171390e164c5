"""Run a pipeline for one example: its nodes in order, and each in isolation if the isolated mode is on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evalsvc.experiments.definition.conversations import is_conversation
from evalsvc.experiments.definition.fields.components import find_expectation, isolated_key
from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.fields.pointers import MISSING, resolve_pointer
from evalsvc.experiments.definition.metrics import INTEGRATED, ISOLATED
from evalsvc.experiments.definition.pipelines import (
    EXPECTED,
    PIPELINE,
    PipelineGraph,
    PipelineNode,
    read_pipeline,
    root_of_name,
)
from evalsvc.experiments.definition.templates import ROOTS, UnknownField, field_value, fill_json
from evalsvc.experiments.runner.generate import ConfigClient, GeneratedOutput, MustStop, RetryLater, produce, storable
from evalsvc.experiments.runner.store import Unit
from evalsvc.experiments.runner.units import stages
from evalsvc.experiments.runner.units.context import Example, UnitContext
from evalsvc.experiments.runner.units.conversations import ConversationRequester
from evalsvc.experiments.runner.units.stages import MEASURED, Bill, StageAnswer
from evalsvc.experiments.runner.units.waits import find_output_delay
from evalsvc.judges.failures import CallFailed

Fields = Mapping[str, Any]
Requester = Callable[[Example, int, int], GeneratedOutput]
"""Asks for an example at a position, and for which of its samples."""
NOT_APPLICABLE = "not_applicable"


def build_requester(unit: Unit, context: UnitContext, should_stop: Callable[[], bool]) -> Requester:
    """Return a callable that requests the output of a config for an example at a position."""
    if context.kind == PIPELINE:
        return PipelineRequester(unit, read_pipeline(context.parameters), context, should_stop)
    if is_conversation(context.kind, context.parameters):
        return ConversationRequester(unit, context, should_stop)
    find_delay = partial(find_output_delay, unit)
    asking = ConfigClient(unit.account_id, context.kind, context.parameters, should_stop, find_delay)
    return lambda example, pos, sample: produce(asking, example)


class PipelineRequester:
    """Requests the outputs of one unit from a pipeline."""

    def __init__(self, unit: Unit, graph: PipelineGraph, context: UnitContext, should_stop: Callable[[], bool]) -> None:
        self.unit = unit
        self.graph = graph
        self.modes = context.modes
        self.by_source = context.by_source
        self.n_samples = context.n_samples
        self.should_stop = should_stop
        # A postponed output resumes with those answers that no other unit can reuse.
        self.keeps = [node for node in graph.called if not node.reuse] if graph.nodes[1:] else []
        self.kept = stages.load_answers(unit, self._keys()) if self.keeps else {}

    def _keys(self) -> list[str]:
        runs = (INTEGRATED, ISOLATED, *(f"{ISOLATED}:{source}" for source in self.by_source))
        places = itertools.product(range(self.unit.from_pos, self.unit.to_pos), range(self.n_samples), runs, self.keeps)
        return [self.key(*place) for place in places]

    def key(self, pos: int, sample: int, run: str, node: PipelineNode) -> str:
        """Return the key of a node's answer in a run that no other unit can reuse."""
        return stages.build_answer_key(self.unit.id, pos, sample, run, node.name)

    def __call__(self, example: Example, pos: int, sample: int) -> GeneratedOutput:
        """Request one output; raises RetryLater and MustStop as `produce` does, and stores the answers so far."""
        run = PipelineRun(self, example, pos, sample)
        try:
            return run.produce()
        except (RetryLater, MustStop):
            if run.kept:
                stages.store_answers(self.unit, run.kept)
                self.kept |= {key: produced for (key, _), produced in run.kept.items()}
            raise

    def ask(self, node: PipelineNode, fields: Fields, pos: int, sample: int, run: str) -> StageAnswer:
        """Return what a node answers: what is known already, or by asking it."""
        find_delay = partial(find_output_delay, self.unit)
        asking = ConfigClient(self.unit.account_id, str(node.kind), node.parameters, self.should_stop, find_delay)
        if not node.reuse:
            stored_answer = self.kept.get(self.key(pos, sample, run, node))
            return StageAnswer(stored_answer if stored_answer is not None else produce(asking, fields))
        try:
            key = stages.compute_digest(asking, node, fields, sample)
        except (UnknownField, CallFailed):
            return StageAnswer(produce(asking, fields))
        return stages.request_once(self.unit, key, pos, lambda: produce(asking, fields), should_stop=self.should_stop)


@dataclass
class PipelineRun:
    """One example on its way through a pipeline."""

    asker: PipelineRequester
    example: Example
    pos: int
    sample: int = 0
    outputs: dict[str, Any] = field(default_factory=dict)
    isolated: dict[str, Any] = field(default_factory=dict)
    traces: dict[str, dict[str, Any]] = field(default_factory=lambda: {INTEGRATED: {}})
    kept: dict[tuple[str, int], GeneratedOutput] = field(default_factory=dict)
    shown: Bill = field(default_factory=Bill)
    paid: Bill = field(default_factory=Bill)
    n_asked: int = 0
    n_saved: int = 0
    attempt: int = 1
    _stage_ids: set[int] = field(default_factory=set)
    # What nodes have put out for what they read, in the runs so far.
    _fed: list[tuple[str, Mapping[str, Any], GeneratedOutput]] = field(default_factory=list)

    def produce(self) -> GeneratedOutput:
        """Run all nodes, then those for the isolated mode; a failed output retains the results of the other nodes."""
        produced = self._run()
        if ISOLATED in self.asker.modes:
            self._run_alone()
            for source, targets in self.asker.by_source.items():
                self._run_behind(source, targets)
        for name in MEASURED:
            setattr(produced, name, getattr(self.shown, name))
        produced.attempt = self.attempt
        produced.isolated = self.isolated or None
        names = ("input_tokens", "output_tokens", "cost")
        totals = {
            "n_asked": self.n_asked,
            "n_saved": self.n_saved,
            **{name: getattr(self.paid, name) for name in names},
        }
        produced.stages = {**self.traces, "paid": totals}
        return produced

    def _run(self) -> GeneratedOutput:
        graph = self.asker.graph
        for node in graph.nodes:
            simulation = self._find_simulation(node)
            if simulation is not None:
                source, value = simulation
                if value is MISSING:
                    return self._failed(node, "bad_output", f"The example has nothing at {source!r}.")
                self.outputs[node.name] = value if isinstance(value, Mapping) else {OUTPUT: value}
                self.traces[INTEGRATED][node.name] = {"simulated": source}
                continue
            result = self._ask(node, self._fields(node, self.outputs), INTEGRATED)
            if result.status != "ok":
                failed = self._failed(node, str(result.error_type), str(result.error_message), result.status)
                failed.ending = result.ending
                return failed
            self._keep(node, self.outputs, result)
            self.outputs[node.name] = result.output
        answer = graph.answer_in(self.outputs)
        if answer is MISSING:
            return GeneratedOutput("error", error_type="bad_output", error_message=f"Nothing lies at {graph.output!r}.")
        return GeneratedOutput(output={OUTPUT: answer, **self.outputs})

    def _failed(self, node: PipelineNode, code: str, why: str, status: str = "error") -> GeneratedOutput:
        return GeneratedOutput(status, error_type=code, error_message=f"Node {node.name!r}: {why}"[:1000])

    def _find_simulation(self, node: PipelineNode) -> tuple[str, Any] | None:
        """Return the source and the output of a simulated node; None for a node that is queried."""
        graph = self.asker.graph
        by_id = graph.simulated_by_id.get(str(self.example["id"]), {})
        for outputs in (by_id, graph.simulated):
            if node.name in outputs:
                return "given", outputs[node.name]
        if node.simulate_from is None:
            return None
        if node.simulate_from == EXPECTED:
            return EXPECTED, storable(find_expectation(self.example.get(EXPECTED), node.name))
        return node.simulate_from, resolve_pointer(self.example, node.simulate_from)

    def _fields(self, node: PipelineNode, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the templates of a node may name."""
        root_fields = {name: self.example.get(name) for name in ROOTS}
        read = {name: outputs[name] for name in node.reads if name in outputs}
        return {**root_fields, **read, **{name: _Lazy(value, root_fields) for name, value in node.inputs.items()}}

    def _ask(self, node: PipelineNode, fields: dict[str, Any], mode: str, source: str | None = None) -> GeneratedOutput:
        try:
            filled = {name: value.fill() if isinstance(value, _Lazy) else value for name, value in fields.items()}
        except UnknownField as exc:
            return GeneratedOutput("error", error_type="bug", error_message=str(exc))
        run = mode if source is None else f"{mode}:{source}"
        answer = self.asker.ask(node, filled, self.pos, self.sample, run)
        is_asked = answer.is_asked and answer.stage_id not in self._stage_ids
        self._book(answer.produced, is_asked, mode)
        self._note(node.name if source is None else isolated_key(node.name, source), answer, is_asked, mode)
        if answer.stage_id is not None:
            self._stage_ids.add(answer.stage_id)
        elif answer.produced.status == "ok" and node in self.asker.keeps:
            self.kept[self.asker.key(self.pos, self.sample, run, node), self.pos] = answer.produced
        return answer.produced

    def _book(self, produced: GeneratedOutput, is_asked: bool, mode: str) -> None:
        self.attempt = max(self.attempt, produced.attempt)
        self.n_asked += is_asked
        self.n_saved += not is_asked
        if mode == INTEGRATED:
            self.shown.add(produced)
        if is_asked:
            self.paid.add(produced)

    def _note(self, name: str, found: StageAnswer, is_asked: bool, mode: str) -> None:
        trace = {part: getattr(found.produced, part) for part in MEASURED}
        trace |= {"reused_from": None if is_asked else str(found.stage_id)}
        trace |= {"stage_id": None if found.stage_id is None else str(found.stage_id)}
        for part in ("error_type", "error_message"):
            if getattr(found.produced, part) is not None:
                trace[part] = getattr(found.produced, part)
        self.traces.setdefault(mode, {})[name] = trace

    def _run_alone(self) -> None:
        """Run each node on the expected outputs upstream of it; record the reason if these are unknown.

        A node of which nothing is expected gives what it made of expected outputs itself, or else its integrated
        output, so that the part of the pipeline behind an expected output runs on it.
        """
        self.traces[ISOLATED] = {}
        for node in self.asker.graph.alone:
            if self._find_simulation(node) is not None:
                continue
            expected = {name: find_expectation(self.example.get(EXPECTED), name) for name in node.reads}
            why = _why_not_alone(node, expected)
            if why is not None and (failure := self._find_failure(node, expected)) is not None:
                self.traces[ISOLATED][node.name] = failure
                continue
            if why is not None:
                is_fed = any(value is not MISSING or name in self.isolated for name, value in expected.items())
                expected = {name: self._find_source(name, value) for name, value in expected.items()}
                if not is_fed or _why_not_alone(node, expected) is not None:
                    self.traces[ISOLATED][node.name] = {NOT_APPLICABLE: why}
                    continue
            result = self._ask(node, self._fields(node, expected), ISOLATED)
            if result.status == "ok":
                self._keep(node, expected, result)
                self.isolated[node.name] = result.output

    def _run_behind(self, source: str, targets: Sequence[str]) -> None:
        """Run the nodes between a source and some nodes on the expected output of the source, all else as it was made.

        A node that gets what it got in an earlier run is not asked again: its answers would differ by chance alone.
        """
        expected = find_expectation(self.example.get(EXPECTED), source)
        made = {**self.outputs, source: _merge(expected, self.outputs.get(source, MISSING))}
        for node in self.asker.graph.list_behind(source, targets):
            if self._find_simulation(node) is not None:
                continue
            key, read = isolated_key(node.name, source), {name: made.get(name, MISSING) for name in node.reads}
            made.pop(node.name, None)
            if expected is MISSING:
                self.traces[ISOLATED][key] = {NOT_APPLICABLE: f"The example expects nothing of {source!r}."}
            elif (failure := self._find_failure(node, read, source)) is not None:
                self.traces[ISOLATED][key] = failure
            elif _why_not_alone(node, read) is not None:
                self.traces[ISOLATED][key] = {NOT_APPLICABLE: f"Not everything that {node.name!r} reads was made."}
            else:
                result = self._take_earlier(node, read) or self._ask(node, self._fields(node, read), ISOLATED, source)
                if result.status == "ok":
                    made[node.name] = result.output
                    self._keep(node, read, result)
                    self.isolated |= {key: result.output} if node.name in targets else {}

    def _keep(self, node: PipelineNode, read: Mapping[str, Any], result: GeneratedOutput) -> None:
        if self.asker.by_source and _why_not_alone(node, read) is None:
            self._fed.append((node.name, _values_read(node, read), result))

    def _take_earlier(self, node: PipelineNode, read: Mapping[str, Any]) -> GeneratedOutput | None:
        values = _values_read(node, read)
        return next((result for name, fed, result in self._fed if (name, fed) == (node.name, values)), None)

    def _find_failure(
        self, node: PipelineNode, expected: Mapping[str, Any], source: str | None = None
    ) -> dict[str, Any] | None:
        """Return the trace of a node that reads one which failed on expected outputs; None if there is none."""
        for name in node.reads:
            trace = self.traces[ISOLATED].get(name if source is None else isolated_key(name, source), {})
            if expected[name] is MISSING and trace.get("error_type"):
                message = f"Node {name!r}, which it reads, failed: {trace.get('error_message')}"[:1000]
                return {"error_type": trace["error_type"], "error_message": message}
        return None

    def _find_source(self, name: str, expected: Any) -> Any:
        """Return the output that stands for a node's: the fields expected of it before those that it made."""
        made = self.isolated.get(name, self.outputs.get(name, MISSING))
        return _merge(expected, made)


def _merge(expected: Any, made: Any) -> Any:
    if expected is MISSING:
        return made
    return {**made, **expected} if isinstance(made, Mapping) and isinstance(expected, Mapping) else expected


@dataclass(frozen=True)
class _Lazy:
    """An input of a node, filled when the node is queried: its example may lack a field."""

    template: Any
    fields: Fields

    def fill(self) -> Any:
        return fill_json(self.template, self.fields)


def _values_read(node: PipelineNode, read: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the templates of a node name of other nodes, all of which is there."""
    return {name: field_value(name, read) for name in node.names if root_of_name(name) in node.reads}


def _why_not_alone(node: PipelineNode, expected: Mapping[str, Any]) -> str | None:
    """Return what of the nodes before it the example does not expect; None when all is there."""
    for name in node.names:
        root = root_of_name(name)
        if root not in expected:
            continue
        if expected[root] is MISSING:
            return f"The example expects nothing of {root!r}, which {node.name!r} reads."
        try:
            field_value(name, expected)
        except UnknownField:
            return f"What the example expects of {root!r} has no `{name.partition('.')[2]}`, which {node.name!r} reads."
    return None
