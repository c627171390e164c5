"""Addresses of benchmarks."""

from django.urls import path

from evalsvc.console.pages.benchmarks import views

urlpatterns = [
    path("benchmarks", views.benchmarks_page, name="console_benchmarks"),
    path("benchmarks/<id:id>", views.benchmark_page, name="console_benchmark"),
]
