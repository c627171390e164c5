"""The texts that a model is given of a sample, in windows, and the window that decides.

A long text is read in windows. For `support` every window of the output has to be supported by at least one window of
the contexts; for `toxicity` the worst window decides, for `relevance` the best one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, product
from typing import TypeAlias

from evaluators.base import CannotScore, Field, Sample, Score, Settings, Span
from evaluators.gateway import SCORE
from evaluators.grounding.sentences import split_sentences
from evaluators.settings import number_setting
from evaluators.values import JSONValue

Cutter: TypeAlias = Callable[[str], Sequence[Span]]
MAX_COMPARISONS = 64
"""Inputs of the model for one score."""
SHOWN_CHARS = 120
DEFAULT_THRESHOLD = 0.5
CONTEXT, INPUT, OUTPUT = "context", "input", "output"
FIELDS: Mapping[str, Field] = {CONTEXT: Field.CONTEXT, INPUT: Field.INPUT, OUTPUT: Field.OUTPUT}
_placeholder = re.compile(r"\{(context|input|output)\}")


class Task(StrEnum):
    """What a model decides: is the output supported by the contexts, is a text harmless, is it relevant?"""

    SUPPORT = "support"
    TOXICITY = "toxicity"
    RELEVANCE = "relevance"


ENTITIES = "entities"
"""The task of a model that labels tokens, and no texts: only models in folders have it."""
DEFAULT_TEXTS: Mapping[str, tuple[str, ...]] = {
    Task.SUPPORT: (CONTEXT, OUTPUT),
    Task.TOXICITY: (OUTPUT,),
    Task.RELEVANCE: (INPUT, OUTPUT),
    ENTITIES: (OUTPUT,),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A window of a text, and where it stands in the output if it is of that."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One input of the model: a piece of each text that the settings name, in their order."""

    names: tuple[str, ...]
    pieces: tuple[Piece, ...]

    @property
    def checked(self) -> tuple[Piece, ...]:
        """Return the pieces that are judged, as opposed to the contexts that they are compared with."""
        return tuple(piece for name, piece in zip(self.names, self.pieces, strict=True) if name != CONTEXT)

    def build_input(self, template: str) -> tuple[str, ...]:
        """Return the texts; with a template, one text that has them in its placeholders."""
        texts = {name: piece.text for name, piece in zip(self.names, self.pieces, strict=True)}
        if template:
            return (_placeholder.sub(lambda found: texts.get(found[1], found[0]), template),)
        return tuple(texts.values())


def name_texts(settings: Settings) -> tuple[str, ...]:
    """Return the texts that the model is given, in their order: the settings', else those that the task needs."""
    texts = settings.get("texts")
    if isinstance(texts, list):
        return tuple(str(name) for name in texts)
    return DEFAULT_TEXTS.get(str(settings.get("task")), ())


def name_fields(settings: Settings) -> tuple[Field, ...]:
    """Return the inputs that the model is given."""
    return tuple(FIELDS[name] for name in name_texts(settings))


def find_placeholders(template: str) -> set[str]:
    """Return the texts that a template has a place for."""
    return set(_placeholder.findall(template))


def build_comparisons(sample: Sample, settings: Settings, cut: Cutter) -> list[Comparison]:
    """Return the inputs of the model. Raises CannotScore for a blank text, and for one that is too long."""
    names = name_texts(settings)
    pieces = [list(_iter_pieces(name, sample, settings, cut)) for name in names]
    for name, found in zip(names, pieces, strict=True):
        if not found:
            raise CannotScore("missing_input", f"`{FIELDS[name]}` is blank.")
    comparisons = [Comparison(names, parts) for parts in product(*pieces)]
    if len(comparisons) > MAX_COMPARISONS:
        detail = f"Its windows are {len(comparisons)} inputs of the model, and one score has at most {MAX_COMPARISONS}."
        raise CannotScore("input_too_long", detail)
    return comparisons


def _iter_pieces(name: str, sample: Sample, settings: Settings, cut: Cutter) -> Iterator[Piece]:
    match name:
        case "context":
            # Evidence may stand in several passages.
            is_joined = settings.get("task") == Task.SUPPORT
            texts = ["\n\n".join(sample.context_texts)] if is_joined else sample.context_texts
            yield from (Piece(text[start:end]) for text in texts for start, end in _windows(text, cut))
        case "input":
            yield from (Piece((sample.input or "")[start:end]) for start, end in _windows(sample.input or "", cut))
        case _:
            output = sample.output or ""
            whole = [(0, len(output))]
            for first, last in split_sentences(output) if settings.get("split_claims") is True else whole:
                for start, end in _windows(output[first:last], cut):
                    span = (first + start, first + end)
                    yield Piece(output[slice(*span)], span)


