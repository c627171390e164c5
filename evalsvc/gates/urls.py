"""The addresses of gates."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
