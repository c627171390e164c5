"""Addresses of datasets."""

from django.urls import path

from evalsvc.console.pages.datasets import lists, page, traffic, uploads

urlpatterns = [
    path("datasets", lists.datasets, name="console_datasets"),
    path("datasets/new", uploads.new_dataset, name="console_dataset_new"),
    path("datasets/traffic", traffic.from_traffic, name="console_dataset_traffic"),
    path("datasets/<uuid:id>", page.dataset, name="console_dataset"),
    path("datasets/<uuid:id>/version", uploads.new_version, name="console_dataset_version"),
    path("datasets/<uuid:id>/edit", page.edit_example, name="console_dataset_edit"),
    path("datasets/<uuid:id>/delete", page.delete, name="console_dataset_delete"),
]
