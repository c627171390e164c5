"""Which guides there are, in which order, and where each is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# In an installed package the guides are in this one; in a checkout and in a deployment next to `evalsvc`.
_installed = Path(__file__).with_name("docs")
FOLDER = _installed if _installed.is_dir() else Path(__file__).resolve().parents[2] / "docs"
GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("quickstart", "concepts", "client", "command-line", "console"),
    "Is this answer good?": (
        *("evaluators", "tool-calls", "judges", "own-models", "connections", "providers", "prompts", "reviews"),
        "trust-your-judge",
        "rules",
    ),
    "Is this version better?": (
        "experiments",
        "conversations",
        "trials",
        "datasets",
        "comparisons",
        "gate",
        "monitors",
        "nightly",
        "reports",
        "statistics",
    ),
    "Move in": ("from-another-framework", "patronus", "moving-in", "openai-evals", "openai-graders"),
    "Look up": ("api", "events"),
    "Run it for others": ("deploy", "settings", "sign-in", "admin", "security", "operations", "monitoring", "sizing"),
    "How it is made": ("architecture", "benchmarks", "adr/README"),
}
"""The front page, group by group. What is not named here is reached from one that is."""

PICTURE = re.compile(r"[a-z0-9-]+\.png")
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(?:/[A-Za-z0-9][A-Za-z0-9-]*)?")
# The service writes this page itself: the codes that it really has.
SERVED_ELSEWHERE = frozenset({"errors"})
_title = re.compile(r"^# (.+)$", re.MULTILINE)
_comment = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Guide:
    """One page of `docs/`, by the path that names it there, without its ending."""

    slug: str
    title: str
    text: str

    @property
    def url(self) -> str:
        """Return its address."""
        return f"/docs/{self.slug}"

    @property
    def introduction(self) -> str:
        """Return its first paragraph as plain text, as a summary for other pages."""
        after = self.text.partition("\n")[2].strip()
        return strip_markdown(after.partition("\n\n")[0])

    @property
    def folder(self) -> str:
        """Return its folder; empty for the guides at the top level."""
        return self.slug.rpartition("/")[0]


def strip_markdown(markdown: str) -> str:
    """Return text without the marks of Markdown, on one line."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]+>", "", markdown))
    return " ".join(re.sub(r"[`*|]|^#+ |^```\w*", "", text, flags=re.MULTILINE).split())


def find_guide(slug: str) -> Guide | None:
    """Return a guide by its path below `docs/`, or None. Nothing outside of that folder has a name here."""
    return library().get(slug) if SLUG.fullmatch(slug) else None


def find_picture(name: str) -> Path | None:
    """Return the file of a picture that guides show, or None."""
    path = FOLDER / "screenshots" / name
    return path if PICTURE.fullmatch(name) and path.is_file() else None


def iter_guide_groups() -> Iterator[tuple[str, list[Guide]]]:
    """Yield the groups of the front page, as far as their guides are there."""
    all_guides = library()
    for name, slugs in GROUPS.items():
        if guides := [all_guides[slug] for slug in slugs if slug in all_guides]:
            yield name, guides


@cache
def library() -> dict[str, Guide]:
    """Return all guides by their slugs. They are read once: they come with the version that runs."""
    guides = (_read(path) for path in sorted(FOLDER.rglob("*.md")))
    return {guide.slug: guide for guide in guides if guide.slug not in SERVED_ELSEWHERE}


def _read(path: Path) -> Guide:
    slug = path.relative_to(FOLDER).with_suffix("").as_posix()
    text = _comment.sub("", path.read_text(encoding="utf-8"))
    title_match = _title.search(text)
    return Guide(slug, strip_markdown(title_match[1]) if title_match else slug, text)
