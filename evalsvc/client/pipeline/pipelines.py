"""`Pipeline`: code with known components, each of which can be scored, simulated and run separately."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.callables import ANSWER, CallableGraph
from evalsvc.client.pipeline.graphs import ByComponent, ComponentLink, Fields, Graph
from evalsvc.client.pipeline.haystack import HaystackGraph, is_haystack
from evalsvc.client.pipeline.isolated import MAX_MESSAGE, IsolatedRuns
from evalsvc.client.results.rows import Row

INTEGRATED, ISOLATED = MODES = ("integrated", "isolated")
EXPECTED = "expected"


class Pipeline:
    """Components and their connections: `Pipeline({"retriever": f, "reader": g}, ["retriever.docs -> reader.docs"])`.

    A component is a function, a coroutine function or an object with `run`; it takes its parameters by name and returns
    a dictionary of fields, or one value. Raises ValueError for a pipeline that could never run: an unknown name, a
    parameter with two connections, a circle, a component that is neither read nor part of the `output`.
    """

    def __init__(
        self,
        components: Mapping[str, object],
        connections: Sequence[str] = (),
        *,
        output: str | Sequence[str] | None = None,
    ) -> None:
        outputs = [output] if isinstance(output, str) else output
        self.graph_of_components: Graph = CallableGraph(
            components, [ComponentLink.parse(connection) for connection in connections], outputs
        )

    @classmethod
    def from_haystack(cls, pipeline: object) -> Self:
        """Take a Haystack 2.x pipeline. One with loops can be evaluated as a whole only."""
        instance = cls.__new__(cls)
        instance.graph_of_components = HaystackGraph(pipeline)
        return instance

    @property
    def components(self) -> list[str]:
        """The names of the components."""
        return list(self.graph_of_components.names)

    @property
    def connections(self) -> list[str]:
        """The connections, as they are written."""
        return [str(link) for link in self.graph_of_components.links]

    @property
    def output(self) -> list[str]:
        """The components with the outputs that form the answer."""
        return list(self.graph_of_components.outputs)

    def expand(self, value: object) -> dict[str, Fields]:
        """Return an input by component. ValueError where no component takes part of it, or more than one could."""
        return self.graph_of_components.expand(value)

    def run(self, data: object, simulated_outputs: ByComponent | None = None) -> dict[str, Any]:
        """Run on one input: what each component has put out by its name, and the final output as `output`."""
        loop = Loop()
        try:
            return self.run_on(self.expand(data), simulated_outputs or {}, loop)
        finally:
            loop.close()

    def run_on(self, inputs: ByComponent, given: ByComponent, loop: Loop) -> dict[str, Any]:
        """Run on an input by component; components with simulated outputs are not called."""
        if given and self.graph_of_components.why_whole:
            raise ValueError(f"No output can be simulated: {self.graph_of_components.why_whole}.")
        outputs = self.graph_of_components.run(inputs, given, loop)
        finals = {name: outputs[name] for name in self.output if name in outputs}
        answer = next(iter(finals.values())) if len(self.output) == 1 and finals else finals
        return {ANSWER: answer, **outputs}

    def run_isolated(
        self,
        inputs: ByComponent,
        expected: object,
        given: Collection[str],
        loop: Loop,
        integrated: ByComponent | None = None,
        by_source: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[dict[str, Fields], dict[str, str]]:
        """Run each component on the *expected* outputs upstream of it; return outputs and errors by component.

        A predecessor of which nothing is expected gives what it makes of expected outputs itself, so that a whole
        subpipeline runs on them; one with nothing expected upstream gives its `integrated` output. Components without
        predecessors are left out, as their isolated output equals the integrated one; so are components with simulated
        outputs, and those with nothing expected upstream.

        `by_source` are components to run again, by the one component upstream that gives its expected output, all
        else being as it was made: they are in the results as `component:source`.
        """
        graph, outputs, errors = self.graph_of_components, dict[str, Fields](), dict[str, str]()
        labels = {name: part for name in self.components if (part := get_expected(expected, name)) is not None}
        runs = IsolatedRuns(graph, inputs, loop)
        made = integrated or {}
        for name in graph.order if by_source else ():
            runs.add_earlier(name, made, made.get(name))
        for name in graph.order:
            links = [] if name in given else graph.links_into(name)
            unlabelled = {link.before for link in links if link.field not in labels.get(link.before, {})}
            if broken := sorted(unlabelled & errors.keys()):
                errors[name] = f"{broken[0]!r}, which it reads, failed: {errors[broken[0]]}"[:MAX_MESSAGE]
                continue
            sources = {
                link.before: {**made.get(link.before, {}), **outputs.get(link.before, {})}
                | dict(labels.get(link.before, {}))
                for link in links
            }
            is_fed = unlabelled != {link.before for link in links} or any(before in outputs for before in unlabelled)
            if not is_fed or any(link.field not in sources[link.before] for link in links):
                continue
            runs.call(name, sources, outputs, errors)
            if by_source:
                runs.add_earlier(name, sources, outputs.get(name))
        for source, targets in (by_source or {}).items():
            if source not in labels:
                continue
            replaced = {**made, source: {**made.get(source, {}), **labels[source]}}
            found, failed = runs.run_behind(source, replaced, targets, given)
            outputs |= {f"{name}:{source}": found[name] for name in targets if name in found}
            errors |= {f"{name}:{source}": failed[name] for name in targets if name in failed}
        return outputs, errors


def get_expected(expected: object, name: str) -> Mapping[str, object] | None:
    """Return what is expected of a component; None where nothing is."""
    part = expected.get(name) if isinstance(expected, Mapping) else None
    return part if isinstance(part, Mapping) else None


def as_pipeline(runnable: object) -> Pipeline | None:
    """Return a pipeline for a runnable with known components, None for any other runnable."""
    if isinstance(runnable, Pipeline):
        return runnable
    return Pipeline.from_haystack(runnable) if is_haystack(runnable) else None


@dataclass(frozen=True, slots=True)
class Simulation:
    """Outputs that are given instead of made: for all examples, by example, or what an example expects."""

    fixed: ByComponent = field(default_factory=dict)
    by_example: Mapping[str, ByComponent] = field(default_factory=dict)
    from_expected: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """The components that are not called, at least for some examples."""
        singly = {name for outputs in self.by_example.values() for name in outputs}
        return {*self.fixed, *self.from_expected, *singly}

    def get_outputs(self, row: Row) -> dict[str, Mapping[str, object]]:
        """Return the outputs that are given for an example. ValueError where it expects nothing of such a component."""
        outputs = dict(self.fixed)
        for name in self.from_expected:
            expected = get_expected(row.expected, name)
            if expected is None:
                raise ValueError(
                    f"{name!r} is simulated from what is expected of it, and this example expects nothing."
                )
            outputs[name] = expected
        return {**outputs, **self.by_example.get(row.example_id, {})}


def read_simulation(
    outputs: ByComponent | Sequence[ByComponent | None] | None,
    source: str | Mapping[str, str] | Sequence[str] | None,
    n_inputs: int | None,
) -> Simulation:
    """Read `simulated_outputs` and `simulate_from`. ValueError for lists of another length than the inputs'."""
    names = _read_source(source)
    if outputs is None or isinstance(outputs, Mapping):
        return Simulation(fixed=cast(ByComponent, outputs or {}), from_expected=names)
    if n_inputs is None or len(outputs) != n_inputs:
        has = "a dataset has no places" if n_inputs is None else f"there are {n_inputs} inputs"
        raise ValueError(
            f"There are {len(outputs)} simulated outputs, and {has}; give one for each input, or one for all."
        )
    return Simulation(by_example={str(i): output for i, output in enumerate(outputs) if output}, from_expected=names)


