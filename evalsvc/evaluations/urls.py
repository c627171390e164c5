"""The addresses of evaluations."""

from django.urls import path

from evalsvc.evaluations.api.batch import EvaluationBatchView
from evalsvc.evaluations.api.bulk import EvaluateBatchView
from evalsvc.evaluations.api.deletes import EvaluationsView, OneEvaluationView
from evalsvc.evaluations.api.evaluate import EvaluateView, StoredEvaluateView
from evalsvc.evaluations.api.marks import FavoriteView, FeedbackView, TagsView
from evalsvc.evaluations.api.results import ResultBatchView, ResultSearchView, ResultView
from evalsvc.evaluations.api.search import EvaluationSearchView
from evalsvc.evaluations.api.searches import SavedSearchesView, SavedSearchView

urlpatterns = [
    # First, as each pattern before it would be tried at every evaluation.
    path("v1/evaluate", EvaluateView.as_view()),
    path("v1/evaluate/batch", EvaluateBatchView.as_view()),
    path("v1/evaluate/<id:id>", StoredEvaluateView.as_view()),
    path("v1/evaluations", EvaluationsView.as_view()),
    path("v1/evaluations/batch", EvaluationBatchView.as_view()),
    path("v1/evaluations/search", EvaluationSearchView.as_view()),
    path("v1/evaluations/<id:id>", OneEvaluationView.as_view()),
    path("v1/evaluation-results/batch", ResultBatchView.as_view()),
    path("v1/evaluation-results/search", ResultSearchView.as_view()),
    path("v1/evaluation-results/tags", TagsView.as_view()),
    path("v1/evaluation-results/<id:id>", ResultView.as_view()),
    path("v1/evaluation-results/<id:id>/favorite", FavoriteView.as_view()),
    path("v1/evaluation-results/<id:id>/evaluation-feedback", FeedbackView.as_view()),
    path("v1/saved-searches", SavedSearchesView.as_view()),
    path("v1/saved-searches/<id:id>", SavedSearchView.as_view()),
]
