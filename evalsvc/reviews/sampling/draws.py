"""Which candidates become items, with what probability, and in what order they are given out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalsvc.accounts.models import Account
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.reviews.models import Review
from evalsvc.reviews.sampling.frame import Frame, FrameRow, evaluation_scores, metric_scores
from evalsvc.stats.agreement.draws import compute_floor, draw_at_random, draw_poisson, inclusion_probabilities

ALL, RANDOM, UNCERTAIN, DISAGREEING = METHODS = ("all", "random", "uncertain", "disagreeing")
POISSON = (UNCERTAIN, DISAGREEING)
MAX_ITEMS = 10_000
THRESHOLD = 0.5
Kind = Review.Kind


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How items are to be drawn."""

    method: str = ALL
    n: int | None = None
    metric: str | None = None
    threshold: float = THRESHOLD


@dataclass(frozen=True, slots=True)
class ItemSample:
    """What was drawn: the items in their order with their probabilities, and what the draw rests on."""

    items: Sequence[tuple[FrameRow, float, bool]]
    """With whether the sides of a pair are exchanged."""
    facts: Mapping[str, Any]


def draw(*, account: Account, frame: Frame, ask: SampleOptions, seed: int) -> ItemSample:
    """Draw the items of a review. The same frame, question and seed draw the same. Within the account's scope.

    Raises Invalid where the frame has nothing that this draw could favour by, and for too many items.
    """
    n_frame = len(frame.candidates)
    n_requested = n_frame if ask.method == ALL or ask.n is None else min(ask.n, n_frame)
    if n_requested > MAX_ITEMS:
        raise Invalid(
            FieldError("/sample/n", f"A review has at most {MAX_ITEMS:,} items, and these are {n_requested:,}.")
        )
    facts: dict[str, Any] = {"n_frame": n_frame, "n": n_requested, "seed": seed, "frame_sha256": frame.digest}
    if ask.method in POISSON:
        weights = _weights(account, frame, ask)
        probabilities, c = inclusion_probabilities(weights, n_requested)
        # Another seed than that of the order and the sides: both are drawn from the beginning of a stream.
        places = draw_poisson(probabilities, seed=seed + 1)[:MAX_ITEMS]
        facts |= {"c": float(c), "floor": compute_floor(n_frame, n_requested), "metric": ask.metric}
        facts |= {"threshold": ask.threshold if ask.method == UNCERTAIN else None}
        chances = [float(probabilities[place]) for place in places]
    else:
        places = draw_at_random(n_frame, n_requested, seed=seed + 1)
        chances = [n_requested / n_frame] * len(places)
    if not places:
        raise Invalid(FieldError("/sample/n", "Chance has drawn nothing; ask for more items, or with another seed."))
    sides = random.Random(seed)  # noqa: S311  # nosec B311  a shuffle that can be repeated, no secret
    swaps = [sides.random() < 0.5 for _ in places]
    candidates = (frame.candidates[place] for place in places)
    items = [
        (candidate, chance, swap and candidate.other_id != 0)
        for candidate, chance, swap in zip(candidates, chances, swaps, strict=True)
    ]
    return ItemSample(items, {"method": ask.method, **facts})


def _weights(account: Account, frame: Frame, ask: SampleOptions) -> list[float]:
    if frame.kind == Kind.SPAN:
        raise Invalid(FieldError("/sample/method", f"Spans have no scores; draw {ALL} or {RANDOM}."))
    scores = list(
        _measure_closeness(account, frame, ask) if ask.method == UNCERTAIN else _measure_disagreement(account, frame)
    )
    values = [score for score in scores if score is not None]
    if not values:
        needed = "two verdicts on the same thing" if ask.method == DISAGREEING else "a score to go by"
        raise Invalid(FieldError("/sample/method", f"No item has {needed}."))
    # Of what nothing is known, nothing is assumed: it is drawn as an average item.
    average = float(np.mean(values))
    return [average if score is None else score for score in scores]


def _measure_closeness(account: Account, frame: Frame, ask: SampleOptions) -> Iterator[float | None]:
    """Yield how near each candidate's score is to the threshold, from 0 (the furthest) to 1; of a pair to a tie."""
    distances = [None if offset is None else abs(offset) for offset in _measure_offsets(account, frame, ask)]
    furthest = max((distance for distance in distances if distance is not None), default=0.0) or 1.0
    return (None if distance is None else 1 - distance / furthest for distance in distances)


def _measure_offsets(account: Account, frame: Frame, ask: SampleOptions) -> Iterator[float | None]:
    if frame.kind == Kind.EVALUATION:
        yield from (None if score is None else score - ask.threshold for score, _ in evaluation_scores(account, frame))
        return
    scores = metric_scores(account, frame)
    names = {name for values in scores.values() for name in values}
    if ask.metric is None or ask.metric not in names:
        available = ", ".join(sorted(names)) or "none"
        raise Invalid(FieldError("/sample/metric", f"Name the metric whose scores are meant; there are: {available}."))
    for candidate in frame.candidates:
        first, second = (scores.get(key, {}).get(ask.metric) for key in _keys(candidate))
        if frame.kind == Kind.OUTPUT:
            yield None if first is None else first - ask.threshold
        else:
            yield None if first is None or second is None else first - second


def _measure_disagreement(account: Account, frame: Frame) -> Iterator[float | None]:
    """Yield how far evaluators differ about each candidate; None where fewer than two have judged it."""
    if frame.kind == Kind.EVALUATION:
        yield from (
            float(np.std(verdicts)) if len(verdicts) > 1 else None for _, verdicts in evaluation_scores(account, frame)
        )
        return
    scores = metric_scores(account, frame)
    for candidate in frame.candidates:
        first, second = (scores.get(key, {}) for key in _keys(candidate))
        if frame.kind == Kind.OUTPUT:
            values = [min(1.0, max(0.0, value)) for value in first.values()]
        else:
            values = [float(np.sign(first[name] - second[name])) / 2 for name in first.keys() & second.keys()]
        yield float(np.std(values)) if len(values) > 1 else None


def _keys(one: FrameRow) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one.config_id or 0, one.example_pos or 0), (one.other_config_id or 0, one.example_pos or 0)
