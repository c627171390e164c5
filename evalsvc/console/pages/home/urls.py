"""Addresses of the start page."""

from django.urls import path

from evalsvc.console.pages.home.views import home_page

urlpatterns = [path("", home_page, name="console_home")]
