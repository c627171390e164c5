"""The addresses of rankings."""

from django.urls import path

from evalsvc.console.pages.rankings import acts, creation, page

urlpatterns = [
    path("rankings", page.rankings_page, name="console_rankings"),
    path("rankings/new", creation.new_ranking, name="console_ranking_new"),
    path("rankings/<id:id>", page.ranking_page, name="console_ranking"),
    path("rankings/<id:id>/stop", acts.stop_ranking, name="console_ranking_stop"),
    path("rankings/<id:id>/delete", acts.delete_ranking, name="console_ranking_delete"),
]
