"""The addresses of reviews. Those outside of the console are in letters and mails; they stay."""

from django.urls import path

from evalsvc.console.pages.reviews import creation, entry, lists, page, queue

urlpatterns = [
    path("reviews", lists.reviews_page, name="console_reviews"),
    path("reviews/new", creation.new_review, name="console_review_new"),
    path("reviews/<uuid:id>", page.review_page, name="console_review"),
    path("reviews/<uuid:id>/act", page.act_on_review, name="console_review_act"),
]
# Its address is the path of the cookie of a review link, so it has no account in it.
personal = [path("reviews/<uuid:id>/queue", queue.review_queue, name="console_review_queue")]
outside = [
    path("reviews/<uuid:id>", entry.redirect_old_address, name="review"),
    path("reviews/<uuid:id>/enter/<str:token>", entry.enter_review, name="enter_review"),
]
