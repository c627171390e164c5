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
from evalsvc.client.results.comparison import Comparison
from evalsvc.client.results.live import Live, Standing
from evalsvc.client.results.metrics import Metric, Metrics
from evalsvc.client.results.rows import Row, RowScore
from evalsvc.client.results.samples import SampleResult
from evalsvc.client.results.verdicts import EvaluateResult, History, HistoryPoint, Interval, Verdict
from evalsvc.client.scoring.result import EvaluationResult
from evalsvc.client.scoring.scorers import CustomMetric

__all__ = [
    "ApiError",
    "AuthenticationError",
    "Client",
    "ClientError",
    "Comparison",
    "ConfigurationError",
    "CustomMetric",
    "EvaluateResult",
    "EvaluationResult",
    "ExperimentResult",
    "FieldProblem",
    "ForbiddenError",
    "History",
    "HistoryPoint",
    "Interval",
    "InvalidError",
    "Live",
    "Metric",
    "Metrics",
    "NotFoundError",
    "Output",
    "RateLimitError",
    "Row",
    "RowScore",
    "SampleResult",
    "ServerError",
    "Standing",
    "UnreachableError",
    "Verdict",
]
