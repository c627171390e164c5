"""Similarity checks: how near a text comes to another, and whether that is near enough."""

from __future__ import annotations

from collections.abc import Iterator

from evaluators.base import Sample, Settings, SettingsProblem
from evaluators.checks.outcome import CheckKind, Outcome
from evaluators.checks.similarity import MEASURES, measure_similarity
from evaluators.checks.words import COMMON, TEXT, filled, subject, template_problems
from evaluators.settings import THRESHOLD, object_schema

SCHEMA = object_schema(
    {
        **COMMON,
        "metric": {"type": "string", "enum": list(MEASURES)},
        "value": TEXT,
        "pass_threshold": THRESHOLD,
    },
    required=["metric", "pass_threshold"],
)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    yield from template_problems(_value(settings), f"{pointer}/value")


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Compare with the value, which defaults to the gold answer."""
    metric, threshold = str(settings["metric"]), float(str(settings["pass_threshold"]))
    value = measure_similarity(metric, subject(settings, sample), filled(_value(settings), sample))
    passed = value >= threshold
    verb = "reaches" if passed else "is below"
    because = f"{metric} gives {value:.2f}, which {verb} the threshold of {threshold:g}"
    return Outcome(value, passed, because, {"metric": metric})


def _value(settings: Settings) -> str:
    return str(settings.get("value", "{{gold}}"))


KIND = CheckKind(SCHEMA, _problems, _run)
