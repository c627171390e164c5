"""The addresses of reviews."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
