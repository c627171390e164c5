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
        """Return an input by component. ValueError where no component takes part of it, or more than one could.

        `{"retriever": {"query": …}}` names the component; `{"query": …}` goes to the only one with an unconnected input
        of that name, and a value that is no mapping to the only required input.
        """
        inputs: dict[str, Fields] = {}
        for key, part in self._to_mapping(value).items():
            if key in self._nodes and isinstance(part, Mapping):
                inputs.setdefault(key, {}).update({str(name): item for name, item in part.items()})
            else:
                inputs.setdefault(self._find_taker(key), {})[key] = part
        return inputs

    def _list_unconnected(self, name: str) -> list[Any]:
        """Return the input sockets of a component that no other component feeds."""
        fed = {link.parameter for link in self.links_into(name)}
        return [socket for key, socket in self._nodes[name]["input_sockets"].items() if key not in fed]

    def _to_mapping(self, value: object) -> dict[str, object]:
        if isinstance(value, Mapping):
            return {str(key): part for key, part in value.items()}
        free = [(name, socket) for name in self.names for socket in self._list_unconnected(name)]
        takers = [(name, socket) for name, socket in free if socket.is_mandatory] or free
        if len(takers) != 1:
            inputs = ", ".join(f"`{name}.{socket.name}`" for name, socket in takers) or "nothing"
            raise ValueError(f"An input that is no object goes to one input of the pipeline, and there are {inputs}.")
        return {takers[0][0]: {takers[0][1].name: value}}

    def _find_taker(self, key: str) -> str:
        takers = [name for name in self.names if any(socket.name == key for socket in self._list_unconnected(name))]
        if len(takers) == 1:
            return takers[0]
        if takers:
            names = ", ".join(repr(name) for name in takers)
            raise ValueError(
                f"The input `{key}` could go to {names}: name them, as in {{{takers[0]!r}: {{{key!r}: …}}}}."
            )
        raise ValueError(f"No component takes the input `{key}`; there are {', '.join(self.names)}.")

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
