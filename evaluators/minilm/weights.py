"""Read the weights: the vocabulary stays in the mapped file, what computes copies the layers as it needs them."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluators.minilm import ALL_LAYERS

Array: TypeAlias = NDArray[np.float32]
Encoder: TypeAlias = Callable[[Sequence[Sequence[int]], int], list[Array]]
"""Takes the ids of texts, [CLS] and [SEP] included, at least one, and a number of layers; returns the hidden states of
each text after these."""

PREFIX = "encoder.layer."
LAYERS_OF_GRAPH = 3
"""The graph has so many layers, and computes all of them by being run with the weights of one part after another."""
N_HEADS = 12
HEAD_SIZE = 32


@dataclass(frozen=True, slots=True)
class Norm:
    """Scale and shift of a layer normalisation."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Layer:
    """One encoder layer, its matrices transposed to (in, out). Queries are already divided by the root of 32."""

    qkv: Array
    qkv_bias: Array
    joined: Array
    joined_bias: Array
    attention_norm: Norm
    widened: Array
    widened_bias: Array
    narrowed: Array
    narrowed_bias: Array
    output_norm: Norm


@dataclass(frozen=True, slots=True)
class Embeddings:
    """What the first layer reads of a text. `positions` include the embedding of the only segment there is."""

    words: Array
    positions: Array
    norm: Norm


class WeightsFile:
    """The mapped file. What is read of it and not copied is shared by processes, as is the vocabulary of 47 MB."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.tensors: Mapping[str, Array] = _tensors(self._mapped)

    def embeddings(self) -> Embeddings:
        """Return the embeddings; the words stay in the file."""
        segment = self.tensors["embeddings.token_type_embeddings.weight"][0]
        return Embeddings(
            words=self.tensors["embeddings.word_embeddings.weight"],
            positions=self.tensors["embeddings.position_embeddings.weight"][:256] + segment,
            norm=_norm(self.tensors, "embeddings.LayerNorm"),
        )

    def layers(self) -> tuple[Layer, ...]:
        """Return a copy of the layers, laid out for products from the left."""
        return tuple(_layer(self.tensors, f"{PREFIX}{index}") for index in range(ALL_LAYERS))

    def load_layers(self, first: int) -> dict[str, Array]:
        """Return the weights of LAYERS_OF_GRAPH layers from the first on, as the graph calls them."""
        prefixes = {f"{PREFIX}{first + index}.": f"{index}." for index in range(LAYERS_OF_GRAPH)}
        return {
            name.replace(prefix, short): tensor
            for prefix, short in prefixes.items()
            for name, tensor in self.tensors.items()
            if name.startswith(prefix)
        }

    def release(self) -> None:
        """Give the pages back that were read to make copies; what is read again comes from the file again."""
        if hasattr(self._mapped, "madvise"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _tensors(mapped: mmap.mmap) -> dict[str, Array]:
    """View every float32 tensor of a safetensors file: 8 bytes of length, a JSON header, then the data."""
    start = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:start])
    return {
        name: np.frombuffer(
            mapped, np.dtype("<f4"), count=math.prod(entry["shape"]), offset=start + entry["data_offsets"][0]
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def _norm(tensors: Mapping[str, Array], name: str) -> Norm:
    return Norm(tensors[f"{name}.weight"].copy(), tensors[f"{name}.bias"].copy())


def _layer(tensors: Mapping[str, Array], name: str) -> Layer:
    def weight(part: str) -> Array:
        return np.ascontiguousarray(tensors[f"{name}.{part}.weight"].T)

    def bias(part: str) -> Array:
        return tensors[f"{name}.{part}.bias"].copy()

    inner = [f"attention.self.{part}" for part in ("query", "key", "value")]
    qkv = np.concatenate([weight(part) for part in inner], axis=1)
    qkv_bias = np.concatenate([bias(part) for part in inner])
    scale = np.float32(1 / math.sqrt(HEAD_SIZE))
    qkv[:, : N_HEADS * HEAD_SIZE] *= scale
    qkv_bias[: N_HEADS * HEAD_SIZE] *= scale
    return Layer(
        qkv=qkv,
        qkv_bias=qkv_bias,
        joined=weight("attention.output.dense"),
        joined_bias=bias("attention.output.dense"),
        attention_norm=_norm(tensors, f"{name}.attention.output.LayerNorm"),
        widened=weight("intermediate.dense"),
        widened_bias=bias("intermediate.dense"),
        narrowed=weight("output.dense"),
        narrowed_bias=bias("output.dense"),
        output_norm=_norm(tensors, f"{name}.output.LayerNorm"),
    )
