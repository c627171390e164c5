"""Read the weights: the vocabulary stays in the mapped file, the layers are laid out for the forward pass."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]

N_LAYERS = 6
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
class Weights:
    """The whole encoder. `positions` include the embedding of the only segment there is."""

    words: Array
    positions: Array
    norm: Norm
    layers: tuple[Layer, ...]


def read_weights(path: Path) -> Weights:
    """Map the file, and copy what is laid out otherwise. The vocabulary's 47 MB are shared by processes."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tensors = _tensors(mapped)
    weights = Weights(
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"][:256]
        + tensors["embeddings.token_type_embeddings.weight"][0],
        norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{index}") for index in range(N_LAYERS)),
    )
    if hasattr(mapped, "madvise"):
        # The layers were copied: give their pages back; words are read anew when a text has them.
        mapped.madvise(mmap.MADV_DONTNEED)
    return weights


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
