"""The addresses of gates."""

from django.urls import path

from evalsvc.gates.api import GatesView, GateView

urlpatterns = [
    path("v1/gates", GatesView.as_view()),
    path("v1/gates/<id:id>", GateView.as_view()),
]
