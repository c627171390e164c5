"""Tables: EvaluationRequest, Evaluation, EvaluationTag, HistoryScore, Pruned; DailyRollup and RollupDelta."""

from evalsvc.evaluations.models.evaluations import (
    EXTERNAL_PREFIX,
    Evaluation,
    EvaluationRequest,
    EvaluationTag,
    HistoryScore,
    Pruned,
)
from evalsvc.evaluations.models.rollups import DailyRollup, RollupDelta

__all__ = [
    "EXTERNAL_PREFIX",
    "DailyRollup",
    "Evaluation",
    "EvaluationRequest",
    "EvaluationTag",
    "HistoryScore",
    "Pruned",
    "RollupDelta",
]
