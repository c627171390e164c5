"""What a page shows to be copied."""

from __future__ import annotations

import html
import re


def copied(text: str, label: str) -> str:
    """The lines of the block that has this name."""
    (found,) = re.findall(rf'aria-label="{label}"><code>(.*?)</code>', text, re.DOTALL)
    return html.unescape(found)
