"""URLs of evaluators. An ID can contain a slash."""

from django.urls import path

from evalsvc.console.pages.evaluators import views

urlpatterns = [
    path("evaluators", views.evaluators_page, name="console_evaluators"),
    path("evaluators/<path:id>", views.evaluator_page, name="console_evaluator"),
]
