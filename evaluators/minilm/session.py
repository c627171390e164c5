"""The encoder in ONNX Runtime: the graph of `training/graph.py` over the weights of the verified file.

Each text runs by itself, so its vector cannot depend on others. Nothing here starts a thread, so a session that was
loaded before a fork works after it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

# Wheels from 1.28 on report to their maker from a thread, unless this is set before they are imported. The lock holds
# an earlier one; this is for those who install another.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

from evaluators.minilm.files import verified_graph
from evaluators.minilm.numerics import embedded
from evaluators.minilm.weights import Array, Embeddings, Encoder, WeightsFile

LAYERS = "encoder.layer."


class Session:
    """A loaded graph. It may be run by several threads at once."""

    def __init__(self, file: WeightsFile) -> None:
        self._embeddings: Embeddings = file.embeddings()
        self._weights = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(tensor)
            for name, tensor in file.tensors.items()
            if name.startswith(LAYERS)
        }
        options = _options()
        # Views of the mapped file: the runtime keeps a copy of the matrices, in its own layout, and no other.
        options.add_external_initializers(list(self._weights), list(self._weights.values()))
        graph = verified_graph()
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def hidden_states(self, texts: Sequence[Sequence[int]]) -> list[Array]:
        """Return each text's last hidden states."""
        return [self._run(embedded(self._embeddings, ids)) for ids in texts]

    def _run(self, rows: Array) -> Array:
        states: Array = self._session.run(["states"], {"embedded": rows})[0]
        return states


def load_session(file: WeightsFile) -> Encoder:
    """Return what computes with ONNX Runtime."""
    return Session(file).hidden_states


def _options() -> onnxruntime.SessionOptions:
    """One thread, which is the caller's, and no memory that is kept for the longest text so far."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return options
