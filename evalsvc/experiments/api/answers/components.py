"""What components make of what they get, and of what they should have got."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from evalsvc.experiments.api.answers.estimates import Ends
from evalsvc.experiments.api.answers.runs import ConfigState
from evalsvc.rest.answering.shapes import AnswerShape


class GapEstimate(Ends):
    """By how much a component is better on expected inputs: a paired difference, positive when it is."""

    value: float | None
    n: int
    n_improved: int
    n_worse: int
    method: str
    level: float
    covers: str
    safe: str
    this_set: Ends
    warnings: list[str]


class ComponentGap(AnswerShape):
    """One metric of one component in both modes, over the examples that have both."""

    component: str
    metric: str
    replaced: Annotated[list[str] | None, Meta(description="Whose outputs were replaced by the expected ones.")]
    integrated: float | None
    isolated: float | None
    gap: GapEstimate
    n_unpaired: int
    n_na: int


class Bottleneck(Ends):
    """The components whose replacement by what is expected of them gains most."""

    components: list[str]
    seen_in: str
    metric: str
    gain: float


class ConfigGaps(AnswerShape):
    """The gaps of one config, and its bottleneck or why none is named."""

    config_id: str
    name: str
    state: ConfigState
    gaps: list[ComponentGap]
    bottleneck: Bottleneck | None
    reason: str | None


class ComponentsAnswer(AnswerShape):
    """The gaps of all configs, at a level at which all hold together."""

    experiment_id: str
    level: float
    joint_level: float
    n_comparisons: int
    configs: list[ConfigGaps]
