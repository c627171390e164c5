"""BERT's forward pass in NumPy, over the tokens of many texts at once, each attending to its own text only.

This computes where ONNX Runtime is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from evaluators.minilm.numerics import embedded, gelu, layer_norm, softmax
from evaluators.minilm.weights import HEAD_SIZE, N_HEADS, Array, Embeddings, Encoder, Layer, WeightsFile

ROW_MULTIPLE = 12
MAX_ROWS = 240
"""Each text begins at a multiple of 12 rows, and matrix products have 240 of them at most. OpenBLAS goes by blocks of 4
or 12 rows, depending on the processor, and rounds otherwise in some rows of a block: left to chance, a text's vector
would depend on what it is embedded with."""


def load_network(file: WeightsFile) -> Encoder:
    """Return what computes with NumPy alone."""
    # Many processes share few cores, and sums over several threads round otherwise.
    threadpool_limits(limits=1, user_api="blas")
    return partial(_compute_hidden_states, file.embeddings(), file.layers())


def _compute_hidden_states(
    embeddings: Embeddings, layers: Sequence[Layer], texts: Sequence[Sequence[int]], depth: int
) -> list[Array]:
    lengths = [len(ids) for ids in texts]
    ends = np.cumsum([-(-length // ROW_MULTIPLE) * ROW_MULTIPLE for length in lengths])
    starts = [0, *map(int, ends[:-1])]
    places = [slice(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    states = np.zeros((int(ends[-1]), embeddings.words.shape[1]), np.float32)
    for place, ids in zip(places, texts, strict=True):
        states[place] = embedded(embeddings, ids)
    for layer in layers[:depth]:
        states = _layer(layer, states, places)
    return [states[place] for place in places]


def _layer(layer: Layer, states: Array, places: Sequence[slice]) -> Array:
    qkv = _linear(states, layer.qkv, layer.qkv_bias)
    attended = np.zeros_like(states)
    for place in places:
        _attend(qkv[place], attended[place])
    projected = _linear(attended, layer.joined, layer.joined_bias)
    projected += states
    layer_norm(projected, layer.attention_norm)
    widened = _linear(projected, layer.widened, layer.widened_bias)
    gelu(widened)
    narrowed = _linear(widened, layer.narrowed, layer.narrowed_bias)
    narrowed += projected
    layer_norm(narrowed, layer.output_norm)
    return narrowed


def _linear(values: Array, matrix: Array, bias: Array) -> Array:
    result = np.empty((len(values), matrix.shape[1]), np.float32)
    for start in range(0, len(values), MAX_ROWS):
        part = slice(start, start + MAX_ROWS)
        np.matmul(values[part], matrix, out=result[part])
    result += bias
    return result


def _attend(qkv: Array, out: Array) -> None:
    """Write one text's attended values. The heads' products are of this text alone, hence the same in any batch."""
    n = len(qkv)
    query, key, value = qkv.reshape(n, 3, N_HEADS, HEAD_SIZE).transpose(1, 2, 0, 3)
    weights = query @ key.transpose(0, 2, 1)
    softmax(weights)
    np.matmul(weights, value, out=out.reshape(n, N_HEADS, HEAD_SIZE).transpose(1, 0, 2))
