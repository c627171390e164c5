"""The encoder in ONNX Runtime: the graph of `training/graph.py` over the weights of the verified file.

Texts of equal length run together: each attends to itself only, and products of matrices are the same for a row
whatever rows they are computed with, so a text's vector has the same bits in any company. Nothing here starts a thread,
so a session that was loaded before a fork works after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

# Wheels of 1.32 send telemetry from a thread unless this is set before the import. The locked version is older and does
# not; this covers installations with a newer one.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime

from evaluators.minilm import ALL_LAYERS
from evaluators.minilm.files import verified_graph
from evaluators.minilm.numerics import embedded
from evaluators.minilm.weights import LAYERS_OF_GRAPH, Array, Encoder, WeightsFile

MAX_ROWS = 256
"""Word pieces that run together. Short texts leave most of the time to reading the weights from memory; more rows than
these no longer stay in a core's cache."""


class Part:
    """Some layers of the encoder. Several threads may run it at once."""

    def __init__(self, graph: bytes, weights: Mapping[str, Array]) -> None:
        # Views of the mapped file: the runtime makes its own copy of the matrices, in its own layout, and only that
        # one.
        self._weights = {name: onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for name, tensor in weights.items()}
        options = _options()
        options.add_external_initializers(list(self._weights), list(self._weights.values()))
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def run(self, states: Array, n_texts: int) -> Array:
        """Return the hidden states after these layers of texts of equal length, one below the other."""
        n_rows, width = states.shape
        text = np.array([n_texts, n_rows // n_texts, width], np.int64)
        further: Array = self._session.run(["further"], {"states": states, "text": text})[0]
        return further


class Session:
    """The encoder in parts: what needs no more than the first layers pays for no more."""

    def __init__(self, file: WeightsFile) -> None:
        graph = verified_graph()
        self._embeddings = file.embeddings()
        self._parts = [Part(graph, file.load_layers(first)) for first in range(0, ALL_LAYERS, LAYERS_OF_GRAPH)]

    def compute_hidden_states(self, texts: Sequence[Sequence[int]], layers: int) -> list[Array]:
        """Return each text's hidden states after so many layers, those of DEPTHS."""
        parts = self._parts[: layers // LAYERS_OF_GRAPH]
        states_of_texts: dict[int, Array] = {}
        for group in _group_equal_lengths(texts):
            n_texts = len(group)
            rows = np.concatenate([embedded(self._embeddings, texts[index]) for index in group])
            states = reduce(lambda states, part: part.run(states, n_texts), parts, rows)
            states_of_texts.update(zip(group, np.split(states, n_texts), strict=True))
        return [states_of_texts[index] for index in range(len(texts))]


def load_session(file: WeightsFile) -> Encoder:
    """Return what computes with ONNX Runtime."""
    return Session(file).compute_hidden_states


def _group_equal_lengths(texts: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
    """Yield the indexes of texts that run together."""
    by_length: dict[int, list[int]] = {}
    for index, ids in enumerate(texts):
        by_length.setdefault(len(ids), []).append(index)
    for length, indexes in by_length.items():
        most = max(MAX_ROWS // length, 1)
        yield from (indexes[start : start + most] for start in range(0, len(indexes), most))


def _options() -> onnxruntime.SessionOptions:
    """Use only the caller's thread, and do not retain memory sized for the longest text so far."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return options
