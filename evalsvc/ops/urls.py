"""The addresses of what concerns the whole of an account."""

from django.urls import path

from evalsvc.ops.api.account_export import AccountExportView

urlpatterns = [path("v1/account/export", AccountExportView.as_view())]
