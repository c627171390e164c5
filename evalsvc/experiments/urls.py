"""The addresses of experiments."""

from django.urls import path

from evalsvc.experiments.api.analysis.aggregates import AggregatesView, ManyAggregatesView
from evalsvc.experiments.api.analysis.compare import CompareView
from evalsvc.experiments.api.analysis.components import ComponentsView
from evalsvc.experiments.api.analysis.confusion import ConfusionView
from evalsvc.experiments.api.analysis.pareto import ParetoView
from evalsvc.experiments.api.batches import OutputBatchView
from evalsvc.experiments.api.configs import (
    CloneView,
    ConfigsView,
    ConfigView,
    DeleteManyView,
    LabelView,
    PromoteView,
    ResumeManyView,
    ResumeView,
    StopManyView,
    StopView,
)
from evalsvc.experiments.api.experiments import ExperimentsView, ExperimentView, OldUpdateView, PreviewView, StartView
from evalsvc.experiments.api.live import DecisionsView, LiveView, LooksView, RecountView
from evalsvc.experiments.api.metrics import MetricsView, ScoresView
from evalsvc.experiments.api.push import LeaseView, OutputsView
from evalsvc.experiments.api.results import ResultsView
from evalsvc.experiments.api.retries import RetryView

urlpatterns = [
    path("v1/score/batch", OutputBatchView.as_view()),
    path("v1/aggregates", ManyAggregatesView.as_view()),
    path("v1/compare", CompareView.as_view()),
    path("v1/experiments", ExperimentsView.as_view()),
    path("v1/experiments/preview", PreviewView.as_view()),
    path("v1/experiments/<id:id>", ExperimentView.as_view()),
    path("v1/experiments<id:id>", OldUpdateView.as_view()),
    path("v1/experiments/<id:id>/start", StartView.as_view()),
    path("v1/experiments/<id:id>/live", LiveView.as_view()),
    path("v1/experiments/<id:id>/looks", LooksView.as_view()),
    path("v1/experiments/<id:id>/decisions", DecisionsView.as_view()),
    path("v1/experiments/<id:id>/pareto", ParetoView.as_view()),
    path("v1/experiments/<id:id>/confusion", ConfusionView.as_view()),
    path("v1/experiments/<id:id>/aggregates", AggregatesView.as_view()),
    path("v1/experiments/<id:id>/components", ComponentsView.as_view()),
    path("v1/experiments/<id:id>/recount", RecountView.as_view()),
    path("v1/experiments/<id:id>/results", ResultsView.as_view()),
    path("v1/experiments/<id:id>/retry", RetryView.as_view()),
    path("v1/experiments/<id:id>/metrics", MetricsView.as_view()),
    path("v1/experiments/<id:id>/scores", ScoresView.as_view()),
    path("v1/experiments/<id:id>/configs", ConfigsView.as_view()),
    path("v1/experiments/<id:id>/configs/stop", StopManyView.as_view()),
    path("v1/experiments/<id:id>/configs/resume", ResumeManyView.as_view()),
    path("v1/experiments/<id:id>/configs/delete", DeleteManyView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>", ConfigView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/stop", StopView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/resume", ResumeView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/clone", CloneView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/promote", PromoteView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/label", LabelView.as_view()),
    path("v1/experiments/<id:id>/configs/<id:config_id>/lease", LeaseView.as_view()),
    path("v1/experiments/<id:id>/units/<id:unit_id>/outputs", OutputsView.as_view()),
]
