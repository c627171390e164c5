"""The addresses of prompts."""

from django.urls import path

from evalsvc.prompts.api.prompts import (
    PromptDefinitionsView,
    PromptDefinitionView,
    PromptRevisionsView,
    RemoveLabelsView,
    SetLabelsView,
)

urlpatterns = [
    path("v1/prompt-definitions", PromptDefinitionsView.as_view()),
    path("v1/prompt-definitions/<uuid:id>", PromptDefinitionView.as_view()),
    path("v1/prompt-revisions", PromptRevisionsView.as_view()),
    path("v1/prompt-revisions/<uuid:id>/set-labels", SetLabelsView.as_view()),
    path("v1/prompt-revisions/<uuid:id>/remove-labels", RemoveLabelsView.as_view()),
]
