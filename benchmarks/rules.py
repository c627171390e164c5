"""How right the evaluators are that nobody trained, on the development sets: nothing is fitted, so each set is whole.

For short answers there is no such set; constructed pairs stand in, some of them held apart.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks import contrast, robustness
from benchmarks.personal_data import drawn, measured
from benchmarks.robustness import total
from benchmarks.short_answers import HELD_APART, TUNED, Pair
from evalsvc.stats.formulas.intervals import wilson
from evaluators.base import CannotScore, Passage, Sample, Score, Settings
from evaluators.families.retrieval.hallucination import WORST_SENTENCE, Hallucination
from evaluators.grounding.sentences import split_sentences
from evaluators.pii.entities import Finding
from evaluators.pii.find import find_entities, find_first_entities

SUPPORT = ("begin_wow_dev", "wice_dev")
DOCUMENTS = "presidio_generated_large.json.gz"
# What the structured evaluator looks for, by the names that the documents use.
STRUCTURED = {"CREDIT_CARD", "PHONE_NUMBER", "EMAIL_ADDRESS", "US_SSN", "IBAN_CODE", "US_DRIVER_LICENSE", "IP_ADDRESS"}
_BIRTH = re.compile(r"(?i)\b(?:born on|date of birth)\b.{0,20}\{\{date_of_birth\}\}")
NEWEST: Settings = {}
RESAMPLES = 1000
COPIES = 400
SENTENCES = 60
"""Of each language and kind, drawn."""
_VERB = re.compile(r"\b(is|was|are|were|can|will)\b")
_DENIED = re.compile(r"\bnot?\b|n't|never|without")


def measured_rules(
    folder: Path, *, n_drawn: int = SENTENCES, most: int = 1_000, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """Return and print the AUC of hallucination for each set, and what structured PII finds of whole documents.

    `n_drawn` sentences of each language and kind are drawn for PII; `most` failing texts of each family are changed.
    """
    print("-- rules: nothing is trained; their constants were chosen looking at these sets")
    figures: dict[str, Any] = {}
    for version, settings in (("hallucination", NEWEST), ("first version", {"variant": WORST_SENTENCE})):
        for name in SUPPORT:
            figures[f"{version} {name}"] = support(folder / f"{name}.jsonl.gz", settings, resamples)
    figures["copies, denied"] = denied_copies([folder / f"{name}.jsonl.gz" for name in SUPPORT])
    figures["short answers, looked at"] = short_answers(TUNED)
    figures["short answers, held apart"] = short_answers(HELD_APART)
    for name, find in (("pii", find_entities), ("pii before 2026-11-23", find_first_entities)):
        figures[f"{name}, documents"] = documents(folder / DOCUMENTS, find)
        figures[f"{name}, constructed"] = measured(find, constructed(n_drawn))
    for name, figure in figures.items():
        print(f"{name:30} {figure}", flush=True)
    return {
        **figures,
        "contrast": contrast.measured(folder, Hallucination(), {}),
        "robustness": {name: total(table).share for name, table in robustness.measured(most=most).items()},
    }


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def support(path: Path, settings: Settings, resamples: int) -> dict[str, Any]:
    """The AUC of 1 - support for the bad class, with a percentile interval over resampled rows; and what passes."""
    family, labels, scores = Hallucination(), [], []
    for row in rows_of(path):
        context = row["context"] if isinstance(row["context"], list) else [row["context"]]
        sample = Sample(input=row["input"] or "", output=row["output"], contexts=tuple(map(Passage, context)))
        labels.append(row["label"])
        scores.append(scored(family, sample, settings))
    known = np.array([score is not None for score in scores])
    bad = np.array(labels)[known]
    risk = 1 - np.array([score.value for score in scores if score is not None])
    rng = np.random.default_rng(0)
    drawn = (rng.integers(0, len(bad), len(bad)) for _ in range(resamples))
    found = [roc_auc_score(bad[index], risk[index]) for index in drawn if 0 < bad[index].sum() < len(bad)]
    low, high = np.quantile(found, [0.025, 0.975])
    passed = np.array([score.passed for score in scores if score is not None])
    return {
        **{"n": len(scores), "not_applicable": int((~known).sum())},
        **{"auc": round(float(roc_auc_score(bad, risk)), 4), "interval": [round(float(low), 4), round(float(high), 4)]},
        **{"accuracy": share(passed == (bad == 0)), "good failed": share(~passed[bad == 0])},
        "bad passed": share(passed[bad == 1]),
    }


def share(happened: Any) -> list[float]:
    """A share with its Wilson interval."""
    low, high = wilson(int(happened.sum()), len(happened)) if len(happened) else (0.0, 1.0)
    return [round(float(each), 4) for each in (happened.mean() if len(happened) else 0.0, low, high)]


def scored(family: Hallucination, sample: Sample, settings: Settings = NEWEST) -> Score | None:
    """The score; None where a sample has none."""
    try:
        return family.score(sample, settings, explain=False)
    except CannotScore:
        return None


def denied_copies(paths: Sequence[Path]) -> dict[str, Any]:
    """The shares that pass of sentences copied from a context, and of the same with "not" put in after the verb."""
    family, passed = Hallucination(), []
    copies = [(said, contexts) for path in paths for row in rows_of(path) for said, contexts in affirming(row)]
    for said, contexts in random.Random(1).sample(copies, min(COPIES, len(copies))):
        samples = (Sample(input="", output=text, contexts=contexts) for text in (said, _VERB.sub(r"\1 not", said, 1)))
        scores = [scored(family, sample) for sample in samples]
        passed.append([score is not None and score.passed for score in scores])
    shares = np.mean(passed, axis=0) if passed else np.zeros(2)
    return {"n": len(passed), "copied": round(float(shares[0]), 4), "denied": round(float(shares[1]), 4)}


def affirming(row: dict[str, Any]) -> Iterator[tuple[str, tuple[Passage, ...]]]:
    """Yield the sentences of a row's contexts that affirm something, six of each context at most."""
    contexts = row["context"] if isinstance(row["context"], list) else [row["context"]]
    for text in contexts:
        for start, end in split_sentences(text)[:6]:
            said = text[start:end].strip()
            if len(said.split()) > 5 and _VERB.search(said) and not _DENIED.search(said):
                yield said, tuple(map(Passage, contexts))


