"""The addresses of calibrations."""

from django.urls import path

from evalsvc.calibrations.api.calibrations import CalibrationsView

urlpatterns = [path("v1/calibrations", CalibrationsView.as_view())]