def _read_source(source: str | Mapping[str, str] | Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(source, Mapping):
        if wrong := sorted({how for how in source.values() if how != EXPECTED}):
            raise ValueError(f"`simulate_from` takes 'expected' for a component, not {wrong[0]!r}.")
        return tuple(source)
    return (source,) if isinstance(source, str) else tuple(source or ())


def check_simulation(pipeline: Pipeline | None, simulation: Simulation, modes: Collection[str]) -> None:
    """Refuse, before anything runs, what a runnable cannot do. ValueError."""
    if unknown := sorted(set(modes) - set(MODES)):
        raise ValueError(f"There is no mode {unknown[0]!r}: there are {' and '.join(MODES)}.")
    graph = pipeline.graph_of_components if pipeline is not None else None
    why = "it hides its components; give them as a `Pipeline`" if graph is None else graph.why_whole
    if why is not None and ISOLATED in modes:
        raise ValueError(f"This runnable can be evaluated as a whole (integrated) only: {why}.")
    if why is not None and simulation.names:
        raise ValueError(f"No output of this runnable can be simulated: {why}.")
    if graph is None:
        return
    if undefined := sorted(simulation.names - set(graph.names)):
        raise ValueError(f"There is no component {undefined[0]!r} to simulate; there are {', '.join(graph.names)}.")
    for outputs in (simulation.fixed, *simulation.by_example.values()):
        for name, fields in outputs.items():
            if missing := sorted(graph.fields_read(name) - set(fields)):
                raise ValueError(f"The simulated output of {name!r} has no `{missing[0]}`, which others read.")
