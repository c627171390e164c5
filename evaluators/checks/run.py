"""Checks of one's own, alone or composed: what is wrong with them, what they need, and how they come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evaluators import budget
from evaluators.base import Field, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.kinds import (
    counts,
    duplication,
    highlights,
    json_check,
    languages,
    numeric,
    regexes,
    similar,
    strings,
)
from evaluators.checks.outcome import Outcome
from evaluators.checks.similarity import EMBEDDED
from evaluators.checks.templates import FIELDS, tokens
from evaluators.checks.words import get_field
from evaluators.settings import THRESHOLD, object_schema, settings_problems

MAX_CHECKS = 50
MAX_DEPTH = 5


KINDS = {
    "string": strings.KIND,
    "regex": regexes.KIND,
    "json": json_check.KIND,
    "numeric": numeric.KIND,
    "similarity": similar.KIND,
    "count": counts.KIND,
    "duplication": duplication.KIND,
    "language": languages.KIND,
    "highlight": highlights.KIND,
}
_MEMBERS: dict[str, JSONValue] = {
    "type": {"type": "string"},
    "name": {"type": "string", "maxLength": 100},
    "checks": {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": MAX_CHECKS},
}
_COMPOSED = {
    "all": object_schema(_MEMBERS, required=["checks"]),
    "any": object_schema(_MEMBERS, required=["checks"]),
    "weighted": object_schema(
        {
            **_MEMBERS,
            "weights": {"type": "array", "items": {"type": "number", "minimum": 0}, "maxItems": MAX_CHECKS},
            "pass_threshold": THRESHOLD,
        },
        required=["checks", "pass_threshold"],
    ),
}
TYPES = (*KINDS, *_COMPOSED)


def check_problems(settings: Settings) -> list[SettingsProblem]:
    """List the problems that prevent a check, including its members, from being run; empty if it is valid."""
    if sum(1 for _ in _leaves(settings)) > MAX_CHECKS:
        return [SettingsProblem("/checks", f"must hold at most {MAX_CHECKS} checks in all")]
    with regexes.room_for_patterns():
        return list(_problems(settings, "", 0))


def run_check(settings: Settings, sample: Sample) -> Outcome:
    """Run a check that has passed `check_problems`; every member of a composed one is run, and shown in `detail`."""
    leaves: list[JSONValue] = []
    outcome = _run(settings, sample, "", leaves)
    if settings["type"] in KINDS:
        return outcome
    failed: list[JSONValue] = [leaf["check"] for leaf in leaves if isinstance(leaf, dict) and not leaf["passed"]]
    detail: dict[str, JSONValue] = {**outcome.detail, "failed": failed, "checks": leaves}
    return Outcome(outcome.value, outcome.passed, outcome.because, detail, outcome.spans)


def fields_read(settings: Settings) -> set[Field]:
    """Name the inputs that a check reads, by itself or through a template."""
    fields: set[Field] = set()
    for leaf in _leaves(settings):
        values = leaf.get("values")
        texts = [leaf.get("value"), *(values if isinstance(values, list) else ())]
        if leaf.get("type") == "similarity" and "value" not in leaf:
            texts.append("{{gold}}")
        if leaf.get("type") == "highlight":
            fields.add(Field.GOLD)
        fields.add(get_field(leaf))
        fields.update(FIELDS[name] for text in texts if isinstance(text, str) for name in tokens(text))
    return fields


def fields_as_json(settings: Settings) -> set[Field]:
    """Name the inputs that a check reads as JSON and in no other way: an object is as good there as its text."""
    leaves = list(_leaves(settings))
    fields = {get_field(leaf) for leaf in leaves if leaf.get("type") == "json"}
    return fields.difference(*(fields_read(leaf) for leaf in leaves if leaf.get("type") != "json"))


def looks_for_absence(settings: Settings) -> bool:
    """Return whether a check of the gold answer passes where it is not met: every accepted answer counts then."""
    about_gold = [leaf for leaf in _leaves(settings) if Field.GOLD in fields_read(leaf)]
    return any(leaf.get("operation") in _ABSENT or leaf.get("mode") == "not" for leaf in about_gold)


def reads_all_golds(settings: Settings) -> bool:
    """Return whether a check takes the gold answers as parts of one: marks that are wanted together."""
    return any(leaf.get("type") == "highlight" for leaf in _leaves(settings))


_ABSENT = ("ne", "not_contains", "none_of")


def needs_model(settings: Settings) -> bool:
    """Return whether a check takes the small sentence model."""
    return any(leaf.get("metric") == EMBEDDED for leaf in _leaves(settings))


def _leaves(settings: Settings, depth: int = 0) -> Iterator[Settings]:
    members = _members(settings) if str(settings.get("type")) in _COMPOSED and depth <= MAX_DEPTH else []
    if not members:
        yield settings
    for member in members:
        yield from _leaves(member, depth + 1)


def _members(settings: Settings) -> list[Settings]:
    checks = settings.get("checks")
    return [check for check in checks if isinstance(check, Mapping)] if isinstance(checks, list) else []


def _problems(settings: Settings, pointer: str, depth: int) -> Iterator[SettingsProblem]:
    kind = settings.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        yield SettingsProblem(f"{pointer}/type", f"must be one of {', '.join(TYPES)}")
        return
    if depth > MAX_DEPTH:
        yield SettingsProblem(pointer, f"nests deeper than {MAX_DEPTH} levels")
        return
    schema = KINDS[kind].schema if kind in KINDS else _COMPOSED[kind]
    problems = settings_problems(settings, schema)
    yield from (SettingsProblem(pointer + problem.pointer, problem.detail) for problem in problems)
    # What follows reads the values, and takes their types for granted.
    if problems:
        return
    if kind in KINDS:
        yield from KINDS[kind].problems(settings, pointer)
        return
    yield from _weight_problems(settings, pointer)
    for index, member in enumerate(_members(settings)):
        yield from _problems(member, f"{pointer}/checks/{index}", depth + 1)


def _weight_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    weights = settings.get("weights")
    if isinstance(weights, list) and (len(weights) != len(_members(settings)) or not any(weights)):
        yield SettingsProblem(f"{pointer}/weights", "must be one number for each check, and not all zero")


def _run(settings: Settings, sample: Sample, pointer: str, leaves: list[JSONValue]) -> Outcome:
    kind = str(settings["type"])
    if kind in KINDS:
        budget.check()
        outcome = KINDS[kind].run(settings, sample)
        leaves.append(_build_leaf(settings, pointer, outcome))
        return outcome
    fixed = {name: settings[name] for name in numeric.NUMBERS if name in settings}
    outcomes = [
        _run({**member, **fixed}, sample, f"{pointer}/checks/{index}", leaves)
        for index, member in enumerate(_members(settings))
    ]
    return _compose(kind, settings, outcomes)


def _build_leaf(settings: Settings, pointer: str, found: Outcome) -> dict[str, JSONValue]:
    leaf: dict[str, JSONValue] = {"check": pointer, "type": settings["type"], "passed": found.passed}
    leaf |= {"name": settings["name"]} if "name" in settings else {}
    return leaf | {"value": found.value, "because": found.because, **found.detail}


def _compose(kind: str, settings: Settings, outcomes: Sequence[Outcome]) -> Outcome:
    spans = tuple(sorted({span for outcome in outcomes for span in outcome.spans}))
    n_passed = sum(outcome.passed for outcome in outcomes)
    because = f"{n_passed} of {len(outcomes)} checks pass"
    if kind == "all":
        passed = n_passed == len(outcomes)
        return Outcome(min(outcome.value for outcome in outcomes), passed, because, spans=spans)
    if kind == "any":
        return Outcome(max(outcome.value for outcome in outcomes), n_passed > 0, because, spans=spans)
    weight_values = settings.get("weights")
    weights = _normalise_weights(
        [float(str(weight)) for weight in weight_values] if isinstance(weight_values, list) else [1.0] * len(outcomes)
    )
    total = sum(weight * outcome.value for weight, outcome in zip(weights, outcomes, strict=True))
    value, threshold = min(total / sum(weights), 1.0), float(str(settings["pass_threshold"]))
    verb = "reaches" if value >= threshold else "is below"
    because = f"the weighted mean of {len(outcomes)} checks is {value:.2f}, which {verb} the threshold of {threshold:g}"
    return Outcome(value, value >= threshold, because, spans=spans)


def _normalise_weights(weights: Sequence[float]) -> list[float]:
    # The sum of the largest floats would be infinite, and a mean over it none.
    highest = max(weights)
    return [weight / highest for weight in weights]
