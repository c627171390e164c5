"""The queries and the cost of pipelines, by node; expected outputs replace the outputs of other nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from evalsvc.experiments.definition.configs import Candidate, hashed
from evalsvc.experiments.definition.fields.components import find_expectation
from evalsvc.experiments.definition.fields.pointers import MISSING
from evalsvc.experiments.definition.metrics import ISOLATED
from evalsvc.experiments.definition.pipelines import PIPELINE, PipelineGraph, PipelineNode, read_pipeline
from evalsvc.experiments.definition.templates import ROOTS, fill_json
from evalsvc.judges.calls.estimates import CHARS_PER_TOKEN, DEFAULT_ANSWER_TOKENS

NODE_OUTPUTS = "node_outputs_assumed"
ASSUMED = "x" * round(DEFAULT_ANSWER_TOKENS * CHARS_PER_TOKEN)


class AssumedOutput(dict[str, Any]):
    """The output of a node without an expected one in the dataset: a text of the usual length under any name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ASSUMED


def chat_nodes(
    graph: PipelineGraph, modes: Sequence[str], by_source: Mapping[str, Sequence[str]]
) -> list[PipelineNode]:
    """Return the nodes that query a model; a node is listed again for each of its isolated runs."""
    nodes = list(graph.called)
    if ISOLATED in modes:
        nodes += graph.alone
        nodes += [node for source, targets in by_source.items() for node in graph.list_behind(source, targets)]
    return [node for node in nodes if node.kind == "chat"]


def fields_for(node: PipelineNode, fields: Mapping[str, Any], expected: object) -> dict[str, Any]:
    """Return what the templates of a node probably name. Raises UnknownField."""
    root_fields = {name: fields.get(name) for name in ROOTS}
    values: dict[str, Any] = dict(root_fields)
    for name in node.reads:
        expectation = find_expectation(expected, name)
        values[name] = AssumedOutput() if expectation is MISSING else AssumedOutput(expectation)
    return values | {name: fill_json(template, root_fields) for name, template in node.inputs.items()}


def n_shared(candidates: Sequence[Candidate]) -> int:
    """Return how many queries an example saves, because configs have the same stage with the same input."""
    digests = [
        digest
        for candidate in candidates
        if candidate.kind == PIPELINE
        for digest in _digests(read_pipeline(candidate.parameters)).values()
        if digest is not None
    ]
    return len(digests) - len(set(digests))


def _digests(graph: PipelineGraph) -> dict[str, str | None]:
    """Return what tells the questions of each node from others; None where they may differ each time."""
    digests: dict[str, str | None] = {}
    for node in graph.nodes:
        before = [digests.get(name) for name in node.reads]
        is_given = not graph.is_called(node)
        if (node.reuse or is_given) and None not in before:
            identity = [
                node.kind,
                node.simulate_from,
                graph.simulated.get(node.name),
                hashed(node.parameters),
                node.inputs,
            ]
            text = orjson.dumps([identity, dict(zip(node.reads, before, strict=True))], option=orjson.OPT_SORT_KEYS)
            digests[node.name] = hashlib.sha256(text).hexdigest()
        else:
            digests[node.name] = None
    return {node.name: digests[node.name] for node in graph.called}
