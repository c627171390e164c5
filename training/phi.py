"""Train the heads that tell a person's health information from other text: `evaluators/heads/phi*.json`.

    python -m training.phi --data DIR [--check]

Data: `phi_train`, that is MTS-Dialog (CC BY 4.0; notes and dialogues, the bad class), PubMedQA (MIT; medicine without a
person) and presidio-research (MIT; persons without medicine), and a part of `cat_gn` (Apache-2.0; talk on the web).
Constructed sentences of `training.constructed` stand for advice and for short notes, those of `training.health` for
named persons with an illness, the same persons without one, and the same illnesses without a person.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from evaluators.minilm import ALL_LAYERS, DEPTHS, windows
from evaluators.phi.passages import find_runs
from training.constructed import HEALTH_ADVICE, HEALTH_NOTES
from training.figurative import MEDICAL_WORDS_ELSEWHERE
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
from training.health import MEDICINE_WITHOUT_PERSONS, PERSONS_WITHOUT_HEALTH, SOMEBODYS_HEALTH

SOURCES = {
    "phi_train": "MTS-Dialog (CC BY 4.0), PubMedQA (MIT), presidio-research (MIT)",
    "cat_gn": "CAT (Apache-2.0), 600 texts",
}
N_WEB = 600
STRENGTH = 10.0
MAX_WINDOWS = 8
MAX_RUNS = 24
CONSTRUCTED = 3.0
WRITTEN: dict[str, tuple[int, float, Sequence[str]]] = {
    "somebody": (1, 1_000.0, SOMEBODYS_HEALTH),
    "persons": (0, 350.0, PERSONS_WITHOUT_HEALTH),
    "medicine": (0, 500.0, MEDICINE_WITHOUT_PERSONS),
    "elsewhere": (0, 500.0, MEDICAL_WORDS_ELSEWHERE),
}
"""Sentences from templates: their class, their weight in texts of the data sets, and the texts."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A head: after how many layers it reads, since when, and how much is taken off its logits."""

    layers: int
    date: str
    taken_off: float = 0.0
    written: tuple[str, ...] = ("somebody", "persons", "medicine")


HEADS = {"phi": Kind(ALL_LAYERS, "2026-11-20"), "phi-early": Kind(min(DEPTHS), "2026-11-23", taken_off=0.5)}
HEADS["phi-elsewhere"] = Kind(min(DEPTHS), "2026-11-28", taken_off=0.25, written=tuple(WRITTEN))


@dataclass(frozen=True, slots=True)
class Data:
    """Vectors of passages, the text each belongs to, and the texts' classes and sources. Windows are trained on."""

    kind: Kind
    vectors: Vectors
    owner: NDArray[np.int64]
    is_window: NDArray[np.bool_]
    labels: NDArray[np.int64]
    sources: NDArray[np.str_]

    @property
    def weights(self) -> Numbers:
        """A long text counts as one, however many windows it has; constructed ones as the constants above say."""
        of_text = np.where(np.isin(self.sources, ("advice", "short_notes")), CONSTRUCTED, 1.0)
        for source, (_, weight, texts) in WRITTEN.items():
            of_text[self.sources == source] = weight / len(texts)
        n_windows = np.bincount(self.owner[self.is_window])
        return np.asarray((of_text / n_windows)[self.owner], np.float64)

    @property
    def from_templates(self) -> NDArray[np.bool_]:
        """Which texts are sentences from templates: like each other across folds, they would flatter every figure."""
        return np.isin(self.sources, tuple(WRITTEN))


def read(data: Path, kind: Kind, *, runs: bool) -> Data:
    """Read the rows, cut them as the evaluator does, and embed the passages; runs of sentences only for figures."""
    rows = _rows(data, kind)
    passages: list[tuple[int, bool, str]] = []
    for index, (text, _, _) in enumerate(rows):
        whole = windows(text)[:MAX_WINDOWS] or [(0, len(text))]
        passages += [(index, True, text[start:end]) for start, end in whole]
        passages += [(index, False, text[start:end]) for start, end in (find_runs(text)[:MAX_RUNS] if runs else ())]
    return Data(
        kind,
        vectors_of([text for _, _, text in passages], kind.layers),
        np.array([owner for owner, _, _ in passages]),
        np.array([is_window for _, is_window, _ in passages]),
        np.array([label for _, label, _ in rows]),
        np.array([source for _, _, source in rows]),
    )


