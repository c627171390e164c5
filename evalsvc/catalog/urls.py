"""The addresses of evaluators and their profiles."""

from django.urls import path

from evalsvc.catalog.api.criteria import ArchiveView, CriteriaView, RevisionView
from evalsvc.catalog.api.evaluators import EvaluatorsView, EvaluatorView, FamiliesView
from evalsvc.catalog.api.profiles import ProfileArchiveView, ProfileRevisionView, ProfilesView
from evalsvc.catalog.api.prompts import PromptView

urlpatterns = [
    path("v1/evaluators", EvaluatorsView.as_view()),
    path("v1/evaluators/<str:id>", EvaluatorView.as_view()),
    path("v1/evaluators/<str:id>/prompt", PromptView.as_view()),
    path("v1/evaluator-families", FamiliesView.as_view()),
    path("v1/evaluator-criteria", CriteriaView.as_view()),
    path("v1/evaluator-criteria/<uuid:public_id>/revision", RevisionView.as_view()),
    path("v1/evaluator-criteria/<uuid:public_id>/archive", ArchiveView.as_view()),
    path("v1/evaluator-profiles", ProfilesView.as_view()),
    path("v1/evaluator-profiles/<uuid:public_id>/revision", ProfileRevisionView.as_view()),
    path("v1/evaluator-profiles/<uuid:public_id>/archive", ProfileArchiveView.as_view()),
]
