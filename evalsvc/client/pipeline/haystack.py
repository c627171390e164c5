"""A graph of Haystack's components: whole runs go through the pipeline itself, single ones through the component.

Nothing is imported of Haystack: what is read is the graph that its 2.x pipelines have.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast, get_args

from evalsvc.client.coroutines import Loop, wait_if_awaitable
from evalsvc.client.pipeline.graphs import ByComponent, ComponentLink, Fields, Graph


def is_haystack(runnable: object) -> bool:
    """Return whether a runnable is a pipeline with a graph of components, as Haystack 2.x has them."""
    nodes = getattr(getattr(runnable, "graph", None), "nodes", None)
    return nodes is not None and all(callable(getattr(runnable, name, None)) for name in ("run", "get_component"))


class HaystackGraph(Graph):
    """The components of a Haystack pipeline. Loops run as a whole only."""

    def __init__(self, pipeline: Any) -> None:
        if not is_haystack(pipeline):
            raise TypeError(f"A {type(pipeline).__name__} is no Haystack 2.x pipeline: it has no graph of components.")
        self._pipeline = pipeline
        self._lock, self._is_warm = threading.Lock(), False
        self._nodes: Mapping[str, Mapping[str, Any]] = dict(pipeline.graph.nodes(data=True))
        edges = pipeline.graph.edges(data=True)
        links = [ComponentLink(a, edge["from_socket"].name, b, edge["to_socket"].name) for a, b, edge in edges]
        super().__init__(self._nodes, links)

    def expand(self, value: object) -> dict[str, Fields]:
        """Return an input by component; as in Haystack, one without names goes to each component with such an input."""
        if not isinstance(value, Mapping):
            raise ValueError(f"A Haystack pipeline takes an object, not a {type(value).__name__}.")
        if all(isinstance(part, Mapping) for part in value.values()):
            if unknown := [name for name in value if name not in self._nodes]:
                raise ValueError(f"The pipeline has no component {unknown[0]!r}; it has {', '.join(self.names)}.")
            return {str(name): dict(part) for name, part in value.items()}
        inputs: dict[str, Fields] = {}
        for key, part in value.items():
            takers = [name for name, node in self._nodes.items() if key in node["input_sockets"]]
            if not takers:
                raise ValueError(f"No component takes the input `{key}`; there are {', '.join(self.names)}.")
            for name in takers:
                inputs.setdefault(name, {})[str(key)] = part
        return inputs

    def run(self, inputs: ByComponent, given: ByComponent, loop: Loop) -> dict[str, Fields]:
        """Run the pipeline itself; component by component only where outputs are given."""
        if given:
            return self._run_singly(inputs, given, loop)
        data = {name: dict(part) for name, part in inputs.items()}
        return cast("dict[str, Fields]", self._pipeline.run(data, include_outputs_from=set(self.names)))

    def _run_singly(self, inputs: ByComponent, given: ByComponent, loop: Loop) -> dict[str, Fields]:
        """Run in order; a branch that no router has taken is left out, as the pipeline does."""
        outputs: dict[str, Fields] = {}
        for name in self.order:
            if name in given:
                outputs[name] = dict(given[name])
                continue
            arguments = self.arguments(name, inputs, outputs)
            needed = [socket.name for socket in self._nodes[name]["input_sockets"].values() if socket.is_mandatory]
            if all(parameter in arguments for parameter in needed):
                outputs[name] = self.call(name, arguments, loop)
        return outputs

    def arguments(self, name: str, inputs: ByComponent, made: ByComponent) -> Fields:
        """Return the arguments of a component; an input with several senders receives a list of their values."""
        arguments = dict(inputs.get(name, {}))
        for link in self.links_into(name):
            if link.field not in made.get(link.before, {}):
                continue
            socket = self._nodes[name]["input_sockets"][link.parameter]
            value = revive(made[link.before][link.field], getattr(socket, "type", None))
            if getattr(socket, "is_variadic", False):
                arguments[link.parameter] = [*cast("list[object]", arguments.get(link.parameter, [])), value]
            else:
                arguments[link.parameter] = value
        return arguments

    def call(self, name: str, arguments: Fields, loop: Loop) -> Fields:
        """Run one component."""
        self._warm_up()
        result = wait_if_awaitable(self._nodes[name]["instance"].run(**arguments), loop)
        return cast(Fields, dict(cast("Mapping[str, object]", result)))

    def _warm_up(self) -> None:
        with self._lock:
            if not self._is_warm and callable(warm_up := getattr(self._pipeline, "warm_up", None)):
                warm_up()
            self._is_warm = True


def revive(value: object, kind: object) -> object:
    """Return documents and answers that were read from JSON, as those of a stored dataset, as Haystack's objects."""
    if isinstance(value, list):
        inner = next((revived for item in value if (revived := _find_class(kind)) and isinstance(item, Mapping)), None)
        return [revive(item, inner) for item in value] if inner is not None else value
    read = getattr(_find_class(kind), "from_dict", None)
    return read(dict(value)) if read is not None and isinstance(value, Mapping) else value


def _find_class(kind: object) -> type | None:
    """Return the class with `from_dict` within a type such as `list[Document] | None`."""
    if isinstance(kind, type) and hasattr(kind, "from_dict"):
        return kind
    return next(
        (inner_class for argument in get_args(kind) if (inner_class := _find_class(argument)) is not None), None
    )
