"""The addresses of reports and bundles."""

from django.urls import path

from evalsvc.reports.api.bundles import BundleView, ImportView
from evalsvc.reports.api.report import ReportView

urlpatterns = [
    path("v1/experiments/import", ImportView.as_view()),
    path("v1/experiments/<id:id>/report", ReportView.as_view()),
    path("v1/experiments/<id:id>/bundle", BundleView.as_view()),
]
