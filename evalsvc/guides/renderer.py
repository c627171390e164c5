"""Render guides as HTML, with an anchor for each heading and links that point to pages of the service."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalsvc.guides.library import SERVED_ELSEWHERE, Guide, library

_LISTED_LEVELS = ("h2", "h3")
_call = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) /v1/\S+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that the list of contents shows."""

    tag: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class RenderedGuide:
    """A guide as HTML, and its headings."""

    html: SafeString
    headings: tuple[Heading, ...]


@lru_cache(maxsize=256)
def render_guide(slug: str) -> RenderedGuide:
    """Return a guide as HTML; KeyError when there is none.

    The texts are those of this version and no one else's, so HTML in them is taken as it is.
    """
    guide = library()[slug]
    reader = MarkdownIt("commonmark").enable("table")
    tokens = reader.parse(guide.text)
    headings = tuple(_name_headings(tokens))
    _rewrite_all_links(guide, tokens)
    _wrap_tables(tokens)
    _link_api_calls(guide, tokens)
    # Long lines scroll, by keyboard too.
    html = reader.renderer.render(tokens, reader.options, {}).replace("<pre>", '<pre tabindex="0">')
    return RenderedGuide(mark_safe(html), tuple(heading for heading in headings if heading.tag in _LISTED_LEVELS))  # noqa: S308  # nosec B308, B703


def to_anchor(heading: str) -> str:
    """Return the URL fragment of a heading, derived as code hosts do, so that links work both there and here."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name_headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            anchor = to_anchor(text)
            opening.attrSet("id", anchor)
            yield Heading(opening.tag, anchor, text)


def _rewrite_all_links(guide: Guide, tokens: Sequence[Token]) -> None:
    for inline in tokens:
        if inline.children:
            inline.children = list(_rewrite_links(guide, inline.children))


def _rewrite_links(guide: Guide, children: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens of a line with rewritten links; a link to a file that is not a guide is reduced to its text."""
    is_dropped = False
    for token in children:
        if token.type == "link_open":
            target = _target(guide, str(token.attrGet("href") or ""))
            is_dropped = target is None
            if target is not None:
                token.attrSet("href", target)
        if is_dropped and token.type in ("link_open", "link_close"):
            continue
        yield token


def _target(guide: Guide, href: str) -> str | None:
    if href.startswith(("#", "/", "https://", "http://", "mailto:")):
        return href
    path, hash_, fragment = href.partition("#")
    if not path.endswith(".md"):
        return None
    slug = posixpath.normpath(posixpath.join(posixpath.dirname(guide.slug), path.removesuffix(".md")))
    if slug not in library() and slug not in SERVED_ELSEWHERE:
        return None
    return f"/docs/{slug}{hash_}{fragment}"


def _wrap_tables(tokens: list[Token]) -> None:
    """Let wide tables scroll by themselves, by pointer and by keyboard; align numbers by class, not by style."""
    for token in tokens:
        if token.type in ("th_open", "td_open") and token.attrs.pop("style", "") == "text-align:right":
            token.attrSet("class", "number")
    n_tables = sum(token.type == "table_open" for token in tokens)
    for i in range(len(tokens) - 1, -1, -1):
        if tokens[i].type == "table_open":
            label = f"Table {n_tables}"
            tokens.insert(i, _html(f'<div class="guide-table" role="region" aria-label="{label}" tabindex="0">'))
            n_tables -= 1
        elif tokens[i].type == "table_close":
            tokens.insert(i + 1, _html("</div>"))


def _link_api_calls(guide: Guide, tokens: list[Token]) -> None:
    """Put a link to the call's own page under each heading of the API's guides that is a call."""
    if guide.folder != "api":
        return
    for i in range(len(tokens) - 1, -1, -1):
        text = tokens[i - 1].content if tokens[i].type == "heading_close" else ""
        if _call.fullmatch(text):
            address = f"/docs/reference/{to_anchor(text)}"
            tokens.insert(i + 1, _html(f'<p class="to-call"><a href="{address}">Every key of {escape(text)}</a></p>'))


def _html(content: str) -> Token:
    return Token("html_block", "", 0, content=content)
