"""The addresses of comparisons."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
