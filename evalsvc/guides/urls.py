"""The addresses of the guides."""

from django.urls import path

from evalsvc.guides.views import guide_page, guide_picture, guide_search_page, guides_page

urlpatterns = [
    path("docs/", guides_page, name="docs"),
    path("docs/search", guide_search_page, name="guide_search"),
    path("docs/screenshots/<str:name>", guide_picture, name="guide_picture"),
    path("docs/<path:slug>", guide_page, name="guide"),
]