def short_answers(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The AUC of support for right over wrong answers; apart for wrong ones that are sentences, and as short as right."""
    rows = {"all": pairs, "wrong_in_sentences": [each for each in pairs if not each.is_short]}
    rows["wrong_as_short"] = [each for each in pairs if each.is_short]
    return {"n": len(pairs), **{name: round(auc_of_pairs(each), 4) for name, each in rows.items()}}


def auc_of_pairs(pairs: Sequence[Pair]) -> float:
    """The chance that some right answer has more support than some wrong one, also of another pair."""
    family, right, values = Hallucination(), [], []
    for pair in pairs:
        for text in (pair.right, pair.wrong):
            score = scored(family, Sample(input=pair.question, output=text, contexts=(Passage(pair.passage),)))
            # A bare yes or no has no score.
            if score is not None:
                right.append(text == pair.right)
                values.append(score.value)
    return float(roc_auc_score(right, values))


def constructed(n_drawn: int) -> list[tuple[str, bool]]:
    """Sentences in thirteen languages, and whether they hold personal data."""
    return [(text, holds) for _, text, holds in drawn(n_drawn)]


def holds_kinds(row: dict[str, Any], kinds: set[str]) -> bool:
    """Whether a document has a span of these kinds, or a date that its template calls one of birth."""
    return any(span["entity_type"] in kinds for span in row["spans"]) or bool(_BIRTH.search(row.get("masked", "")))


def documents(path: Path, find: Callable[[str], list[Finding]]) -> dict[str, Any]:
    """Documents that hold structured personal data against those that do not, by whether anything is found."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = json.load(file)
    holds = np.array([holds_kinds(row, STRUCTURED) for row in rows])
    found = np.array([bool(find(row["full_text"])) for row in rows])
    hits = int((holds & found).sum())
    precision, recall = hits / max(int(found.sum()), 1), hits / max(int(holds.sum()), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    rounded = {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}
    return {"n": len(rows), "positive": int(holds.sum()), **rounded}
