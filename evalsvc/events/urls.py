"""The addresses of events."""

from django.urls import path

from evalsvc.events.api.deliveries import EventDeliveriesView, EventDeliveryView, ReplayEventDeliveryView
from evalsvc.events.api.endpoints import (
    EventEndpointsView,
    EventEndpointView,
    RotateEventEndpointView,
    TestEventEndpointView,
)

urlpatterns = [
    path("v1/event-endpoints", EventEndpointsView.as_view()),
    path("v1/event-endpoints/<uuid:id>", EventEndpointView.as_view()),
    path("v1/event-endpoints/<uuid:id>/rotate", RotateEventEndpointView.as_view()),
    path("v1/event-endpoints/<uuid:id>/test", TestEventEndpointView.as_view()),
    path("v1/event-deliveries", EventDeliveriesView.as_view()),
    path("v1/event-deliveries/<id:id>", EventDeliveryView.as_view()),
    path("v1/event-deliveries/<id:id>/replay", ReplayEventDeliveryView.as_view()),
]
