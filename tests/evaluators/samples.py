"""Samples for tests, from keyword arguments."""

from __future__ import annotations

from typing import Any

from evaluators.base import Sample
from evaluators.samples import build_sample


def make_sample(
    input: Any = None,
    output: Any = None,
    contexts: Any = None,
    gold: Any = None,
    system_prompt: Any = None,
    **more: Any,
) -> Sample:
    """Make a sample as every way in does."""
    named = {"input": input, "output": output, "contexts": contexts, "gold": gold, "system_prompt": system_prompt}
    return build_sample(named | more)
