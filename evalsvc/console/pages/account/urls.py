"""Addresses of the account's own pages."""

from django.urls import path

from evalsvc.console.pages.account import keys

urlpatterns = [
    path("keys", keys.keys_page, name="console_keys"),
    path("keys/new", keys.new_key_page, name="console_key_new"),
    path("keys/<int:id>", keys.key_page, name="console_key"),
]
