"""URLs of the sign-in pages. Two of them have the names that the library redirects to."""

from django.urls import path

from evalsvc.console.pages.signin.reset import forgotten_password, reset_by_link
from evalsvc.console.pages.signin.single import handle_provider_callback, redirect_to_provider
from evalsvc.console.pages.signin.views import second_factor, sign_in

urlpatterns = [
    path("sign-in", sign_in, name="account_login"),
    path("sign-in/code", second_factor, name="mfa_authenticate"),
    path("sign-in/forgotten", forgotten_password, name="console_forgotten"),
    path("sign-in/reset/<str:person>/<str:token>", reset_by_link, name="console_reset"),
    path("sign-in/provider", redirect_to_provider, name="console_sso"),
    path("sign-in/provider/back", handle_provider_callback, name="console_sso_back"),
]
