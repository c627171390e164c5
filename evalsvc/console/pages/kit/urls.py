"""Address of the kit page."""

from django.urls import path

from evalsvc.console.pages.kit.views import kit

urlpatterns = [path("kit", kit, name="console_kit")]
