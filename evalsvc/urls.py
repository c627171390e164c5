"""Every address of the service."""

from django.contrib import admin
from django.urls import path
from drf_spectacular.views import SpectacularSwaggerView

from evalsvc.accounts.api import WhoamiView
from evalsvc.annotations.api import AllAnnotationCriteriaView, AnnotateView, AnnotationCriteriaView
from evalsvc.catalog.api import ArchiveView, CriteriaView, EvaluatorsView, FamiliesView, RevisionView
from evalsvc.catalog.profiles_api import ProfileArchiveView, ProfileRevisionView, ProfilesView
from evalsvc.datasets.api.datasets import DatasetsView, DatasetView, DiffView, VersionsView
from evalsvc.datasets.api.downloads import CsvView, DataView, JsonlView, ParquetView
from evalsvc.evaluations.api.batch import BatchView
from evalsvc.evaluations.api.deletes import EvaluationsView, OneEvaluationView
from evalsvc.evaluations.api.evaluate import EvaluateView, StoredEvaluateView
from evalsvc.evaluations.api.history import HistoryView
from evalsvc.evaluations.api.marks import FavoriteView, FeedbackView, TagsView
from evalsvc.evaluations.api.results import ResultBatchView, ResultSearchView, ResultView
from evalsvc.evaluations.api.search import SearchView
from evalsvc.experiments import urls as experiments
from evalsvc.judges.api import ConnectionsView, ConnectionTestView, ConnectionView
from evalsvc.judges.webhook_api import RotateWebhookSecretView, WebhookSecretView
from evalsvc.ops.views import error_page, healthz, home, metrics, openapi_document, readyz
from evalsvc.projects.api import AppsView, ProjectsView, ProjectView
from evalsvc.telemetry import urls as telemetry

handler400 = "evalsvc.rest.problems.bad_request"
handler403 = "evalsvc.rest.problems.forbidden"
handler404 = "evalsvc.rest.problems.not_found"
handler500 = "evalsvc.rest.problems.server_error"

docs_view = SpectacularSwaggerView.as_view(
    url_name="schema",
    authentication_classes=[],
    permission_classes=[],
    throttle_classes=[],
)

urlpatterns = [
    # First, as each pattern before it would be tried at every evaluation.
    path("v1/evaluate", EvaluateView.as_view()),
    path("v1/whoami", WhoamiView.as_view()),
    path("v1/evaluators", EvaluatorsView.as_view()),
    path("v1/evaluator-families", FamiliesView.as_view()),
    path("v1/evaluator-criteria", CriteriaView.as_view()),
    path("v1/evaluator-criteria/<uuid:public_id>/revision", RevisionView.as_view()),
    path("v1/evaluator-criteria/<uuid:public_id>/archive", ArchiveView.as_view()),
    path("v1/evaluator-profiles", ProfilesView.as_view()),
    path("v1/evaluator-profiles/<uuid:public_id>/revision", ProfileRevisionView.as_view()),
    path("v1/evaluator-profiles/<uuid:public_id>/archive", ProfileArchiveView.as_view()),
    path("v1/evaluate/<id:id>", StoredEvaluateView.as_view()),
    path("v1/evaluations", EvaluationsView.as_view()),
    path("v1/evaluations/batch", BatchView.as_view()),
    path("v1/evaluations/search", SearchView.as_view()),
    path("v1/evaluations/<id:id>", OneEvaluationView.as_view()),
    path("v1/evaluation-results/batch", ResultBatchView.as_view()),
    path("v1/evaluation-results/search", ResultSearchView.as_view()),
    path("v1/evaluation-results/tags", TagsView.as_view()),
    path("v1/evaluation-results/<id:id>", ResultView.as_view()),
    path("v1/evaluation-results/<id:id>/favorite", FavoriteView.as_view()),
    path("v1/evaluation-results/<id:id>/evaluation-feedback", FeedbackView.as_view()),
    path("v1/history", HistoryView.as_view()),
    path("v1/annotate", AnnotateView.as_view()),
    path("v1/annotation-criteria", AllAnnotationCriteriaView.as_view()),
    path("v1/annotation-criteria/<uuid:id>", AnnotationCriteriaView.as_view()),
    path("v1/apps", AppsView.as_view()),
    path("v1/projects", ProjectsView.as_view()),
    path("v1/projects/<uuid:id>", ProjectView.as_view()),
    path("v1/datasets", DatasetsView.as_view()),
    path("v1/datasets/<uuid:id>", DatasetView.as_view()),
    path("v1/datasets/<uuid:id>/versions", VersionsView.as_view()),
    path("v1/datasets/<uuid:id>/diff", DiffView.as_view()),
    path("v1/datasets/<uuid:id>/data", DataView.as_view()),
    path("v1/datasets/<uuid:id>/jsonl", JsonlView.as_view()),
    path("v1/datasets/<uuid:id>/csv", CsvView.as_view()),
    path("v1/datasets/<uuid:id>/parquet", ParquetView.as_view()),
    path("v1/connections", ConnectionsView.as_view()),
    path("v1/connections/<uuid:id>", ConnectionView.as_view()),
    path("v1/connections/<uuid:id>/test", ConnectionTestView.as_view()),
    path("v1/webhook-secret", WebhookSecretView.as_view()),
    path("v1/webhook-secret/rotate", RotateWebhookSecretView.as_view()),
    *experiments.urlpatterns,
    *telemetry.urlpatterns,
    path("v1/openapi.json", openapi_document, name="schema"),
    path("docs/", docs_view, name="docs"),
    path("docs/errors", error_page, name="errors"),
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/", admin.site.urls),
    path("", home),
]
