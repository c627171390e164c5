"""What everything is run on: the caller's inputs, or a dataset that the service has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evalsvc.client.experiment.options import CLUSTER
from evalsvc.client.results.rows import Row
from evalsvc.client.service.bodies import DatasetReference, ExampleBody
from evalsvc.client.service.experiments_api import ExperimentsApi
from evalsvc.client.shapes import read_body
from evalsvc.client.values import JsonObject, JsonValue, from_json, to_json, to_wire
from evalsvc.thoughts import split_thinking


@dataclass(frozen=True, slots=True)
class LocalExample:
    """An example as the caller passed it: the original objects, which are not necessarily valid JSON."""

    index: int
    input: Any
    expected: Any


@dataclass(frozen=True, slots=True)
class Examples:
    """What everything is run on: inputs with or without expected outputs, or a dataset that the service has."""

    rows: list[JsonObject] = field(default_factory=list)
    local: dict[str, LocalExample] = field(default_factory=dict)
    dataset_id: str | None = None
    dataset_version: int | None = None

    def store(self, api: ExperimentsApi) -> DatasetReference:
        """Return the plan's reference to them, uploading inputs first."""
        if self.dataset_id is not None:
            if self.dataset_version is None:
                return {"dataset_id": self.dataset_id}
            return {"dataset_id": self.dataset_id, "dataset_version": self.dataset_version}
        lines = build_json_lines(self.rows)
        return api.upload(build_dataset_name(lines), lines)


def build_examples(
    inputs: Sequence[object] | Mapping[str, object] | str | None,
    expected_outputs: Sequence[object] | Mapping[str, object] | str | None,
    contexts: Sequence[Sequence[object] | None] | None = None,
    *,
    dataset_id: str | None = None,
    dataset_version: int | None = None,
    clusters: str | Sequence[object] | None = None,
) -> Examples:
    """Match inputs with their expected outputs. A single input needs no list around it.

    Raises ValueError, with the counts, when the lengths differ.
    """
    if (inputs is None) == (dataset_id is None):
        raise ValueError("Give either `inputs` or `dataset_id`.")
    if inputs is None:
        if expected_outputs is not None or contexts is not None:
            raise ValueError("A dataset brings its own expected outputs and contexts; give only `dataset_id`.")
        if clusters is not None and not isinstance(clusters, str):
            raise ValueError("A dataset brings its own metadata; write `cluster_by` as `metadata.<key>`.")
        return Examples(dataset_id=dataset_id, dataset_version=dataset_version)
    values, expected, retrieved = as_list(inputs), as_list(expected_outputs), list(contexts or [])
    cluster_values = [] if clusters is None or isinstance(clusters, str) else list(clusters)
    if not values:
        raise ValueError("There are no inputs.")
    for what, others in (("expected outputs", expected), ("contexts", retrieved), ("clusters", cluster_values)):
        if others and len(others) != len(values):
            raise ValueError(f"There are {len(values)} inputs and {len(others)} {what}; give one for each, or none.")
    rows: list[JsonObject] = []
    local: dict[str, LocalExample] = {}
    for i, value in enumerate(values):
        row: JsonObject = {"id": str(i), "input": to_json(value)}
        if expected and expected[i] is not None:
            row["expected"] = to_wire(expected[i])
        if retrieved and (passages := retrieved[i]) is not None:
            row["contexts"] = to_wire(list(passages))
        if cluster_values:
            row["metadata"] = {CLUSTER: to_json(cluster_values[i])}
        rows.append(row)
        local[str(i)] = LocalExample(i, value, expected[i] if expected else None)
    return Examples(rows, local)


def as_list(values: Sequence[object] | Mapping[str, object] | str | None) -> list[object]:
    """Return values as a list. A single text or mapping becomes a list of one."""
    if values is None:
        return []
    return [values] if isinstance(values, (str, Mapping)) else list(values)


def build_dataset_name(lines: Sequence[str]) -> str:
    """Return the name of a dataset that is made of its content: equal inputs find the dataset they made before."""
    return f"inputs-{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:24]}"


def build_json_lines(examples: Sequence[Mapping[str, object]]) -> list[str]:
    """Return examples as lines of canonical JSON."""
    return [json.dumps(example, sort_keys=True, ensure_ascii=True, allow_nan=False) for example in examples]


def build_row(example: ExampleBody, pos: int, local: Mapping[str, LocalExample]) -> Row:
    """Return a row for an example of the service; the caller's own objects are used where this process has them."""
    key = str(example["id"])
    local_example = local.get(key)
    return Row(
        example_id=key,
        pos=pos,
        index=local_example.index if local_example is not None else None,
        input=local_example.input if local_example is not None else from_json(example["input"]),
        expected=local_example.expected if local_example is not None else from_json(example.get("expected")),
        contexts=example.get("contexts"),
        metadata=cast("dict[str, Any] | None", from_json(example.get("metadata"))),
    )


def to_components(output: object) -> JsonObject:
    """Return an output as the service stores it: by component, with the answer under `output`.

    A message, a chat completion or a response of a model becomes its text. A dictionary with `output` and other keys
    already has this form, so a runnable can return the `contexts` that it retrieved.
    """
    value = cast("JsonValue", read_body(to_wire(output)))
    if isinstance(value, dict) and "output" in value and len(value) > 1:
        return value
    return {"output": value}


def strip_output(output: object) -> object:
    """Return an output without the thinking before its answer, as the service scores it."""
    if isinstance(output, str):
        answer, thinking = split_thinking(output)
        return answer if thinking else output
    if isinstance(output, Mapping) and isinstance(output.get("output"), str):
        return {**output, "output": strip_output(output["output"])}
    return output


def from_components(components: object) -> object:
    """Return what `to_components` was given, without the thinking that the service has split off a text."""
    if not isinstance(components, dict):
        return from_json(components)
    if set(components) == {"output", "thinking"} and isinstance(components["output"], str):
        return components["output"]
    return from_json(components["output"] if set(components) == {"output"} else components)
