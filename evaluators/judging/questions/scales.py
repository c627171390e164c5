"""How a judge states its verdict: a plain score, a level of a rubric, or a label; and how that becomes 0 to 1."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from evaluators.base import JSONValue, Settings, SettingsProblem
from evaluators.gateway import Weights
from evaluators.judging.prompts import QUOTE_RULE, answer_schema
from evaluators.judging.readings import CHECKS, SCORE, SOME_CHECKS, read_number, read_text, read_truth, unreadable
from evaluators.judging.settings import is_exacting, is_weighed

LABEL: JSONValue = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "minLength": 1, "maxLength": 100},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "description": {"type": "string", "maxLength": 2_000},
    },
    "required": ["label", "score"],
    "additionalProperties": False,
}
LABELS: JSONValue = {
    "type": "array",
    "items": LABEL,
    "minItems": 2,
    "maxItems": 5,
    "description": "Labels to choose from, each with the score it stands for.",
}
LEVEL: JSONValue = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 5},
        "description": {"type": "string", "minLength": 1, "maxLength": 2_000},
    },
    "required": ["score", "description"],
    "additionalProperties": False,
}
RUBRIC: JSONValue = {
    "type": "array",
    "items": LEVEL,
    "minItems": 2,
    "maxItems": 11,
    "description": "Levels, each with its score: all from 0 to 1, or all from 1 to 5 (1 becomes 0, and 5 becomes 1).",
}


UNMET_AT_MOST = 0.5
"""What a plain score is below where a requirement is not met, by the rules of 2026-11-30."""


class Scale:
    """The verdict's scale from the settings: at most one of `labels` and `rubric`."""

    def __init__(self, settings: Settings) -> None:
        """Take settings that `scale_problems` has let through."""
        self.labels = {str(entry["label"]): entry for entry in _entries(settings, "labels")}
        self.levels = {_number(entry): entry for entry in _entries(settings, "rubric")}
        self._is_weighed = is_weighed(settings)
        self._is_exacting = is_exacting(settings)

    def schema(self) -> dict[str, JSONValue]:
        """Describe the answer: reasoning, checks, verdict."""
        checks = SOME_CHECKS if self._is_exacting or not (self.labels or self.levels) else CHECKS
        if self.labels:
            return answer_schema({"checks": checks, "label": {"type": "string", "enum": list(self.labels)}})
        if self.levels:
            low, high = min(self.levels), max(self.levels)
            return answer_schema({"checks": checks, "score": {"type": "number", "minimum": low, "maximum": high}})
        verdict: dict[str, JSONValue] = {"passed": {"type": "boolean"}} if self._is_weighed else {"score": SCORE}
        return answer_schema({"checks": checks, **verdict})

    def to_weights(self) -> Weights | None:
        """Return the verdict field and its options if the settings request their probabilities."""
        if not self._is_weighed:
            return None
        if self.labels:
            return Weights("label", tuple(json.dumps(label, ensure_ascii=False)[1:-1] for label in self.labels))
        if self.levels:
            labels = tuple(dict.fromkeys(f"{level:g}" for level in self.levels))
            return Weights("score", labels) if len(labels) == len(self.levels) else None
        return Weights("passed", ("true", "false"))

    def task(self) -> str:
        """Return how the verdict is to be stated."""
        return "\n".join([self._describe(), QUOTE_RULE]) if self._is_exacting else self._describe()

    def _describe(self) -> str:
        if self.labels:
            return _LABEL_TASK + "\n".join(_described(label, entry) for label, entry in self.labels.items())
        if self.levels:
            levels = sorted(self.levels.items())
            return _LEVEL_TASK + "\n".join(_described(f"{score:g}", entry) for score, entry in levels)
        return _PASSED_TASK if self._is_weighed else _SCORE_TASK

    def read(
        self, data: Mapping[str, JSONValue], share_met: float, chances: Mapping[str, float] | None = None
    ) -> tuple[float, str | None, dict[str, JSONValue]]:
        """Return the score from 0 to 1, the label, and the `extra` fields.

        A plain score is capped at the proportion of checks that are met, so that the number alone cannot contradict the
        checks; since 2026-11-30 at half of it where one is unmet, so that by default all of them must be met.
        """
        extra: dict[str, JSONValue] = {"chances": dict(chances)} if chances else {}
        if self.labels:
            label = read_text(data, "label")
            if label not in self.labels:
                raise unreadable("label")
            values = [_number(entry) for entry in self.labels.values()]
            return _mean(values, chances, _number(self.labels[label])), label, {"label": label, **extra}
        if not self.levels:
            label_value = self._read_level(data, chances)
            return min(label_value, self._cap(share_met)), None, {"stated_score": label_value, **extra}
        label_value = read_number(data, "score", low=min(self.levels), high=max(self.levels))
        return (
            self._apply_rubric(_mean([*self.levels], chances, label_value)),
            None,
            {"rubric_score": label_value, **extra},
        )

    def _cap(self, share_met: float) -> float:
        return UNMET_AT_MOST * share_met if self._is_exacting and share_met < 1 else share_met

    def _read_level(self, data: Mapping[str, JSONValue], chances: Mapping[str, float] | None) -> float:
        if not self._is_weighed:
            return read_number(data, "score")
        return _mean([1.0, 0.0], chances, float(read_truth(data, "passed")))

    def _apply_rubric(self, stated: float) -> float:
        return (stated - 1) / 4 if _is_one_to_five(list(self.levels)) else stated


