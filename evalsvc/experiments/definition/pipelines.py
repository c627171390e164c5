"""Pipelines: named nodes, each a query of a kind, with connections that follow from the names in their templates.

A template of a node refers to the example (`{{input.question}}`), an output of another node
(`{{retriever.documents}}`), or an input of its own (`{{query}}`), which `inputs` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evalsvc.experiments.definition.conversations import NAMED, SIMULATED_USER, count_turns, is_conversation
from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.fields.pointers import is_pointer, resolve_pointer
from evalsvc.experiments.definition.graphs import count_isolated_runs, list_between
from evalsvc.experiments.definition.kinds import TEMPLATED
from evalsvc.experiments.definition.metrics import ISOLATED
from evalsvc.experiments.definition.templates import ROOTS, template_names

PIPELINE = "pipeline"
PARAMETERS = "/parameters"
EXPECTED = "expected"
SIMULATE_FROM = "simulate_from"
SIMULATED, SIMULATED_BY_ID = "simulated_outputs", "simulated_outputs_by_id"
OF_NODES = ("kind", "reuse", SIMULATE_FROM)
"""What a node has beside the parameters of its kind."""
CHAT_OUTPUTS = (OUTPUT, "model", "finish_reason")


@dataclass(frozen=True, slots=True)
class PipelineNode:
    """One step: its query, the nodes that it reads, and whether an answer to the same query can be reused."""

    name: str
    kind: str | None
    parameters: Mapping[str, Any]
    names: tuple[str, ...]
    """What its templates name."""
    reads: tuple[str, ...]
    """Nodes that these names lead to, each once."""
    reuse: bool
    simulate_from: str | None
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PipelineGraph:
    """A pipeline that has been checked, its nodes in an order in which each has what it reads."""

    nodes: tuple[PipelineNode, ...]
    output: str
    """The node whose output is the answer, or a JSON pointer into the outputs of all."""
    simulated: Mapping[str, Mapping[str, Any]]
    simulated_by_id: Mapping[str, Mapping[str, Mapping[str, Any]]]

    @cached_property
    def by_name(self) -> Mapping[str, PipelineNode]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def before(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that each node reads."""
        return {node.name: node.reads for node in self.nodes}

    def is_called(self, node: PipelineNode) -> bool:
        """Return whether a node is queried, unless an example has an output for it."""
        return node.simulate_from is None and node.name not in self.simulated

    @property
    def called(self) -> list[PipelineNode]:
        """The nodes that are queried."""
        return [node for node in self.nodes if self.is_called(node)]

    @property
    def alone(self) -> list[PipelineNode]:
        """The nodes that isolated mode runs: those that are queried, and read another node."""
        return [node for node in self.called if node.reads]

    def list_behind(self, source: str, targets: Sequence[str]) -> list[PipelineNode]:
        """Return the nodes that are queried to run some nodes on the expected output of one upstream."""
        between = list_between(self.before, source, targets)
        return [node for node in self.called if node.name in between]

    def count_isolated_runs(self, by_source: Mapping[str, Sequence[str]]) -> int:
        """Return how many queries of an example are for isolated mode, at most."""
        return count_isolated_runs(self.before, by_source, [node.name for node in self.called])

    def answer_in(self, outputs: Mapping[str, Any]) -> Any:
        """Return the answer within the outputs of all nodes; MISSING where the pointer leads nowhere."""
        if is_pointer(self.output):
            return resolve_pointer(outputs, self.output)
        value = outputs[self.output]
        return value[OUTPUT] if isinstance(value, Mapping) and OUTPUT in value else value


def read_pipeline(parameters: Mapping[str, Any]) -> PipelineGraph:
    """Read the parameters of a pipeline in which nothing is wrong."""
    nodes = [read_node(name, node, parameters) for name, node in parameters["nodes"].items()]
    return PipelineGraph(
        nodes=tuple(in_reading_order(nodes)[0]),
        output=parameters.get(OUTPUT) or find_unread_nodes(nodes)[0],
        simulated=parameters.get(SIMULATED) or {},
        simulated_by_id=parameters.get(SIMULATED_BY_ID) or {},
    )


def read_node(name: str, node: Mapping[str, Any], parameters: Mapping[str, Any]) -> PipelineNode:
    """Read one node of the parameters of a pipeline."""
    own_parameters = {knob: value for knob, value in node.items() if knob not in OF_NODES}
    names = tuple(dict.fromkeys(template_names([own_parameters.get(knob) for knob in TEMPLATED])))
    others = parameters["nodes"]
    inputs = (parameters.get("inputs") or {}).get(name)
    return PipelineNode(
        name=name,
        kind=node.get("kind"),
        parameters=own_parameters,
        names=names,
        reads=tuple(dict.fromkeys(root for root in map(root_of_name, names) if root in others)),
        reuse=node["reuse"] if node.get("reuse") is not None else _is_same_each_time(node),
        simulate_from=node.get(SIMULATE_FROM),
        inputs=inputs if isinstance(inputs, Mapping) else {},
    )


