"""Train the heads that tell offensive text from other text by its meaning: `evaluators/heads/toxicity*.json`.

    python -m training.toxicity --data DIR [--check]

Data: `davidson_train` (t-davidson/hate-speech-and-offensive-language, MIT), `toxicspans_train` (toxic spans, CC0) and
`cat_gn` (CAT, Apache-2.0), a seeded part of each, and the sentences of `constructed.py` and `hate.py`. The evaluator
takes the mean of this head's logit and of alt-profanity-check's; OFFSET moves the mean so that 0.5 is a good default
threshold. alt-profanity-check has seen the first set: figures on it flatter the mean. `toxicity-early` reads half of
the layers; it chooses the sentences that are then read with all of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from evaluators.minilm import ALL_LAYERS, embed
from evaluators.toxicity.models import word_logits
from evaluators.toxicity.windows import split_passages
from training.constructed import HARMLESS, TOXIC
from training.hate import HATE, NO_HATE
from training.heads import (
    SEED,
    Fitted,
    Mode,
    Numbers,
    Vectors,
    described,
    fit,
    read_rows,
    run,
    vectors_of,
    write_or_check,
)

SOURCES = {
    "davidson_train": "t-davidson/hate-speech-and-offensive-language (MIT), 7,000 texts",
    "toxicspans_train": "toxic spans (CC0), 3,500 texts",
    "cat_gn": "CAT (Apache-2.0), 4,500 texts",
}
PARTS = (("davidson_train", 3_800, 3_200), ("toxicspans_train", 0, 3_500), ("cat_gn", 4_500, 0))
"""Of each set, how many texts that are clean and how many that are not."""
HEADS = {"toxicity": (ALL_LAYERS, "2026-11-20"), "toxicity-early": (ALL_LAYERS // 2, "2026-11-30")}
"""Of each head, how many layers it reads, and the date."""
STRENGTH = 1.0
SHARES = {("davidson_train", 1): 0.32, ("toxicspans_train", 1): 0.45, ("constructed", 1): 0.13, ("groups", 1): 0.1}
SHARES |= {("davidson_train", 0): 0.22, ("cat_gn", 0): 0.41, ("constructed", 0): 0.27, ("groups", 0): 0.1}
"""How much each source counts within its class."""
OFFSET = 0.0
MAX_CHARS = 1_000
N_READ = 250
"""Texts of each source and class that are also read as the evaluator reads them."""


@dataclass(frozen=True, slots=True)
class Data:
    """Texts as vectors and as alt-profanity-check's logits, with their classes and sources."""

    vectors: Vectors
    words: Numbers
    labels: NDArray[np.int64]
    sources: NDArray[np.str_]
    texts: tuple[str, ...]
    layers: int

    @property
    def weights(self) -> Numbers:
        """Weights that give each source its share of its class, one on average."""
        weights = np.ones(len(self.labels))
        for (source, label), share in SHARES.items():
            chosen = (self.sources == source) & (self.labels == label)
            weights[chosen] = share * len(self.labels) / 2 / max(int(chosen.sum()), 1)
        return weights


def read(data: Path, layers: int) -> Data:
    """Read a seeded part of each set, and embed it."""
    draw = random.Random(SEED)  # noqa: S311 - not a secret
    rows: list[tuple[str, int, str]] = []
    for name, n_clean, n_bad in PARTS:
        every = read_rows(data, name)
        for label, number in ((0, n_clean), (1, n_bad)):
            part = draw.sample([row["output"] for row in every if row["label"] == label], number)
            rows += [(text, label, name) for text in part]
    rows += [(text, 0, "constructed") for text in HARMLESS] + [(text, 1, "constructed") for text in TOXIC]
    rows += [(text, 0, "groups") for text in NO_HATE] + [(text, 1, "groups") for text in HATE]
    texts = tuple(text[:MAX_CHARS] for text, _, _ in rows)
    return Data(
        vectors_of(texts, layers),
        np.array(word_logits(texts)),
        np.array([label for _, label, _ in rows]),
        np.array([source for _, _, source in rows]),
        texts,
        layers,
    )


def fitted(data: Data, chosen: NDArray[np.bool_]) -> Fitted:
    """Fit on the chosen texts."""
    return fit(data.vectors[chosen], data.labels[chosen], data.weights[chosen], strength=STRENGTH)


