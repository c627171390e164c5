"""What a browser finds wrong with a page, in each width and theme."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_FILE_PATH

LOOKS = [(width, theme) for width in (400, 1400) for theme in ("light", "dark")]
AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
    (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(' | ')}`)"""


def wrong_with(page: Any) -> list[str]:
    """Return what axe finds, by all of its rules; and whether the page is wider than its window."""
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN)
    wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*found, *([f"{wide} px wider than the window"] if wide > 0 else [])]


def assert_for_everyone(page: Any) -> None:
    """Look at what is open now, in each width and theme."""
    for width, theme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        assert wrong_with(page) == [], (page.url, width, theme)