def _windows(text: str, cut: Cutter) -> Sequence[Span]:
    return [(start, end) for start, end in cut(text) if text[start:end].strip()]


def cut_by_characters(text: str, size: int, stride: int) -> list[Span]:
    """Return windows of at most `size` characters that begin about `stride` apart and end at a blank where they can."""
    windows: list[Span] = []
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text) and (blank := text.rfind(" ", start + size // 2, end)) > 0:
            end = blank
        windows.append((start, end))
        if end == len(text):
            break
        following = min(start + stride, end)
        blank = text.rfind(" ", start, following)
        start = blank + 1 if blank > start else following
    return windows


def read_probability(labels: Mapping[str, float], settings: Settings) -> tuple[str, float]:
    """Return the label that the settings name and the probability that the input is good.

    Raises CannotScore for a label that the model does not have.
    """
    good, bad = settings.get("good_label"), settings.get("bad_label")
    label = good or bad or (next(iter(labels)) if len(labels) == 1 else None)
    known = ", ".join(list(labels)[:20])
    if label is None:
        raise CannotScore("not_configured", f"Name the good label as `good_label`. The model's labels are: {known}.")
    name = str(label)
    if name not in labels:
        raise CannotScore("not_configured", f"The model has no label {name[:100]!r}. Its labels are: {known}.")
    return name, 1 - labels[name] if bad and not good else labels[name]


def find_deciding(task: str, comparisons: Sequence[Comparison], goods: Sequence[float]) -> int:
    """Return the index of the comparison that decides; see the module."""
    indices = range(len(comparisons))
    if task == Task.TOXICITY:
        return min(indices, key=goods.__getitem__)
    if task == Task.RELEVANCE:
        return max(indices, key=goods.__getitem__)
    ordered = sorted(indices, key=lambda index: [piece.span or (0, 0) for piece in comparisons[index].checked])
    groups = groupby(ordered, key=lambda index: comparisons[index].checked)
    return min((max(group, key=goods.__getitem__) for _, group in groups), key=goods.__getitem__)


def build_score(
    comparisons: Sequence[Comparison],
    labels: Sequence[Mapping[str, float]],
    settings: Settings,
    *,
    model: str,
    is_weighed: bool = True,
    explain: bool = True,
) -> Score:
    """Return the score: how probably the deciding input is good. Raises CannotScore as read_probability does."""
    read = [read_probability(item, settings) for item in labels]
    deciding = find_deciding(str(settings.get("task")), comparisons, [good for _, good in read])
    label, good = read[deciding]
    threshold = get_threshold(settings)
    passed = good >= threshold
    spans = [piece.span for piece in comparisons[deciding].checked if piece.span is not None]
    extra: dict[str, JSONValue] = {
        "model": model,
        "label": label,
        "probability": labels[deciding][label],
        "threshold": threshold,
        "n_inputs": len(comparisons),
    }
    because = _explain(model, label, labels[deciding][label], good, threshold, is_weighed)
    if len(comparisons) > 1 and spans:
        because += f" It decides on: {_shorten(comparisons[deciding].checked[-1].text)}"
    return Score(good, passed, because if explain else None, None if passed else tuple(spans) or None, extra=extra)


def get_threshold(settings: Settings) -> float:
    """Return the lowest probability of the good label that passes."""
    threshold = number_setting(settings, "pass_threshold")
    return DEFAULT_THRESHOLD if threshold is None else threshold


def _explain(model: str, label: str, probability: float, good: float, threshold: float, is_weighed: bool) -> str:
    place = "at or above" if good >= threshold else "below"
    if not is_weighed:
        return f"{model} {'answers' if probability else 'does not answer'} `{label}`; it tells no probability."
    told = f"{model} gives" if label == SCORE else f"{model} gives `{label}` the probability"
    if label == SCORE:
        told += " the score"
    score = "" if good == probability else f", which is a score of {good:.2f}"
    return f"{told} {probability:.2f}{score}, {place} the threshold of {threshold:g}."


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SHOWN_CHARS else f"{plain[: SHOWN_CHARS - 1]}…"