def cross_validate(data: Data) -> Numbers:
    """Print five-fold figures of words, meaning and their mean; return the meaning's logits of unseen texts."""
    logits = np.zeros(len(data.labels))
    read = np.full(len(data.labels), np.nan)
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    for train, test in folds.split(data.labels, data.labels):
        chosen = np.zeros(len(data.labels), bool)
        chosen[train] = True
        head = fitted(data, chosen)
        logits[test] = head.logits(data.vectors)[test]
        wanted = sorted(set(test.tolist()) & _to_read(data))
        read[wanted] = [_as_read(data.texts[index], head, data.layers) for index in wanted]
    for name, found in _kinds(data, logits).items():
        print(f"five folds  {name:8} {_figures(data, np.ones(len(logits), bool), found)}")
    is_read = ~np.isnan(read)
    print(f"five folds, {is_read.sum()} texts whole       {_figures(data, is_read, _kinds(data, logits)['mean'])}")
    print(f"five folds, {is_read.sum()} texts in passages {_figures(data, is_read, read)}")
    for source, label in SHARES:
        chosen = (data.sources == source) & (data.labels == label)
        rates = (f"{name} {(found[chosen] > 0).mean():.3f}" for name, found in _kinds(data, logits).items())
        print(f"   flagged {source:17} class {label}: {', '.join(rates)}")
    return logits


def _to_read(data: Data) -> set[int]:
    draw = random.Random(SEED)  # noqa: S311 - not a secret
    chosen: set[int] = set()
    for source, label in SHARES:
        every = np.flatnonzero((data.sources == source) & (data.labels == label)).tolist()
        chosen.update(draw.sample(every, min(N_READ, len(every))))
    return chosen


def _as_read(text: str, head: Fitted, layers: int) -> float:
    """Return the worst passage's mean logit, as the evaluator computes it."""
    passages = [text[start:end] for start, end in split_passages(text)]
    logits = np.array(word_logits(passages)) + head.logits(embed(passages, layers=layers))
    return float(logits.max()) / 2 + OFFSET


def leave_one_out(data: Data, unseen: Numbers) -> None:
    """Print how a set fares that the head has not seen, against the other sets' texts when they were not seen."""
    for source in sorted(set(data.sources.tolist())):
        left = data.sources == source
        logits = np.where(left, fitted(data, ~left).logits(data.vectors), unseen)
        for label in sorted(set(data.labels[left].tolist())):
            against = (left & (data.labels == label)) | (data.labels != label)
            for name, found in _kinds(data, logits).items():
                print(f"without {source:17} class {label} {name:8} {_figures(data, against, found)}")


def _kinds(data: Data, logits: Numbers) -> dict[str, Numbers]:
    return {"words": data.words, "meaning": logits, "mean": (data.words + logits) / 2 + OFFSET}


def _figures(data: Data, chosen: NDArray[np.bool_], logits: Numbers) -> str:
    labels, found = data.labels[chosen], logits[chosen]
    return (
        f"AUC {roc_auc_score(labels, found):.4f} F1 {f1_score(labels, found > 0):.3f} "
        f"found {(found[labels == 1] > 0).mean():.3f} false alarms {(found[labels == 0] > 0).mean():.3f}"
    )


def train(folder: Path, mode: Mode) -> int:
    """Train both heads on everything; print the tables unless only the numbers are to be compared."""
    return max(_train(name, folder, mode) for name in HEADS)


def _train(name: str, folder: Path, mode: Mode) -> int:
    layers, date = HEADS[name]
    data = read(folder, layers)
    if mode is not Mode.CHECK:
        print(f"-- {name}, after {layers} layers")
        leave_one_out(data, cross_validate(data))
    if mode is Mode.EVALUATE:
        return 0
    head = fitted(data, np.ones(len(data.labels), bool))
    # The mean halves what is added here.
    moved = Fitted(head.coefficients, head.intercept + 2 * OFFSET)
    return write_or_check(name, moved, described(folder, SOURCES) | {"date": date}, check=mode is Mode.CHECK)


if __name__ == "__main__":
    run("Train the head of the family toxicity.", train)
