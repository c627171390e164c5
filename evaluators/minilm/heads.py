"""Logistic heads over sentence vectors, as the scripts in `training` write them to evaluators/heads."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.minilm import SIZE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = Path(__file__).parents[1] / "heads"
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Head:
    """A direction in the space of sentence vectors and where on it the classes part."""

    coefficients: NDArray[np.float64]
    intercept: float

    def logits(self, vectors: NDArray[np.float32]) -> list[float]:
        """Return the logarithm of each vector's odds to be of the bad class."""
        # A sum of products instead of `@`: the result for a text must not depend on the batch size.
        return [float(value) + self.intercept for value in (vectors * self.coefficients).sum(axis=1)]


def head(name: str) -> Head:
    """Return the shipped head of this name, read once a process."""
    with _loading:
        return _load(name)


@cache
def _load(name: str) -> Head:
    import numpy as np

    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    coefficients = np.array(content["coefficients"], np.float64)
    if coefficients.shape != (SIZE,):
        raise ValueError(f"{name}.json is not a head of {SIZE} numbers")
    return Head(coefficients, float(content["intercept"]))
