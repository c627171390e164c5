"""The console's addresses: one line for each area."""

from django.urls import include, path, re_path

from evalsvc.console.pages.history import urls as history
from evalsvc.console.pages.home import urls as home
from evalsvc.console.pages.kit import urls as kit
from evalsvc.console.views import choose_account_page, missing_page, set_theme

AREAS = [
    *home.urlpatterns,
    *history.urlpatterns,
    *kit.urlpatterns,
]
urlpatterns = [
    path(
        "console/",
        include(
            [
                *AREAS,
                path("accounts", choose_account_page, name="console_accounts"),
                path("theme", set_theme, name="console_theme"),
                re_path(r"^.*$", missing_page),
            ]
        ),
    ),
    path("console", missing_page),
]
