"""A QR code as inline SVG, without external resources or styles."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe


def qr_code(text: str, label: str) -> SafeString:
    """Draw a text as a QR code, dark on light in both themes: cameras do not read the other way round."""
    import qrcode

    code = qrcode.QRCode(border=4, error_correction=qrcode.constants.ERROR_CORRECT_M)
    code.add_data(text)
    code.make(fit=True)
    rows = code.get_matrix()
    path = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark)
    n = len(rows)
    return format_html(
        '<svg class="qr" role="img" aria-label="{}" viewBox="0 0 {} {}" shape-rendering="crispEdges">'
        '<rect width="{}" height="{}" fill="#fff"/><path d="{}" fill="#000"/></svg>',
        label, n, n, n, n, mark_safe(path),  # noqa: S308  # nosec B308 B703  digits and letters that were made above
    )  # fmt: skip
