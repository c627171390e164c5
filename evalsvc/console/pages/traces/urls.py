"""The addresses of traces. Evaluations name traces by any text."""

from django.urls import path

from evalsvc.console.pages.traces import views

urlpatterns = [
    path("traces", views.traces_page, name="console_traces"),
    path("traces/<str:trace_id>/dataset", views.keep_conversation, name="console_trace_dataset"),
    path("traces/<str:trace_id>/spans/<str:span_id>/dataset", views.keep_span, name="console_span_dataset"),
    path("traces/<path:trace_id>", views.trace_page, name="console_trace"),
]
