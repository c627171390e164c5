"""URLs of the history pages. Options of the interval use the parameter names of GET /v1/history."""

from django.urls import path

from evalsvc.console.pages.history.views import histories_page, history_csv, history_page

urlpatterns = [
    path("histories", histories_page, name="console_histories"),
    path("histories/one", history_page, name="console_history"),
    path("histories/one.csv", history_csv, name="console_history_csv"),
]
