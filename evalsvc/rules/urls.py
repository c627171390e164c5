"""The addresses of rules."""

from django.urls import path

from evalsvc.rules.api.examples import SpanExamplesView
from evalsvc.rules.api.rules import RuleBackfillView, RulePreviewView, RuleSpansView, RulesView, RuleView

urlpatterns = [
    path("v1/datasets/spans", SpanExamplesView.as_view()),
    path("v1/rules", RulesView.as_view()),
    path("v1/rules/preview", RulePreviewView.as_view()),
    path("v1/rules/<id:id>", RuleView.as_view()),
    path("v1/rules/<id:id>/spans", RuleSpansView.as_view()),
    path("v1/rules/<id:id>/backfill", RuleBackfillView.as_view()),
]
