"""Questions with known answers, and models that answer a known share of them rightly.

A model named `stub-accuracy-0.70-a` is right on a question with probability 0.70. Whether it is right on this one is
drawn by a hash, so it is the same in every run and every process. Half of the variance of the draw is the question's
own difficulty, which all models share: models agree more often than chance, as real ones do.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from statistics import NormalDist

SHARED = 0.5
"""The part of a draw's variance that belongs to the question."""
_normal = NormalDist()
_question = re.compile(r"Q(\d+): What is (\d+) \+ (\d+)\?")
_accuracy = re.compile(r"stub-accuracy-([01](?:\.\d+)?)(?:[-@]|$)")


def seeded_task(n: int, seed: int) -> list[dict[str, str]]:
    """Return `n` examples: `sid`, `task_input` with the question, `gold_answer`."""
    draw = random.Random(seed)
    pairs = [(draw.randrange(10, 1000), draw.randrange(10, 1000)) for _ in range(n)]
    return [
        {"sid": str(i), "task_input": f"Q{i}: What is {a} + {b}?", "gold_answer": str(a + b)}
        for i, (a, b) in enumerate(pairs, 1)
    ]


def accuracy_of(model: str, dataset: Iterable[Mapping[str, str]]) -> float:
    """Return the exact share of the examples that the model answers rightly."""
    right = [answer_to(model, row["task_input"]) == row["gold_answer"] for row in dataset]
    return sum(right) / len(right)


def answer_to(model: str, prompt: str) -> str:
    """Return what the model says: the sum, or a wrong one; without a question, a fixed sentence."""
    found = _question.search(prompt)
    if found is None:
        return "ok"
    total = int(found[2]) + int(found[3])
    if is_right(model, found[0]):
        return str(total)
    return str(total + 1 + int(_uniform("wrong", model, found[0]) * 9))


def is_right(model: str, question: str) -> bool:
    """Say whether the model answers the question rightly; models that name no accuracy always do."""
    named = _accuracy.match(model)
    if named is None:
        return True
    accuracy = float(named[1])
    if not 0 < accuracy < 1:
        return accuracy >= 1
    own = _normal.inv_cdf(_uniform("model", model.partition("@")[0], question))
    z = SHARED**0.5 * _difficulty(question) + (1 - SHARED) ** 0.5 * own
    return _normal.cdf(z) < accuracy


@lru_cache(maxsize=100_000)
def _difficulty(question: str) -> float:
    return _normal.inv_cdf(_uniform("question", question))


def _uniform(*parts: str) -> float:
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64
