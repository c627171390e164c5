"""The addresses of accounts."""

from django.urls import path

from evalsvc.accounts.api.account import CallingAccountView
from evalsvc.accounts.api.whoami import WhoamiView

urlpatterns = [
    path("v1/account", CallingAccountView.as_view()),
    path("v1/whoami", WhoamiView.as_view()),
]
