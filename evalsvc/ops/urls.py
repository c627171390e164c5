"""The addresses of what concerns the whole of an account, and of the operator's page."""

from django.urls import path

from evalsvc.ops.api.account_export import AccountExportView
from evalsvc.ops.panel.views import operator_page

urlpatterns = [
    path("v1/account/export", AccountExportView.as_view()),
    # Before the console's URLs: the last of these matches everything below /console/.
    path("console/operator", operator_page, name="console_operator"),
]
