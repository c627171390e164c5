"""The addresses of benchmarks."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
