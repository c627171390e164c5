"""URL patterns of the datasets API."""

from django.urls import path

from evalsvc.datasets.api.conversations import ConversationsView
from evalsvc.datasets.api.datasets import DatasetsView, DatasetView, DiffView, VersionsView
from evalsvc.datasets.api.downloads import CsvView, DataView, JsonlView, ParquetView

urlpatterns = [
    path("v1/datasets", DatasetsView.as_view()),
    path("v1/datasets/conversations", ConversationsView.as_view()),
    path("v1/datasets/<uuid:id>", DatasetView.as_view()),
    path("v1/datasets/<uuid:id>/versions", VersionsView.as_view()),
    path("v1/datasets/<uuid:id>/diff", DiffView.as_view()),
    path("v1/datasets/<uuid:id>/data", DataView.as_view()),
    path("v1/datasets/<uuid:id>/jsonl", JsonlView.as_view()),
    path("v1/datasets/<uuid:id>/csv", CsvView.as_view()),
    path("v1/datasets/<uuid:id>/parquet", ParquetView.as_view()),
]
