"""Train the heads that tell people's names from other words: `evaluators/heads/person-origins.npz` and `person.npz`.

    EVALSVC_DATA_DIR=... python -m training.person             train, and write the head with its description
    EVALSVC_DATA_DIR=... python -m training.person --check     train, and compare with the shipped head
    EVALSVC_DATA_DIR=... python -m training.person --evaluate  cross-validate, and leave each source out

With `--former` the head of before 2026-11-28. The newer one is also trained on the texts of both sources with names of
other origins in them, and on the sentences of `origins.py`; the texts themselves count twice.

Data: `wnut17_train` (leondz/emerging_entities_17, CC BY 4.0) and `presidio_generated_large`
(microsoft/presidio-research, MIT). Some texts are read again in lower, title and upper case, as people write them. The
weights minimise the logistic loss with an L2 penalty, which has one minimum: another machine comes to the same numbers
but for rounding.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from evaluators.base import Span
from evaluators.minilm import SIZE
from evaluators.pii.person import BY_ORIGIN, FORMER, HEADS, THRESHOLD, NameHead, name_windows, word_vectors
from evaluators.pii.words import N_FEATURES, compute_features, find_words
from training.origins import build_examples, swap_names

SOURCES = {
    "wnut17_train.jsonl.gz": "leondz/emerging_entities_17, CC BY 4.0",
    "presidio_generated_large.json.gz": "microsoft/presidio-research, MIT",
}
PENALTY_LOOKS, PENALTY_SENSE = 1 / 0.3, 1 / 0.01
# Of a hundred texts, how many are read once more in this spelling.
SPELLINGS: tuple[tuple[Callable[[str], str], int], ...] = ((str.lower, 25), (str.title, 10), (str.upper, 5))
N_FOLDS = 3
TOLERANCE = 1e-4
COARSE = 4e-3
"""Tolerance of the newer head, whose weights are stored in 16 bits."""
SEED = 0
TIMES = 2
"""How often a text of the sources counts beside those with other names."""
MARGIN = 0.75
"""Taken off the logits of the newer head, chosen by false alarms on texts that it was not trained on."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Text:
    """A text with the places of its names; texts of one `group` never stand on both sides of a fold."""

    source: str
    group: int
    text: str
    names: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """A window of a text as the head sees it."""

    source: str
    group: int
    text: int
    features: list[list[int]]
    spelled: list[list[list[int]]]
    vectors: Matrix
    labels: NDArray[np.bool_]


def read_texts(folder: Path) -> list[Text]:
    """Read both sources; those of presidio-research are grouped by the template that made them."""
    wnut, presidio = SOURCES
    texts = []
    with gzip.open(folder / wnut, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            spans = [(one["start"], one["end"]) for one in row["meta"]["spans"] if one["type"] == "PERSON"]
            texts.append(Text("wnut17", number, row["output"], tuple(spans)))
    with gzip.open(folder / presidio, "rt", encoding="utf-8") as file:
        for row in json.load(file):
            people = [one for one in row["spans"] if one["entity_type"] == "PERSON"]
            spans = [(one["start_position"], one["end_position"]) for one in people]
            texts.append(Text("presidio", row["template_id"], row["full_text"], tuple(spans)))
    return texts


def build_texts_of_origins(texts: Sequence[Text]) -> list[Text]:
    """Return the texts that have names with others in their place, and constructed sentences."""
    rng = random.Random(SEED)  # noqa: S311  repeatable, no secret
    swapped = [Text(each.source, each.group, *swap_names(each.text, each.names, rng)) for each in texts if each.names]
    return [*swapped, *(Text("origins", place, *each) for place, each in enumerate(build_examples(rng)))]


def read_windows(texts: Iterable[Text]) -> list[Read]:
    """Turn texts into features and vectors: the slow part, some two minutes."""
    windows = []
    for number, text in enumerate(texts):
        for window in name_windows(text.text):
            words = find_words(text.text, *window)
            if words:
                windows.append(_read(number, text, window, words))
    return windows


def _read(number: int, text: Text, window: Span, words: Sequence[Span]) -> Read:
    labels = [any(start < end and begin < stop for begin, end in text.names) for start, stop in words]
    lot = int(hashlib.sha256(f"{text.source} {number}".encode()).hexdigest(), 16) % 100
    spelled = []
    for spell, share in SPELLINGS:
        # Some letters become two in another case, and would move the words.
        if 0 <= lot < share and len(spell(text.text)) == len(text.text):
            spelled.append(compute_features(spell(text.text), words))
        lot -= share
    vectors = word_vectors(text.text, window, words)
    return Read(text.source, text.group, number, compute_features(text.text, words), spelled, vectors, np.array(labels))


def take_margin(head: NameHead) -> NameHead:
    """Return the head with the margin taken off the weight that every word has."""
    looks = head.looks.copy()
    looks[compute_features("a", [(0, 1)])[0][0]] -= MARGIN
    return NameHead(looks, head.sense)


def train(windows: Sequence[Read]) -> NameHead:
    """Fit both kinds of weights together."""
    rows = [(features, one) for one in windows for features in (one.features, *one.spelled)]
    looks = _sparse([numbers for features, _ in rows for numbers in features])
    sense = np.concatenate([one.vectors for _, one in rows])
    signs = np.concatenate([one.labels for _, one in rows]) * 2.0 - 1.0
    weights = _minimise(looks, sense, signs)
    return NameHead(weights[:N_FEATURES].astype(np.float32), weights[N_FEATURES:].astype(np.float32))


def _sparse(features: Sequence[Sequence[int]]) -> sparse.csr_matrix:
    columns = np.fromiter((number for numbers in features for number in numbers), np.int32)
    ends = np.cumsum([0, *map(len, features)])
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(features), N_FEATURES))


