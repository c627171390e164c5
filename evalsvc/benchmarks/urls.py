"""The addresses of benchmarks."""

from django.urls import path

from evalsvc.benchmarks.api.benchmarks import BenchmarksView, BenchmarkView, ExecutionsView

urlpatterns = [
    path("v1/benchmarks", BenchmarksView.as_view()),
    path("v1/benchmarks/<id:id>", BenchmarkView.as_view()),
    path("v1/benchmarks/<id:id>/executions", ExecutionsView.as_view()),
]
