"""Tables: EvaluationRequest, Evaluation, EvaluationTag, HistoryScore, Pruned, DailyRollup, RollupDelta, SavedSearch."""

from evalsvc.evaluations.models.evaluations import (
    EXTERNAL_PREFIX,
    SENT,
    Evaluation,
    EvaluationRequest,
    EvaluationTag,
    HistoryScore,
    Pruned,
)
from evalsvc.evaluations.models.rollups import DailyRollup, RollupDelta
from evalsvc.evaluations.models.searches import SavedSearch

__all__ = [
    "EXTERNAL_PREFIX",
    "SENT",
    "DailyRollup",
    "Evaluation",
    "EvaluationRequest",
    "EvaluationTag",
    "HistoryScore",
    "Pruned",
    "RollupDelta",
    "SavedSearch",
]