def scale_problems(settings: Settings) -> Iterator[SettingsProblem]:
    """Return what is wrong with rubric and labels beyond their schema."""
    if "rubric" in settings and "labels" in settings:
        yield SettingsProblem("/labels", "cannot stand beside a rubric; choose one of them")
    names = [str(entry.get("label")) for entry in _entries(settings, "labels")]
    if len(set(names)) < len(names):
        yield SettingsProblem("/labels", "must not repeat a label")
    scores = [_number(entry) for entry in _entries(settings, "rubric")]
    if len(set(scores)) < len(scores):
        yield SettingsProblem("/rubric", "must not repeat a score")
    if max(scores, default=0) > 1 and min(scores) < 1:
        yield SettingsProblem("/rubric", "must have scores from 0 to 1, or from 1 to 5")


def _is_one_to_five(scores: Sequence[float]) -> bool:
    return max(scores) > 1


def _entries(settings: Settings, name: str) -> list[Mapping[str, JSONValue]]:
    entries = settings.get(name)
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def _mean(values: Sequence[float], chances: Mapping[str, float] | None, said: float) -> float:
    """Return the mean of the values weighted by the probabilities (same order), or the stated value without them."""
    if chances is None:
        return said
    return sum(value * chance for value, chance in zip(values, chances.values(), strict=True))


def _number(entry: Mapping[str, JSONValue]) -> float:
    score = entry.get("score")
    return float(score) if isinstance(score, (int, float)) else 0.0


def _described(name: str, entry: Mapping[str, JSONValue]) -> str:
    description = entry.get("description")
    return f"- {name}: {description}" if description else f"- {name}"


_SCORE_TASK = """\
`checks`: split the criteria into their separate requirements, at most ten. For each, give a short name as `id`, \
whether it is `met`, and as `quote` the passage that decides it.
`score`: from 0 (not met at all) to 1 (fully met). It is 0.5 or more only when every requirement is met."""
_PASSED_TASK = """\
`checks`: split the criteria into their separate requirements, at most ten. For each, give a short name as `id`, \
whether it is `met`, and as `quote` the passage that decides it.
`passed`: true only when every requirement is met."""
_LEVEL_TASK = """\
`checks`: the questions on which the choice of the level turns, at most ten. For each, give a short name as `id`, \
whether it is `met`, and as `quote` the passage that decides it.
`score`: the score of the level that fits best. The levels:
"""
_LABEL_TASK = """\
`checks`: the questions on which the choice of the label turns, at most ten. For each, give a short name as `id`, \
whether it is `met`, and as `quote` the passage that decides it.
`label`: the one that fits best. The labels:
"""
