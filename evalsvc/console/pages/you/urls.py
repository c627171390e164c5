"""Addresses of the person's own pages."""

from django.urls import path

from evalsvc.console.pages.you.factor import renew_recovery_codes, set_up_factor, switch_factor_off
from evalsvc.console.pages.you.views import end_one_session, end_other_sessions, new_password, you

urlpatterns = [
    path("you", you, name="console_you"),
    path("you/password", new_password, name="console_you_password"),
    path("you/factor", set_up_factor, name="console_you_factor"),
    path("you/factor/off", switch_factor_off, name="console_you_factor_off"),
    path("you/factor/codes", renew_recovery_codes, name="console_you_codes"),
    path("you/sessions/end", end_other_sessions, name="console_you_sessions_end"),
    path("you/sessions/<id:id>/end", end_one_session, name="console_you_session_end"),
]
