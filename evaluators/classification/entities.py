"""Spans of personal data, found by a model in a folder that labels each token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluators.base import Sample, Score, Settings, Span
from evaluators.classification.comparison import Comparison, build_comparisons, get_threshold
from evaluators.classification.folder import ModelFolder, get_outside_label
from evaluators.values import JSONValue

MAX_LISTED = 500
MAX_NAMED = 5
STARTS = ("B-", "S-", "U-")
"""Prefixes of labels with which an entity begins; `I-`, `E-` and `L-` continue one."""
_PREFIXES = (*STARTS, "I-", "E-", "L-")


class TokenModel(Protocol):
    """A loaded model that labels tokens; see `onnx_model.OnnxModel`."""

    folder: ModelFolder

    def cut(self, text: str) -> Sequence[Span]:
        """Return the windows of a text."""
        ...

    def label_tokens(self, text: str) -> tuple[Sequence[Span], NDArray[np.float64]]:
        """Return the spans of a text's tokens, and the probability of each label for each of them."""
        ...


@dataclass(frozen=True, slots=True)
class Entity:
    """A span of the output and the kind of what stands there."""

    kind: str
    span: Span


def score_entities(model: TokenModel, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
    """Score how probably the likeliest token is no personal data; tokens below the threshold are found.

    Raises CannotScore as `build_comparisons` and `TokenModel.label_tokens` do.
    """
    threshold = get_threshold(settings)
    comparisons = build_comparisons(sample, settings, model.cut)
    lowest, found = 1.0, []
    for comparison in comparisons:
        value, entities = _read_window(model, comparison, threshold)
        lowest = min(lowest, value)
        found += entities
    entities = _merge(found)
    extra: dict[str, JSONValue] = {
        "model": model.folder.id,
        "threshold": threshold,
        "n_inputs": len(comparisons),
        "n_entities": len(entities),
        "entities": [
            {"type": entity.kind, "start": entity.span[0], "end": entity.span[1]} for entity in entities[:MAX_LISTED]
        ],
    }
    spans = tuple(entity.span for entity in entities[:MAX_LISTED])
    because = _explain(model.folder.id, entities, lowest, threshold) if explain else None
    return Score(lowest, lowest >= threshold, because, spans or None, extra=extra)


def _read_window(model: TokenModel, comparison: Comparison, threshold: float) -> tuple[float, list[Entity]]:
    """Return the lowest probability that a token of a window is no personal data, and what is found in it."""
    (piece,) = comparison.pieces
    offset = piece.span[0] if piece.span else 0
    spans, chances = model.label_tokens(piece.text)
    labels = model.folder.about.labels
    outside = labels.index(get_outside_label(model.folder.settings))
    if not spans:
        return 1.0, []
    kinds = np.where(np.arange(len(labels)) == outside, -1.0, chances).argmax(axis=1)
    tokens = [
        (labels[kind], (start + offset, end + offset))
        for (start, end), kind, chance in zip(spans, kinds, chances[:, outside], strict=True)
        if chance < threshold
    ]
    return float(chances[:, outside].min()), list(_join(tokens))


def _join(tokens: Sequence[tuple[str, Span]]) -> Iterator[Entity]:
    """Join neighbouring tokens of a kind; parts of a word belong together whatever their labels begin with."""
    current: Entity | None = None
    for label, (start, end) in tokens:
        kind = label[2:] if label.startswith(_PREFIXES) else label
        gap = start - current.span[1] if current else 0
        if current and kind == current.kind and (gap <= 0 or (gap == 1 and not label.startswith(STARTS))):
            current = replace(current, span=(current.span[0], max(end, current.span[1])))
            continue
        if current:
            yield current
        current = Entity(kind, (start, end))
    if current:
        yield current


def _merge(entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities in their order; those of a kind that overlap, as windows do, are one."""
    merged: list[Entity] = []
    for entity in sorted(entities, key=lambda item: (item.kind, item.span)):
        if merged and merged[-1].kind == entity.kind and entity.span[0] < merged[-1].span[1]:
            start, end = merged[-1].span
            merged[-1] = replace(entity, span=(start, max(end, entity.span[1])))
        else:
            merged.append(entity)
    return sorted(merged, key=lambda item: item.span)


def _explain(model: str, entities: Sequence[Entity], lowest: float, threshold: float) -> str:
    """Say what is found and where; the values themselves are not repeated."""
    if not entities:
        return f"{model} finds no personal data: each token is none with a probability of {lowest:.2f} or more."
    places = [f"{entity.kind} (characters {entity.span[0]} to {entity.span[1]})" for entity in entities[:MAX_NAMED]]
    more = f" and {len(entities) - MAX_NAMED} more" if len(entities) > MAX_NAMED else ""
    return (
        f"{model} finds personal data: {', '.join(places)}{more}. The lowest probability of a token to be none is "
        f"{lowest:.2f}, below the threshold of {threshold:g}."
    )
