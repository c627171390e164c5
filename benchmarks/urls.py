"""The service's addresses and one that does nothing, the yardstick of benchmarks/evaluate.py."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


class NoopView(APIView):
    """A DRF view behind the same middleware, without authentication, throttle or work."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def post(self, request: Request) -> Response:
        """Answer."""
        return Response({"ok": True})


urlpatterns = [path("v1/noop", NoopView.as_view()), *urlpatterns]
