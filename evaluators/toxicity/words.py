"""The linear model over words of alt-profanity-check, read from its files: scikit-learn would take 1 s and 80 MB."""

from __future__ import annotations

import importlib.util
import math
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = "profanity_check"


@dataclass(frozen=True, slots=True)
class CalibratedModel:
    """One of the models that are averaged: a weight for each word, and a sigmoid over their sum."""

    weights: Sequence[float]
    intercept: float
    slope: float
    shift: float

    def chance(self, words: Sequence[tuple[int, float]]) -> float:
        """Return the chance of words, given by their numbers and values."""
        distance = math.fsum(self.weights[number] * value for number, value in words) + self.intercept
        # As scikit-learn's sigmoid: 1 / (1 + exp(a * distance + b)), finite for any distance.
        return 1 / (1 + math.exp(max(min(self.slope * distance + self.shift, 50.0), -50.0)))


@dataclass(frozen=True, slots=True)
class WordModel:
    """Term frequencies, weighted by how rare a word is, of length 1; then the mean of some linear models."""

    token: re.Pattern[str]
    numbers: Mapping[str, int]
    rarities: Sequence[float]
    parts: tuple[CalibratedModel, ...]

    def chance(self, text: str) -> float:
        """Return the chance that a text is offensive."""
        counts = Counter(self.numbers[word] for word in self.token.findall(text.lower()) if word in self.numbers)
        values = [(number, count * self.rarities[number]) for number, count in counts.items()]
        length = math.sqrt(math.fsum(value * value for _, value in values)) or 1.0
        words = [(number, value / length) for number, value in values]
        return math.fsum(part.chance(words) for part in self.parts) / len(self.parts)


def read_model() -> WordModel:
    """Read both files of the package without importing it. Raises ValueError if they contain another kind of model."""
    folder = _folder()
    vectorizer, model = (_read(folder / f"{name}.joblib") for name in ("vectorizer", "model"))
    _check(vectorizer)
    return WordModel(
        token=re.compile(vectorizer.token_pattern),
        numbers=vectorizer.vocabulary_,
        rarities=_packed(vectorizer._tfidf.idf_),
        parts=tuple(_calibrated(part) for part in model.calibrated_classifiers_),
    )


def _folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"The package {PACKAGE} is not installed.", name=PACKAGE)
    return Path(spec.origin).parent / "data"


def _read(path: Path) -> Any:
    """Unpickle a file of an installed package, with a plain object in place of each of scikit-learn's."""
    from joblib.numpy_pickle import NumpyUnpickler

    class Reader(NumpyUnpickler):
        def find_class(self, module: str, name: str) -> object:
            return _Part if module.startswith("sklearn.") else super().find_class(module, name)

    with path.open("rb") as file:
        return Reader(str(path), file, ensure_native_byte_order=True).load()


class _Part:
    """Takes what an object of scikit-learn held."""


def _check(vectorizer: Any) -> None:
    """Refuse what `WordModel` would compute otherwise than scikit-learn does."""
    settings = vars(vectorizer)
    # Stop words need no look: none of them is in the vocabulary.
    expected = {
        **{"analyzer": "word", "ngram_range": (1, 1), "lowercase": True, "binary": False, "norm": "l2"},
        **{"use_idf": True, "sublinear_tf": False, "strip_accents": None, "preprocessor": None, "tokenizer": None},
    }
    if differing := [name for name, value in expected.items() if settings.get(name) != value]:
        raise ValueError(f"The model of {PACKAGE} has another {', '.join(differing)}: it cannot be read.")


def _calibrated(part: Any) -> CalibratedModel:
    [calibrator] = part.calibrators
    weights, intercept = _packed(part.estimator.coef_[0]), float(part.estimator.intercept_[0])
    return CalibratedModel(weights, intercept, float(calibrator.a_), float(calibrator.b_))


def _packed(values: Any) -> array[float]:
    """Numbers side by side: looking at one writes to no shared memory, as it would with objects."""
    return array("d", values.tolist())
