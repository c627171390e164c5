"""Addresses of evaluated files."""

from django.urls import path

from evalsvc.console.pages.evaluate import views

urlpatterns = [path("evaluate", views.evaluate_page, name="console_evaluate")]
