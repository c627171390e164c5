"""The documents as tests see them: fenced blocks, headings, links, and what a reader would paste into a shell."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.docs import anchor

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")])
# Pages about these have commands between their calls.
_noun = re.compile(r"evalsvc (rules|monitors|alarms) ").match
_fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run: an excerpt shows that the key is there, and of which type.
VOLATILE = {"id", "created_at", "public_id", "evaluation_id", "criterion_id", "evaluator_profile_public_id",
            "evaluation_duration", "next_cursor", "last_used", "request_id", "project_id", "created_by", "name",
            "secret", "last4", "annotation_criteria", "revised_at"}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    text: str

    @property
    def is_call(self) -> bool:
        """Say whether it calls the service."""
        return (self.language == "sh" and "curl" in self.text) or (self.language == "bash" and bool(_noun(self.text)))


@dataclass(frozen=True)
class Call:
    """A block that calls the service, and the excerpt of the answer that follows it, if one does."""

    block: Block
    excerpt: Block | None


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks in order."""
    return [Block(*match.groups()) for match in _fence.finditer(page.read_text(encoding="utf-8"))]


def calls(page: Path) -> list[Call]:
    """Return a page's calls in order, each with the block after it when that shows an answer."""
    found = blocks(page)
    following = [*found[1:], *([None] if found else [])]
    return [
        Call(block, after if after is not None and after.language in ("json", "http") else None)
        for block, after in zip(found, following, strict=True)
        if block.is_call
    ]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _fence.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the fragments that lead somewhere on a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {anchor(heading) for heading in headings} | set(re.findall(r'<a id="([^"]+)">', prose(page)))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def differences(shown: Any, real: Any, path: str = "") -> list[str]:
    """Say where an excerpt promises what the answer does not hold. Keys that the excerpt leaves out are fine."""
    name = path.rpartition("/")[2]
    if isinstance(shown, dict) and isinstance(real, dict):
        missing = [f"{path}/{key} is not in the answer" for key in shown if key not in real]
        return missing + [
            line for key in shown if key in real for line in differences(shown[key], real[key], f"{path}/{key}")
        ]
    if isinstance(shown, list) and isinstance(real, list) and name != "warnings":
        if len(shown) > len(real):
            return [f"{path} has {len(real)} items, not {len(shown)}"]
        return [line for i, part in enumerate(shown) for line in differences(part, real[i], f"{path}/{i}")]
    if type(shown) is not type(real) and not {type(shown), type(real)} <= {int, float}:
        return [f"{path} is {json.dumps(real)}, not {json.dumps(shown)}"]
    # The last digit of a float depends on the processor: BLAS sums in another order.
    is_equal = math.isclose(shown, real, rel_tol=1e-12) if isinstance(shown, float) else shown == real
    if not is_equal and name not in VOLATILE:
        return [f"{path} is {json.dumps(real)}, not {json.dumps(shown)}"]
    return []
