"""A small client for users' own code: httpx only, nothing of the server."""

from evalsvc.client.client import Client
from evalsvc.client.comparing import Comparison
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
from evalsvc.client.experiment import ExperimentResult
from evalsvc.client.live import Live, Standing
from evalsvc.client.metrics import CustomMetric, Metric, Metrics
from evalsvc.client.results import EvaluationResult, Row, RowScore
from evalsvc.client.tracing import Output
from evalsvc.client.verdicts import EvaluateResult, History, HistoryPoint, Interval, Verdict

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
    "ServerError",
    "Standing",
    "UnreachableError",
    "Verdict",
]
