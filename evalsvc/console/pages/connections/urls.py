"""Addresses of connections."""

from django.urls import path

from evalsvc.console.pages.connections import acts, form, views

urlpatterns = [
    path("connections", views.connections_page, name="console_connections"),
    path("connections/new", form.new_connection, name="console_connection_new"),
    path("connections/<uuid:id>", views.connection_page, name="console_connection"),
    path("connections/<uuid:id>/edit", form.edit_connection, name="console_connection_edit"),
    path("connections/<uuid:id>/test", acts.test_connection, name="console_connection_test"),
    path("connections/<uuid:id>/switch", acts.switch_connection, name="console_connection_switch"),
    path("connections/<uuid:id>/delete", acts.forget_connection, name="console_connection_delete"),
]
