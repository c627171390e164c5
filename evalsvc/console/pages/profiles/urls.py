"""The addresses of profiles."""

from django.urls import path

from evalsvc.console.pages.profiles import views

urlpatterns = [
    path("profiles", views.profiles_page, name="console_profiles"),
    path("profiles/new", views.new_profile, name="console_profile_new"),
    path("profiles/<uuid:id>", views.profile_page, name="console_profile"),
    path("profiles/<uuid:id>/revise", views.revise_page, name="console_profile_revise"),
    path("profiles/<uuid:id>/archive", views.archive_page, name="console_profile_archive"),
]
