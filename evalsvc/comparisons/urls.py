"""The addresses of comparisons."""

from django.urls import path

from evalsvc.comparisons.api.comparisons import ComparisonsView, ComparisonView, JudgementsView, StopComparisonView

urlpatterns = [
    path("v1/comparisons", ComparisonsView.as_view()),
    path("v1/comparisons/<id:id>", ComparisonView.as_view()),
    path("v1/comparisons/<id:id>/judgements", JudgementsView.as_view()),
    path("v1/comparisons/<id:id>/stop", StopComparisonView.as_view()),
]