def _minimise(looks: sparse.csr_matrix, sense: Matrix, signs: Vector) -> Vector:
    turned = looks.T.tocsr()
    penalty = np.concatenate([np.full(N_FEATURES, PENALTY_LOOKS), np.full(SIZE, PENALTY_SENSE)])

    def loss(weights: Vector) -> tuple[float, Vector]:
        head, tail = weights[:N_FEATURES], weights[N_FEATURES:].astype(np.float32)
        margins = signs * (looks @ head + sense @ tail)
        pull = -signs / (1 + np.exp(np.clip(margins, -500, 500)))
        value = float(np.logaddexp(0, -margins).sum() + (penalty * weights * weights).sum() / 2)
        return value, np.concatenate([turned @ pull, pull.astype(np.float32) @ sense]) + penalty * weights

    found = minimize(
        loss, np.zeros(N_FEATURES + SIZE), jac=True, method="L-BFGS-B", options={"maxiter": 600, "ftol": 1e-12}
    )
    return np.asarray(found.x)


def figures(windows: Sequence[Read], head: NameHead) -> dict[str, float]:
    """Say how well texts with a name are told from texts without one, at the shipped threshold."""
    said: dict[int, bool] = {}
    true: dict[int, bool] = {}
    for one in windows:
        likely = bool((head.chances(one.features, one.vectors) >= THRESHOLD).any())
        said[one.text] = said.get(one.text, False) or likely
        true[one.text] = true.get(one.text, False) or bool(one.labels.any())
    return _rates([(said[text], true[text]) for text in true])


def _rates(pairs: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    hits, alarms = sum(s and t for s, t in pairs), sum(s and not t for s, t in pairs)
    misses, quiet = sum(t and not s for s, t in pairs), sum(not s and not t for s, t in pairs)
    return {
        "n": len(pairs),
        "precision": round(hits / max(hits + alarms, 1), 3),
        "recall": round(hits / max(hits + misses, 1), 3),
        "f1": round(2 * hits / max(2 * hits + alarms + misses, 1), 3),
        "fpr": round(alarms / max(alarms + quiet, 1), 3),
    }


def evaluate(windows: Sequence[Read], more: Sequence[Read], times: int) -> None:
    """Print the figures of texts, or of templates, that the head did not see; then of a whole source left out."""
    every = [*windows * times, *more]
    for source in sorted({one.source for one in windows}):
        own = [one for one in windows if one.source == source]
        for fold in range(N_FOLDS):
            head = train([read for read in every if read.source != source or read.group % N_FOLDS != fold])
            head = take_margin(head) if more else head
            print(source, f"fold {fold}", figures([one for one in own if one.group % N_FOLDS == fold], head))
        print(source, "left out", figures(own, train([read for read in every if read.source != source])))


def write(head: NameHead, name: str, folder: Path) -> None:
    """Write the head, and beside it where it comes from."""
    size = np.float32 if name == FORMER else np.float16
    np.savez(HEADS / f"{name}.npz", looks=head.looks.astype(size), sense=head.sense.astype(size))
    data = {
        name: {"source": source, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name, source in SOURCES.items()
    }
    about = {"made_by": "training/person.py", "embedding": "all-MiniLM-L6-v2 (Apache-2.0)", "data": data}
    (HEADS / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def check(head: NameHead, name: str) -> bool:
    """Say whether the shipped head holds the same weights."""
    with np.load(HEADS / f"{name}.npz", allow_pickle=False) as stored:
        pairs = ((stored["looks"], head.looks), (stored["sense"], head.sense))
        apart = max(float(np.abs(shipped - trained).max()) for shipped, trained in pairs)
    print(f"largest difference of a weight: {apart:.2g}")
    return apart <= (TOLERANCE if name == FORMER else COARSE)


def main() -> int:
    """Run as the arguments say; exit status 1 when a check fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare with the shipped head")
    mode.add_argument("--evaluate", action="store_true", help="cross-validate and leave sources out")
    parser.add_argument("--former", action="store_true", help="the head of before 2026-11-28")
    arguments = parser.parse_args()
    folder, name = Path(os.environ["EVALSVC_DATA_DIR"]), FORMER if arguments.former else BY_ORIGIN
    texts = read_texts(folder)
    windows, more = read_windows(texts), [] if arguments.former else read_windows(build_texts_of_origins(texts))
    times = 1 if arguments.former else TIMES
    if arguments.evaluate:
        evaluate(windows, more, times)
        return 0
    head = train([*windows * times, *more])
    head = head if arguments.former else take_margin(head)
    if arguments.check:
        return 0 if check(head, name) else 1
    write(head, name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
