"""One example at a time: run the caller's code on it, its components by themselves, and the caller's own scorers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from evalsvc.client.coroutines import Loop
from evalsvc.client.experiment.tracing import Output, SpanReference
from evalsvc.client.pipeline.pipelines import ISOLATED, Pipeline, Simulation, as_pipeline, get_expected
from evalsvc.client.pipeline.runnables import Runner
from evalsvc.client.pipeline.streams import collect_output
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.client.scoring.row_scores import compute_score, get_component
from evalsvc.client.scoring.scorers import CustomMetric, PostedScore, is_computed_at_end

MAX_MESSAGE = 2000


class RowRunner(Protocol):
    """Runs examples of one config."""

    def run(self, row: Row) -> object:
        """Return what the caller's code makes of an example."""
        ...

    def isolate(self, row: Row) -> None:
        """Store in the row the outputs of components for expected inputs."""
        ...


def make_runner(
    runnable: object,
    loop: Loop,
    modes: Collection[str],
    simulation: Simulation,
    by_source: Mapping[str, Sequence[str]],
) -> RowRunner:
    """Return what runs a runnable: component by component where that is known and wanted, else as a whole."""
    needs_components = ISOLATED in modes or bool(simulation.names)
    pipeline = as_pipeline(runnable) if needs_components or isinstance(runnable, Pipeline) else None
    if pipeline is None:
        return WholeRunner(Runner(runnable, loop), loop, as_pipeline(runnable))
    return PipelineRunner(pipeline, loop, modes, simulation, by_source)


class WholeRunner:
    """Runs code with unknown components."""

    def __init__(self, runner: Runner, loop: Loop, pipeline: Pipeline | None) -> None:
        self._runner = runner
        self._loop = loop
        self._pipeline = pipeline

    def run(self, row: Row) -> object:
        """Run it on the input."""
        output = self._runner(row.input if self._pipeline is None else {"data": self._pipeline.expand(row.input)})
        return replace(output, value=collect_output(output.value, self._loop)) if isinstance(output, Output) else output

    def isolate(self, row: Row) -> None:
        """Leave the row as it is."""


class PipelineRunner:
    """Runs a pipeline, and its components by themselves where isolated mode is wanted."""

    def __init__(
        self,
        pipeline: Pipeline,
        loop: Loop,
        modes: Collection[str],
        simulation: Simulation,
        by_source: Mapping[str, Sequence[str]],
    ) -> None:
        self._pipeline = pipeline
        self._loop = loop
        self._is_isolated = ISOLATED in modes
        self._simulation = simulation
        self._by_source = by_source

    def run(self, row: Row) -> object:
        """Run the complete pipeline; components with simulated outputs are not called."""
        inputs = self._pipeline.expand(row.input)
        return self._pipeline.run_on(inputs, self._simulation.get_outputs(row), self._loop)

    def isolate(self, row: Row) -> None:
        """Run components on what is expected of their predecessors."""
        if not self._is_isolated or row.expected is None:
            return
        try:
            inputs, simulated = self._pipeline.expand(row.input), self._simulation.get_outputs(row)
        except ValueError:  # the row has this as its error already
            return
        integrated = _read_parts(row.output)
        outputs, errors = self._pipeline.run_isolated(
            inputs, row.expected, simulated, self._loop, integrated, self._by_source
        )
        row.isolated, row.isolated_errors = {**outputs} or None, errors


def _read_parts(output: object) -> dict[str, Mapping[str, object]]:
    """Return what components have put out in a whole run; nothing where it failed."""
    parts = output.items() if isinstance(output, Mapping) else ()
    return {str(name): part for name, part in parts if isinstance(part, Mapping)}


def score_row(row: Row, answer: object, metrics: Mapping[str, CustomMetric], loop: Loop) -> dict[str, PostedScore]:
    """Return the scores of an answer by the caller's scorers; the row records the error of a scorer that failed."""
    scores: dict[str, PostedScore] = {}
    for name, metric in metrics.items():
        if is_computed_at_end(metric):
            continue
        _keep_score(scores, name, metric, row, get_component(answer, metric.component), loop)
    return scores


def _keep_score(
    scores: dict[str, PostedScore], name: str, metric: CustomMetric, row: Row, output: object, loop: Loop
) -> None:
    expected = row.expected
    if metric.component is not None and (component_expected := get_expected(expected, metric.component)) is not None:
        expected = component_expected
    try:
        scores[name] = compute_score(metric, row.input, output, expected, loop)
    except Exception as exc:
        # The caller's code again: a scorer that breaks leaves its score missing, which the service counts.
        message = f"{type(exc).__name__}: {exc}"[:MAX_MESSAGE]
        row.scores[name] = RowScore(error_code="bug", error_message=message)


def set_span(row: Row, place: SpanReference) -> None:
    """Note where a row was made."""
    row.trace_id, row.span_id = place.trace_id, place.span_id


def fill_row(row: Row, made: object) -> None:
    """Store what a runnable returned in the row; its own trace IDs take precedence over the observed ones."""
    if not isinstance(made, Output):
        row.output = made
        return
    row.output = made.value
    row.input_tokens, row.output_tokens, row.cost = made.input_tokens, made.output_tokens, made.cost
    row.isolated = None if made.isolated is None else {name: dict(part) for name, part in made.isolated.items()}
    if made.trace_id is not None:
        set_span(row, made.place())
