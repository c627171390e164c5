"""The addresses of the Evals API of OpenAI."""

from django.urls import path

from evalsvc.openai_evals.api.base import UnknownView
from evalsvc.openai_evals.api.evals import EvalsView, EvalView
from evalsvc.openai_evals.api.files import FileContentView, FilesView, FileView
from evalsvc.openai_evals.api.graders import RunGraderView, ValidateGraderView
from evalsvc.openai_evals.api.runs import CancelView, ItemsView, ItemView, RunsView, RunView

RUN = "v1/evals/<str:eval_id>/runs/<str:run_id>"
urlpatterns = [
    path("v1/evals", EvalsView.as_view()),
    path("v1/evals/<str:eval_id>", EvalView.as_view()),
    path("v1/evals/<str:eval_id>/runs", RunsView.as_view()),
    path(RUN, RunView.as_view()),
    path(f"{RUN}/cancel", CancelView.as_view()),
    path(f"{RUN}/output_items", ItemsView.as_view()),
    path(f"{RUN}/output_items/<str:item_id>", ItemView.as_view()),
    path("v1/files", FilesView.as_view()),
    path("v1/files/<str:file_id>", FileView.as_view()),
    path("v1/files/<str:file_id>/content", FileContentView.as_view()),
    path("v1/fine_tuning/alpha/graders/run", RunGraderView.as_view()),
    path("v1/fine_tuning/alpha/graders/validate", ValidateGraderView.as_view()),
    *(path(rest, UnknownView.as_view()) for rest in ("v1/evals/", "v1/files/", "v1/fine_tuning", "v1/fine_tuning/")),
    path("v1/evals/<path:rest>", UnknownView.as_view()),
    path("v1/files/<path:rest>", UnknownView.as_view()),
    path("v1/fine_tuning/<path:rest>", UnknownView.as_view()),
]
