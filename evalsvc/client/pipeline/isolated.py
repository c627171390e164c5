"""Components run by themselves: on expected outputs upstream, or on the expected output of one component alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from evalsvc.client.coroutines import Loop
from evalsvc.client.pipeline.graphs import ByComponent, Fields, Graph

MAX_MESSAGE = 2000


class IsolatedRuns:
    """The isolated runs of one example.

    A component that gets what it got in an earlier run is not called again for an expected output of one component: its
    answers would differ by chance alone.
    """

    def __init__(self, graph: Graph, inputs: ByComponent, loop: Loop) -> None:
        self._graph = graph
        self._inputs = inputs
        self._loop = loop
        self._earlier: list[tuple[str, Fields, Fields]] = []

    def add_earlier(self, name: str, sources: ByComponent, output: Mapping[str, object] | None) -> None:
        """Remember what a component put out for these sources."""
        if output is None or any(
            link.field not in sources.get(link.before, {}) for link in self._graph.links_into(name)
        ):
            return
        self._earlier.append((name, self._graph.arguments(name, self._inputs, sources), dict(output)))

    def call(self, name: str, sources: ByComponent, outputs: dict[str, Fields], errors: dict[str, str]) -> None:
        """Call a component; put its output into `outputs`, or its error into `errors`."""
        try:
            outputs[name] = self._graph.call(name, self._graph.arguments(name, self._inputs, sources), self._loop)
        except Exception as exc:
            # The caller's code: what breaks here is an error of this component on this example.
            errors[name] = f"{type(exc).__name__}: {exc}"[:MAX_MESSAGE]

    def run_behind(
        self, source: str, made: ByComponent, targets: Iterable[str], given: Collection[str]
    ) -> tuple[dict[str, Fields], dict[str, str]]:
        """Run what lies between a source and some components on what was `made`; return outputs and errors."""
        outputs, errors = dict[str, Fields](), dict[str, str]()
        wanted = list_between(self._graph, source, targets) - set(given)
        sources = {name: fields for name, fields in made.items() if name not in wanted}
        for name in self._graph.order:
            if name not in wanted:
                continue
            links = self._graph.links_into(name)
            if broken := sorted({link.before for link in links} & errors.keys()):
                errors[name] = f"{broken[0]!r}, which it reads, failed: {errors[broken[0]]}"[:MAX_MESSAGE]
            elif all(link.field in sources.get(link.before, {}) for link in links):
                if (earlier := self._find_earlier(name, sources)) is not None:
                    outputs[name] = earlier
                else:
                    self.call(name, sources, outputs, errors)
                    self.add_earlier(name, sources, outputs.get(name))
                sources |= {name: outputs[name]} if name in outputs else {}
        return outputs, errors

    def _find_earlier(self, name: str, sources: ByComponent) -> Fields | None:
        arguments = self._graph.arguments(name, self._inputs, sources)
        return next((out for other, got, out in self._earlier if other == name and _is_same(got, arguments)), None)


def list_between(graph: Graph, source: str, targets: Iterable[str]) -> set[str]:
    """Return the targets and what lies between them and a source: what runs on the expected output of the source."""
    ancestors: dict[str, set[str]] = {}
    for name in graph.order:
        reads = {link.before for link in graph.links_into(name)}
        ancestors[name] = reads.union(*(ancestors[before] for before in reads))
    wanted = {name for target in targets for name in {target} | ancestors.get(target, set())}
    return {name for name in wanted if source in ancestors.get(name, ())}


def count_isolated_runs(graph: Graph, by_source: Mapping[str, Sequence[str]], given: Collection[str]) -> int:
    """Return how many components an example runs in isolated mode, at most."""
    runs = [name for name in graph.order if graph.links_into(name)]
    runs += [name for source, targets in by_source.items() for name in list_between(graph, source, targets)]
    return sum(name not in given for name in runs)


def _is_same(first: Fields, second: Fields) -> bool:
    try:
        return bool(first == second)
    except Exception:
        # Arrays and data frames have no single answer.
        return False
