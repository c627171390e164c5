"""The addresses of reviews."""

from django.urls import path

from evalsvc.reviews.api.answers import ReviewAnswersView, ReviewLeaseView, ReviewSkipView
from evalsvc.reviews.api.exchange import ReviewExportView, ReviewImportView
from evalsvc.reviews.api.history import HistoryWithTruthView
from evalsvc.reviews.api.links import ReviewLinksView, ReviewLinkView
from evalsvc.reviews.api.reviews import ReviewClosingView, ReviewItemsView, ReviewsView, ReviewView

urlpatterns = [
    path("v1/history", HistoryWithTruthView.as_view()),
    path("v1/reviews", ReviewsView.as_view()),
    path("v1/reviews/<uuid:id>", ReviewView.as_view()),
    path("v1/reviews/<uuid:id>/items", ReviewItemsView.as_view()),
    path("v1/reviews/<uuid:id>/lease", ReviewLeaseView.as_view()),
    path("v1/reviews/<uuid:id>/close", ReviewClosingView.as_view()),
    path("v1/reviews/<uuid:id>/export", ReviewExportView.as_view()),
    path("v1/reviews/<uuid:id>/import", ReviewImportView.as_view()),
    path("v1/reviews/<uuid:id>/links", ReviewLinksView.as_view()),
    path("v1/reviews/<uuid:id>/links/<uuid:link_id>", ReviewLinkView.as_view()),
    path("v1/reviews/<uuid:id>/items/<id:item_id>/answers", ReviewAnswersView.as_view()),
    path("v1/reviews/<uuid:id>/items/<id:item_id>/skip", ReviewSkipView.as_view()),
]
