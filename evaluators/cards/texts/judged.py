"""The description shared by all evaluators that use a language model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evaluators.values import CardText, KnownMiss

LANGUAGES = "Those that the model behind the connection reads."
THRESHOLD = "Half of the scale; no development set has been judged, since the model is the account's own."
MISSES = (
    KnownMiss(
        "It is as right as the model behind the connection: check it against labels with `POST /v1/calibrations`."
    ),
    KnownMiss("A text that argues with the judge may persuade it; `injection_suspected` knows listed phrases alone."),
    KnownMiss("What is too long to be shown whole is refused."),
)
STRICT = "A yes counts as a no where its quote does not stand in the data; the former id marks it and lets it count."
STRICT_CLAIMS = (
    "The judge must decide about every sentence that claims something, and a supported claim needs a quote that stands "
    "in a context; the former id believes the judge's own list of claims, even an empty one."
)

LONGER_QUOTES = "A quote has at least three words, or is a whole text or sentence; a shorter one is asked for again."
ALL_REQUIREMENTS = (
    f"By default all requirements must be met; the former id passes from half of them on. {LONGER_QUOTES}"
)
NO_EXCUSES = (
    "A pass is undecided where the judge finds no claim in a sentence that claims something by our own rules. "
    f"{LONGER_QUOTES}"
)


def judge_card(*misses: str, changes: Mapping[str, str] = MappingProxyType({}), threshold: str = THRESHOLD) -> CardText:
    """Return the description of an evaluator that uses a model, with its limitations and what changed with each id."""
    return CardText((*MISSES, *map(KnownMiss, misses)), LANGUAGES, threshold, changes)


def describe_changes(name: str, *, strict: str = STRICT, exacting: str = LONGER_QUOTES) -> dict[str, str]:
    """Return what changed with the ids of 2026-11-23 and 2026-11-30 of a judge."""
    return {f"{name}-2026-11-23": strict, f"{name}-2026-11-30": exacting}
