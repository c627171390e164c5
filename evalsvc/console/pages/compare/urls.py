"""Addresses of comparisons."""

from django.urls import path

from evalsvc.console.pages.compare import deciding, labelling, page

urlpatterns = [
    path("compare", page.compare_page, name="console_compare"),
    path("compare/label", labelling.keep_label_here, name="console_compare_label"),
    path("compare/question", labelling.first_question, name="console_compare_question"),
    path("compare/gate", deciding.gate_from_here, name="console_compare_gate"),
]
