"""Every address of the service."""

from django.contrib import admin
from django.urls import path

from evalsvc.accounts import urls as accounts
from evalsvc.annotations import urls as annotations
from evalsvc.benchmarks import urls as benchmarks
from evalsvc.calibrations import urls as calibrations
from evalsvc.catalog import urls as catalog
from evalsvc.comparisons import urls as comparisons
from evalsvc.console import urls as console
from evalsvc.datasets import urls as datasets
from evalsvc.evaluations import urls as evaluations
from evalsvc.events import urls as events
from evalsvc.experiments import urls as experiments
from evalsvc.gates import urls as gates
from evalsvc.guides import urls as guides
from evalsvc.judges import urls as judges
from evalsvc.monitors import urls as monitors
from evalsvc.openai_evals import urls as openai_evals
from evalsvc.ops import urls as ops
from evalsvc.ops.reference.views import call_page, openapi_document, reference_page, try_page
from evalsvc.ops.views import error_page, healthz, home, metrics, readyz
from evalsvc.projects import urls as projects
from evalsvc.prompts import urls as prompts
from evalsvc.reports import urls as reports
from evalsvc.reviews import urls as reviews
from evalsvc.rules import urls as rules
from evalsvc.telemetry import urls as telemetry

handler400 = "evalsvc.rest.problems.bad_request"
handler403 = "evalsvc.rest.problems.forbidden"
handler404 = "evalsvc.rest.problems.not_found"
handler500 = "evalsvc.rest.problems.server_error"

# In the order of matching: the most frequent first; `ops` before the console, whose last pattern matches everything
# below /console/.
APPS = (
    evaluations, ops, console, accounts, catalog, annotations, projects, datasets, judges, experiments, telemetry,
    calibrations, prompts, events, comparisons, reviews, rules, gates, benchmarks, reports,
    openai_evals, monitors,
)  # fmt: skip
urlpatterns = [
    *(pattern for app in APPS for pattern in app.urlpatterns),
    path("v1/openapi.json", openapi_document, name="schema"),
    path("docs/reference", reference_page, name="reference"),
    path("docs/reference/<slug:name>", call_page, name="call"),
    path("docs/try", try_page, name="try"),
    path("docs/errors", error_page, name="errors"),
    *guides.urlpatterns,
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/", admin.site.urls),
    path("", home, name="home"),
]
