"""A small client for users' own code: httpx only, nothing of the server."""

from evalsvc.client.client import Client
from evalsvc.client.errors import (
    ApiError,
    AuthenticationError,
    ClientError,
    ConfigurationError,
    FieldProblem,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnreachableError,
)
from evalsvc.client.experiment.result import ExperimentResult
from evalsvc.client.experiment.tracing import Output
from evalsvc.client.names import EvaluatorName
from evalsvc.client.pipeline.pipelines import Pipeline
from evalsvc.client.resources.annotations import CriteriaRecord, LabelRecord
from evalsvc.client.resources.connections import ConnectionRecord
from evalsvc.client.resources.datasets import DatasetRecord, VersionRecord
from evalsvc.client.resources.evaluations import EvaluationRecord
from evalsvc.client.resources.evaluators import EvaluatorRecord
from evalsvc.client.resources.experiments import ExperimentRecord, OutputRecord
from evalsvc.client.resources.gates import GateRecord, RuleRecord
from evalsvc.client.resources.monitors import AlarmRecord, MonitorRecord
from evalsvc.client.resources.profiles import ProfileRecord
from evalsvc.client.resources.reviews import ReviewRecord
from evalsvc.client.resources.rules import BackfillRecord, RuleSpanRecord, ScoringRuleRecord
from evalsvc.client.resources.saved_searches import SavedSearchRecord
from evalsvc.client.results.comparison import Comparison
from evalsvc.client.results.gaps import ComponentGaps, Gap
from evalsvc.client.results.history import History, HistoryPoint
from evalsvc.client.results.live import Live, Standing
from evalsvc.client.results.metrics import Metric, Metrics
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.client.results.samples import SampleResult
from evalsvc.client.results.verdicts import EvaluateResult, Interval, Verdict
from evalsvc.client.scoring.result import EvaluationResult
from evalsvc.client.scoring.scorers import CustomMetric
from evalsvc.client.showing.aggregates import AggregateTable
from evalsvc.client.showing.records import Listing

__all__ = [
    "AggregateTable",
    "AlarmRecord",
    "ApiError",
    "AuthenticationError",
    "BackfillRecord",
    "Client",
    "ClientError",
    "Comparison",
    "ComponentGaps",
    "ConfigurationError",
    "ConnectionRecord",
    "CriteriaRecord",
    "CustomMetric",
    "DatasetRecord",
    "EvaluateResult",
    "EvaluationRecord",
    "EvaluationResult",
    "EvaluatorName",
    "EvaluatorRecord",
    "ExperimentRecord",
    "ExperimentResult",
    "FieldProblem",
    "ForbiddenError",
    "Gap",
    "GateRecord",
    "History",
    "HistoryPoint",
    "Interval",
    "InvalidError",
    "LabelRecord",
    "Listing",
    "Live",
    "Metric",
    "Metrics",
    "MonitorRecord",
    "NotFoundError",
    "Output",
    "OutputRecord",
    "Pipeline",
    "ProfileRecord",
    "RateLimitError",
    "ReviewRecord",
    "Row",
    "RowScore",
    "RuleRecord",
    "RuleSpanRecord",
    "SampleResult",
    "SavedSearchRecord",
    "ScoringRuleRecord",
    "ServerError",
    "Standing",
    "UnreachableError",
    "Verdict",
    "VersionRecord",
]
