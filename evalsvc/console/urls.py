"""The console's addresses: one line for each area. The account is in each address that shows its data."""

from django.urls import include, path, re_path

from evalsvc.console.pages.account import urls as account
from evalsvc.console.pages.alerts import urls as alerts
from evalsvc.console.pages.benchmarks import urls as benchmarks
from evalsvc.console.pages.compare import urls as compare
from evalsvc.console.pages.connections import urls as connections
from evalsvc.console.pages.datasets import urls as datasets
from evalsvc.console.pages.evaluate import urls as evaluate
from evalsvc.console.pages.evaluations import urls as evaluations
from evalsvc.console.pages.evaluators import urls as evaluators
from evalsvc.console.pages.experiments import urls as experiments
from evalsvc.console.pages.gates import urls as gates
from evalsvc.console.pages.history import urls as history
from evalsvc.console.pages.home import urls as home
from evalsvc.console.pages.kit import urls as kit
from evalsvc.console.pages.playground import urls as playground
from evalsvc.console.pages.profiles import urls as profiles
from evalsvc.console.pages.rankings import urls as rankings
from evalsvc.console.pages.reviews import urls as reviews
from evalsvc.console.pages.rules import urls as rules
from evalsvc.console.pages.signin import urls as signin
from evalsvc.console.pages.traces import urls as traces
from evalsvc.console.pages.webhooks import urls as webhooks
from evalsvc.console.pages.you import urls as you
from evalsvc.console.views import choose_account_page, missing_page, redirect_into_account, set_theme

AREAS = [
    # First, because boards poll them most often.
    *experiments.urlpatterns,
    *home.urlpatterns,
    *history.urlpatterns,
    *alerts.urlpatterns,
    *evaluate.urlpatterns,
    *evaluations.urlpatterns,
    *evaluators.urlpatterns,
    *profiles.urlpatterns,
    *playground.urlpatterns,
    *traces.urlpatterns,
    *rules.urlpatterns,
    *kit.urlpatterns,
    *compare.urlpatterns,
    *datasets.urlpatterns,
    *account.urlpatterns,
    *webhooks.urlpatterns,
    *reviews.urlpatterns,
    *rankings.urlpatterns,
    *connections.urlpatterns,
    *gates.urlpatterns,
    *benchmarks.urlpatterns,
]
# Pages without an account in their address: about the person, or for people who are not its members yet.
PERSONAL = [
    *signin.urlpatterns,
    *you.urlpatterns,
    *account.personal,
    *reviews.personal,
    path("accounts", choose_account_page, name="console_accounts"),
    path("theme", set_theme, name="console_theme"),
]
urlpatterns = [
    path(
        "console/",
        include(
            [
                path("<id:account>/", include([*AREAS, re_path(r"^.*$", missing_page)])),
                *PERSONAL,
                path("", redirect_into_account, name="console_start"),
                re_path(r"^(?P<rest>.+)$", redirect_into_account),
            ]
        ),
    ),
    path("console", redirect_into_account),
    *reviews.outside,
]
