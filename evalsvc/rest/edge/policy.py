"""What a browser may do with an answer: its Content-Security-Policy. See docs/adr/0050-a-policy-on-every-page.md."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

HEADER = "Content-Security-Policy"
FEATURES_HEADER = "Permissions-Policy"
NO_FEATURES = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)
"""No page of ours uses what a device can do, so a script in one may not either."""
ADMIN_PREFIX = "/admin/"
NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
"""For what no browser should show: nothing loads and nothing runs."""
PAGE = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""For our own pages: files of this service alone. Style sheets and the icon of the admin bring images as `data:`."""
ADMIN_PAGE = f"{PAGE}; script-src 'self' 'unsafe-eval'; style-src-attr 'unsafe-inline'"
"""For pages on django-unfold: Alpine compiles its attributes, and unfold and select2 write style attributes."""

FILE = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox"
)
"""For a page that is a file to keep, with texts of strangers in it: its own style, no script, an origin of its own.

A view that answers with such a page sets this header itself.
"""


def get_default_headers() -> dict[str, str]:
    """Return the security headers of a response that is not a page."""
    return {HEADER: NO_PAGE, FEATURES_HEADER: NO_FEATURES, "X-Content-Type-Options": "nosniff"}


def get_policy(request: HttpRequest, response: HttpResponse) -> str:
    """Return the content security policy of a response, by its content type and path."""
    if response.headers.get(HEADER) == FILE:
        return FILE
    if not response.headers.get("Content-Type", "").startswith("text/html"):
        return NO_PAGE
    return ADMIN_PAGE if request.path_info.startswith(ADMIN_PREFIX) else PAGE