def _rows(data: Path, kind: Kind) -> list[tuple[str, int, str]]:
    rows = [(row["output"], row["label"], row["meta"]["src"]) for row in read_rows(data, "phi_train")]
    web = [row["output"] for row in read_rows(data, "cat_gn") if not row["label"]]
    rows += [(text, 0, "cat_gn") for text in random.Random(SEED).sample(web, N_WEB)]  # noqa: S311 - not a secret
    rows += [(text, 0, "advice") for text in HEALTH_ADVICE] + [(text, 1, "short_notes") for text in HEALTH_NOTES]
    written = {source: WRITTEN[source] for source in kind.written}
    return rows + [(text, label, source) for source, (label, _, texts) in written.items() for text in texts]


def fitted(data: Data, chosen: NDArray[np.bool_]) -> Fitted:
    """Fit on the chosen texts."""
    of_chosen = chosen[data.owner] & data.is_window
    labels = data.labels[data.owner]
    head = fit(data.vectors[of_chosen], labels[of_chosen], data.weights[of_chosen], strength=STRENGTH)
    return replace(head, intercept=head.intercept - data.kind.taken_off)


def text_logits(head: Fitted, data: Data) -> Numbers:
    """Return each text's worst passage, as the evaluator scores it."""
    worst = np.full(len(data.labels), -np.inf)
    np.maximum.at(worst, data.owner, head.logits(data.vectors))
    return worst


def cross_validate(data: Data) -> None:
    """Print five-fold figures. A note and the dialogue it sums up, neighbours in the file, are in one fold."""
    logits = np.zeros(len(data.labels))
    pairs = np.arange(len(data.labels)) // 2
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=SEED)
    for train, test in folds.split(data.labels, data.labels, pairs):
        chosen = np.zeros(len(data.labels), bool)
        chosen[train] = True
        logits[test] = text_logits(fitted(data, chosen), data)[test]
    public = ~data.from_templates
    print(f"five folds   {_figures(data.labels[public], logits[public])}")
    for source in np.unique(data.sources):
        print(f"   {source:20} flagged {(logits[data.sources == source] > 0).mean():.3f}")


def leave_one_out(data: Data) -> None:
    """Print how a source fares that the head has not seen, against all of the other class."""
    for source in np.unique(data.sources):
        left = data.sources == source
        logits = text_logits(fitted(data, ~left), data)
        other = ~data.from_templates & (data.labels != data.labels[left][0])
        auc = roc_auc_score(data.labels[left | other], logits[left | other])
        print(f"without {source:20} n {left.sum():5} flagged {(logits[left] > 0).mean():.3f} AUC {auc:.3f}")


def _figures(labels: NDArray[np.int64], logits: Numbers) -> str:
    return (
        f"AUC {roc_auc_score(labels, logits):.4f} F1 {f1_score(labels, logits > 0):.3f} "
        f"false alarms {(logits[labels == 0] > 0).mean():.3f}"
    )


def train(folder: Path, mode: Mode) -> int:
    """Train both heads on everything; print the tables unless only the numbers are to be compared."""
    return max(_train(name, kind, folder, mode) for name, kind in HEADS.items())


def _train(name: str, kind: Kind, folder: Path, mode: Mode) -> int:
    check = mode is Mode.CHECK
    data = read(folder, kind, runs=not check)
    if not check:
        print(f"-- {name}, after {kind.layers} layers")
        cross_validate(data)
        leave_one_out(data)
    if mode is Mode.EVALUATE:
        return 0
    about = {**described(folder, SOURCES), "date": kind.date}
    return write_or_check(name, fitted(data, np.ones(len(data.labels), bool)), about, check=check)


if __name__ == "__main__":
    run("Train the head of the family phi.", train)
