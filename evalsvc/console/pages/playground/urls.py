"""The addresses of the playground."""

from django.urls import path

from evalsvc.console.pages.playground import views

urlpatterns = [
    path("playground", views.playground_page, name="console_playground"),
    path("playground/runs/<id:id>", views.run_page, name="console_playground_run"),
    path("playground/threshold", views.threshold_page, name="console_threshold"),
]
