"""The tables of planned experiments: the plan, its configs, what they answered, and what was decided."""

from evalsvc.experiments.models.definition import (
    Abort,
    Addition,
    Config,
    ExperimentItem,
    ExperimentPlan,
    Failures,
    Policy,
)
from evalsvc.experiments.models.outputs import (
    FAILED_OUTPUT,
    NO_OUTPUT,
    OWN_FAULTS,
    UNDECIDED,
    Output,
    Score,
    StageOutput,
    WorkUnit,
)
from evalsvc.experiments.models.results import AdditionMark, Aggregate, Comparison, ControlOp, Decision, Evidence, Look
from evalsvc.experiments.models.retries import RETRIES_FROM, Retry

__all__ = [
    "FAILED_OUTPUT",
    "NO_OUTPUT",
    "OWN_FAULTS",
    "RETRIES_FROM",
    "UNDECIDED",
    "Abort",
    "Addition",
    "AdditionMark",
    "Aggregate",
    "Comparison",
    "Config",
    "ControlOp",
    "Decision",
    "Evidence",
    "ExperimentItem",
    "ExperimentPlan",
    "Failures",
    "Look",
    "Output",
    "Policy",
    "Retry",
    "Score",
    "StageOutput",
    "WorkUnit",
]
