"""Addresses of comparisons."""

from django.urls import path

from evalsvc.console.pages.compare import gate, labels, page

urlpatterns = [
    path("compare", page.compare_page, name="console_compare"),
    path("compare/label", labels.save_label, name="console_compare_label"),
    path("compare/question", labels.first_question, name="console_compare_question"),
    path("compare/gate", gate.gate_from_here, name="console_compare_gate"),
]
