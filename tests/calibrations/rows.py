"""Labelled rows as `POST /v1/calibrations` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def labelled(n: int = 300, *, apart: float = 2.0, seed: int = 1) -> list[dict[str, Any]]:
    """Return rows whose scores tell good from bad by so many standard deviations."""
    rng = np.random.default_rng(seed)
    is_good = rng.random(n) < 0.6
    scores = 1 / (1 + np.exp(-(rng.normal(size=n) + apart * (is_good - 0.2))))
    return [{"label": bool(label), "score": float(score)} for label, score in zip(is_good, scores, strict=True)]
