"""The addresses of rankings."""

from django.urls import path

from evalsvc.console.pages.rankings import making, page

urlpatterns = [
    path("rankings", page.rankings_page, name="console_rankings"),
    path("rankings/new", making.new_ranking, name="console_ranking_new"),
    path("rankings/<int:id>", page.ranking_page, name="console_ranking"),
]
