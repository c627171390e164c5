"""Validation of pipelines, before the first query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from evalsvc.experiments.definition.fields.mapper import EXAMPLE_ROOTS, NOT_COMPONENTS, OUTPUT, get_root
from evalsvc.experiments.definition.fields.output_schemas import OUTPUT_SCHEMA
from evalsvc.experiments.definition.fields.pointers import is_pointer
from evalsvc.experiments.definition.kinds import SHAPES, shape_problems
from evalsvc.experiments.definition.pipelines import (
    EXPECTED,
    OF_NODES,
    PARAMETERS,
    SIMULATE_FROM,
    SIMULATED,
    SIMULATED_BY_ID,
    PipelineNode,
    find_nodes_with_input,
    find_unread_nodes,
    in_reading_order,
    list_output_fields,
    read_node,
    root_of_name,
)
from evalsvc.experiments.definition.templates import ROOTS, problem_with, template_names

MAX_NODES = 32
MAX_SIMULATED = 10_000
KNOWN = {"nodes", OUTPUT, "inputs", SIMULATED, SIMULATED_BY_ID, OUTPUT_SCHEMA}
TAKEN = {*ROOTS, EXPECTED, "connection", *NOT_COMPONENTS}
_name = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
Problems: TypeAlias = Iterator[tuple[str, str]]


def pipeline_problems(parameters: Mapping[str, Any]) -> Problems:
    """List what is wrong with the parameters of a pipeline: a pointer and a sentence each."""
    nodes = parameters.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes or len(nodes) > MAX_NODES:
        yield f"{PARAMETERS}/nodes", f"`nodes` is an object of 1 to {MAX_NODES} nodes by name."
        return
    for knob in parameters.keys() - KNOWN:
        yield f"{PARAMETERS}/{knob}", f"{knob!r} is not a parameter here; there are {', '.join(sorted(KNOWN))}."
    basic_problems = [*_node_problems(nodes), *_input_problems(parameters), *_simulated_problems(parameters)]
    yield from basic_problems
    if not basic_problems:
        read = [read_node(name, node, parameters) for name, node in nodes.items()]
        yield from _name_problems(read, nodes)
        yield from _graph_problems(read, parameters)


def _node_problems(nodes: Mapping[str, Any]) -> Problems:
    for name, node in nodes.items():
        at = f"{PARAMETERS}/nodes/{name[:100]}"
        if name in TAKEN or not _name.fullmatch(name):
            yield at, f"No node can be named {name[:100]!r}: letters, digits, `_` and `-`, and none of the other names."
        elif not isinstance(node, Mapping):
            yield at, "A node is an object: its `kind`, and the parameters of that."
        else:
            yield from _shape_problems(at, node)


def _shape_problems(at: str, node: Mapping[str, Any]) -> Problems:
    kind, source = node.get("kind"), node.get(SIMULATE_FROM)
    if source is not None and not _is_source(source):
        yield f"{at}/{SIMULATE_FROM}", '"expected", or a JSON pointer into the example, such as `/metadata/found`.'
    if not isinstance(node.get("reuse"), bool | None):
        yield f"{at}/reuse", "Whether an answer to the same question is taken over: true or false."
    if kind is None and source is not None:
        if beside := node.keys() - {SIMULATE_FROM}:
            yield (
                at,
                f"What is never asked has a `{SIMULATE_FROM}` alone, or a `kind` with {', '.join(sorted(beside))}.",
            )
    elif kind not in SHAPES:
        yield f"{at}/kind", f"{kind!r:.100} is none of the kinds of a node: {', '.join(SHAPES)}."
    else:
        kind_parameters = {knob: value for knob, value in node.items() if knob not in OF_NODES}
        if OUTPUT_SCHEMA in kind_parameters:
            yield f"{at}/{OUTPUT_SCHEMA}", f"`{OUTPUT_SCHEMA}` is of the whole output; it stands beside `nodes`."
        for where, why in shape_problems(str(kind), kind_parameters, is_node=True):
            yield at + where.removeprefix(PARAMETERS), why


def _is_source(source: Any) -> bool:
    if source == EXPECTED:
        return True
    return isinstance(source, str) and is_pointer(source) and get_root(source) in EXAMPLE_ROOTS


def _input_problems(parameters: Mapping[str, Any]) -> Problems:
    nodes, inputs = parameters["nodes"], parameters.get("inputs")
    if inputs is None:
        return
    if not isinstance(inputs, Mapping):
        yield f"{PARAMETERS}/inputs", "`inputs` is an object of templates: by node, or by name where one node has it."
        return
    for name, value in inputs.items():
        at = f"{PARAMETERS}/inputs/{name[:100]}"
        if name not in nodes:
            yield at, _why_untaken(name, nodes)
        elif not isinstance(value, Mapping):
            yield at, f"The inputs of node {name!r} are an object of templates by name."
        for token in dict.fromkeys(template_names(value)):
            if why := problem_with(token):
                yield at, why


def _why_untaken(name: str, nodes: Mapping[str, Any]) -> str:
    taking = find_nodes_with_input(name, nodes)
    if name in ROOTS or not taking:
        return f"No node has an input {name[:100]!r}: the template of none names `{{{{{name[:100]}}}}}`."
    several = " and ".join(f"`{node}`" for node in taking)
    return f"{several} have an input {name!r}; say whose it is: {{{taking[0]!r}: {{{name!r}: …}}}}."


def _simulated_problems(parameters: Mapping[str, Any]) -> Problems:
    nodes = parameters["nodes"]
    yield from _simulated_output_problems(parameters.get(SIMULATED), nodes, f"{PARAMETERS}/{SIMULATED}")
    by_id = parameters.get(SIMULATED_BY_ID) or {}
    at = f"{PARAMETERS}/{SIMULATED_BY_ID}"
    if not isinstance(by_id, Mapping) or len(by_id) > MAX_SIMULATED:
        yield at, f"An object of at most {MAX_SIMULATED} ids of examples, each with outputs by node."
        return
    for id, outputs in by_id.items():
        yield from _simulated_output_problems(outputs, nodes, f"{at}/{id[:100]}")


def _simulated_output_problems(given: Any, nodes: Mapping[str, Any], at: str) -> Problems:
    if given is None:
        return
    if not isinstance(given, Mapping):
        yield at, "Outputs by node, each an object of fields."
        return
    for name, value in given.items():
        if name not in nodes:
            yield f"{at}/{name[:100]}", f"No node is named {name[:100]!r}; there are {_format_names(nodes)}."
        elif not isinstance(value, Mapping):
            yield f"{at}/{name}", "The output of a node is an object of fields."


def _name_problems(read: list[PipelineNode], nodes: Mapping[str, Any]) -> Problems:
    for node in read:
        at = f"{PARAMETERS}/nodes/{node.name}"
        for token in node.names:
            if why := _problem_with_name(token, node, nodes):
                yield at, why


def _problem_with_name(token: str, node: PipelineNode, nodes: Mapping[str, Any]) -> str | None:
    root, _, subpath = token.partition(".")
    if root in node.inputs or root in ROOTS:
        return None
    if root == EXPECTED:
        return problem_with(token)
    if root not in nodes:
        return (
            f"`{{{{{token}}}}}` is neither of the example ({', '.join(ROOTS)}), nor a node ({_format_names(nodes)}),"
            f" nor among the `inputs` of {node.name!r}."
        )
    fields = list_output_fields(nodes[root])
    first = root_of_name(subpath)
    if subpath and fields is not None and first not in fields:
        return f"`{{{{{token}}}}}`: node {root!r} puts out {_format_names(fields)}, and no {first!r}."
    return None


def _graph_problems(read: list[PipelineNode], parameters: Mapping[str, Any]) -> Problems:
    nodes, output = parameters["nodes"], parameters.get(OUTPUT)
    at = f"{PARAMETERS}/{OUTPUT}"
    _, circle = in_reading_order(read)
    if circle:
        yield f"{PARAMETERS}/nodes", f"{_format_names(node.name for node in circle)} read each other in a circle."
        return
    loose = find_unread_nodes(read)
    if output is None:
        if len(loose) > 1:
            yield at, f"Say whose output is the answer: nobody reads {_format_names(loose)}."
        return
    if not isinstance(output, str):
        yield at, "The name of a node, or a JSON pointer into the outputs of all, such as `/reader/answer`."
        return
    answering = get_root(output) if is_pointer(output) else output
    if answering not in nodes:
        yield at, f"No node is named {answering[:100]!r}; there are {_format_names(nodes)}."
        return
    for name in loose:
        if name != answering:
            yield f"{PARAMETERS}/nodes/{name}", f"Nobody reads node {name!r}, and the answer is not its output."


def _format_names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
