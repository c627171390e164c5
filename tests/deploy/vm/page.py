"""The shell blocks of docs/deploy/vm.md, which the booted machine runs."""

from __future__ import annotations

import re

from tests.conftest import CHECKOUT

PAGE = CHECKOUT / "docs" / "deploy" / "vm.md"
_block = re.compile(r"^#+ ([^\n]+)$|^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """Return each block under the heading that it stands under; a heading has one at most."""
    found: dict[str, str] = {}
    heading = ""
    for title, text in _block.findall(PAGE.read_text(encoding="utf-8")):
        if title:
            heading = title
        else:
            assert heading not in found, f"two blocks under {heading}"
            found[heading] = text
    return found


def block(heading: str) -> str:
    """Return the commands under a heading."""
    return f"set -e\n{blocks()[heading]}"
