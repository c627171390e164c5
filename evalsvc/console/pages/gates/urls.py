"""Addresses of gates."""

from django.urls import path

from evalsvc.console.pages.gates import creation, lists, page

urlpatterns = [
    path("gates", lists.gates_page, name="console_gates"),
    path("gates/new", creation.new_gate, name="console_gate_new"),
    path("gates/<id:id>", page.one_gate_page, name="console_gate"),
]
