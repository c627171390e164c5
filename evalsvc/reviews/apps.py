"""Questions put to people, one item at a time."""

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """The `reviews` app."""

    name = "evalsvc.reviews"
    label = "reviews"
