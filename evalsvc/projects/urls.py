"""The addresses of apps and projects."""

from django.urls import path

from evalsvc.projects.api.projects import AppsView, ProjectsView, ProjectView

urlpatterns = [
    path("v1/apps", AppsView.as_view()),
    path("v1/projects", ProjectsView.as_view()),
    path("v1/projects/<uuid:id>", ProjectView.as_view()),
]