def _is_same_each_time(node: Mapping[str, Any]) -> bool:
    """Return whether asking again would only repeat the answer, as applications do, and models at temperature 0."""
    return node.get("kind") == "http" or node.get("temperature") == 0


def root_of_name(name: str) -> str:
    """Return the first part of a dotted name."""
    return name.split(".", 1)[0]


def in_reading_order(nodes: Sequence[PipelineNode]) -> tuple[list[PipelineNode], list[PipelineNode]]:
    """Return the nodes in an order in which each follows those that it reads, and those that a cycle leaves over."""
    sorted_nodes: list[PipelineNode] = []
    remaining = list(nodes)
    while True:
        names = {node.name for node in sorted_nodes}
        ready = [node for node in remaining if names.issuperset(node.reads)]
        if not ready:
            return sorted_nodes, remaining
        sorted_nodes += ready
        remaining = [node for node in remaining if node not in ready]


def find_unread_nodes(nodes: Sequence[PipelineNode]) -> list[str]:
    """Return the names of the nodes that no other node reads."""
    read = {name for node in nodes for name in node.reads}
    return [node.name for node in nodes if node.name not in read]


def list_output_fields(node: Mapping[str, Any]) -> list[str] | None:
    """Return the fields that a node puts out; None where that is not known before it does."""
    if node.get(SIMULATE_FROM) is not None:
        return None
    if node.get("kind") == "chat":
        return list(CHAT_OUTPUTS)
    output_fields = node.get(OUTPUT, {OUTPUT: ""})
    return list(output_fields) if isinstance(output_fields, Mapping) else None


def find_nodes_with_input(name: str, nodes: Mapping[str, Any]) -> list[str]:
    """Return the nodes that have an input of this name: their templates name it, and it is nothing else."""
    return [
        taker
        for taker, node in nodes.items()
        if isinstance(node, Mapping)
        and any(root_of_name(token) == name for token in template_names([node.get(knob) for knob in TEMPLATED]))
    ]


def assign_inputs(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with inputs by node: one that names no node is that of the only node that has it."""
    nodes, inputs = parameters["nodes"], parameters.get("inputs")
    if not isinstance(inputs, Mapping):
        return dict(parameters)
    inputs_by_node: dict[str, Any] = {name: value for name, value in inputs.items() if name in nodes}
    for name, value in inputs.items():
        if name in nodes:
            continue
        taking = find_nodes_with_input(name, nodes) if name not in ROOTS else []
        if len(taking) == 1 and isinstance(inputs_by_node.get(taking[0], {}), Mapping):
            inputs_by_node[taking[0]] = {**inputs_by_node.get(taking[0], {}), name: value}
        else:
            inputs_by_node[name] = value
    return {**parameters, "inputs": inputs_by_node}


def chats_in(kind: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each part that queries a connection, with its location.

    These are a chat config, such nodes of a pipeline, and a simulated user.
    """
    if kind == "chat":
        yield PARAMETERS, parameters
    if kind in NAMED and isinstance(user := parameters.get(SIMULATED_USER), Mapping):
        yield f"{PARAMETERS}/{SIMULATED_USER}", user
    nodes = parameters.get("nodes") if kind == PIPELINE else None
    for name, node in nodes.items() if isinstance(nodes, Mapping) else ():
        if isinstance(node, Mapping) and node.get("kind") == "chat":
            yield f"{PARAMETERS}/nodes/{name}", node


def get_declared_components(kind: str, parameters: Mapping[str, Any]) -> list[str] | None:
    """Return the components that a config declares; None where it declares none."""
    if kind == PIPELINE:
        return list(parameters["nodes"])
    declared = parameters.get("components") if kind == "push" else None
    return declared if isinstance(declared, list) else None


def count_calls(
    kind: str,
    parameters: Mapping[str, Any],
    modes: Sequence[str] | None,
    n_samples: int = 1,
    by_source: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Return how many queries one output takes, at most: of a pipeline one a node, and one that it runs alone.

    A conversation takes one or two a turn. `by_source` are the nodes to run on the expected output of one upstream, by
    its name. That for each of its samples.
    """
    if kind != PIPELINE:
        return n_samples * (count_turns(parameters) if is_conversation(kind, parameters) else 1)
    graph = read_pipeline(parameters)
    n_isolated = graph.count_isolated_runs(by_source or {}) if ISOLATED in (modes or ()) else 0
    return n_samples * max(1, len(graph.called) + n_isolated)
