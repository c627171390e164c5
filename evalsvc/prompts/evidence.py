"""Evidence of a label: the experiment with the config for which it was set, as of that moment.

It is stored with the label and not looked up: the experiment might be deleted, or continue, while its prompt is in
production.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from evalsvc.digits import estimate_texts, level_text
from evalsvc.rest.answering.shapes import AnswerShape, Json, WrittenMoment


class LabelDecision(AnswerShape):
    """A stop in that experiment, and what it rested on."""

    config: str
    against: str | None
    policy: str
    reason: str
    watermark: int
    evidence: dict[str, Json]
    created_at: WrittenMoment


class LabelRival(AnswerShape):
    """Another config of it; the difference is positive where the labelled one is better."""

    config_id: str
    config: str
    n: int
    delta: float | None
    lower: float | None
    upper: float | None
    word: str | None


class LabelEvidence(AnswerShape):
    """Which config of which experiment a label was set for, how sure that was, and who did it."""

    experiment_id: str
    experiment: str
    state: str
    config_id: str
    config: str
    is_winner: bool
    winner: str | None
    settled: bool | None
    metric: str
    higher_is_better: bool
    n: int
    N: int
    value: float | None
    lower: float | None
    upper: float | None
    level: float
    covers: str | None
    method: str
    n_configs: int
    rivals: list[LabelRival]
    decisions: list[LabelDecision]
    by: str
    at: WrittenMoment

    def is_same_evidence(self, other: LabelEvidence) -> bool:
        """Return whether both are the same evidence, regardless of author and time."""
        return msgspec.structs.replace(self, by=other.by, at=other.at) == other


def evidence_from(kept: Mapping[str, Any]) -> LabelEvidence:
    """Build evidence from the JSON stored in a row."""
    return msgspec.convert(dict(kept), LabelEvidence)


def format_evidence(evidence: LabelEvidence) -> str:
    """Return evidence as a sentence for people."""
    place = "the winner" if evidence.is_winner else f"not a winner ({evidence.winner or 'nobody'} led)"
    estimate, ends = estimate_texts(evidence.value, evidence.lower, evidence.upper)
    value = "-" if evidence.value is None else estimate
    return (
        f"{evidence.config} of {evidence.experiment} ({evidence.experiment_id}, {evidence.state}), {place}: "
        f"{evidence.metric} {value}, {level_text(evidence.level)} interval {ends or '-'}, "
        f"n {evidence.n} of {evidence.N}; set by {evidence.by} at {evidence.at}"
    )
