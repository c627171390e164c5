"""The guides are the pages of docs/, and each link in them leads somewhere."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.test import Client

from evalsvc.guides import library
from evalsvc.guides.renderer import to_anchor
from tests.docs.pages import CHECKOUT, anchors, prose

PAGES = sorted((CHECKOUT / "docs").rglob("*.md"))
USERS = [page for page in PAGES if page.parent.name != "adr" and page.stem != "errors"]


def slug_of(page: Path) -> str:
    return page.relative_to(CHECKOUT / "docs").with_suffix("").as_posix()


def read(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_the_front_page_names_every_guide_for_users() -> None:
    page = read("/docs/")

    named = set(re.findall(r'href="/docs/([\w/-]+)"', page))
    top = {slug_of(page) for page in USERS if page.parent.name == "docs"}
    assert top <= named


@pytest.mark.parametrize("page", USERS, ids=slug_of)
def test_every_guide_is_a_page_whose_links_lead_somewhere(page: Path) -> None:
    html = read(f"/docs/{slug_of(page)}")

    body = html.partition("<article>")[2].partition("</article>")[0]
    ids = set(re.findall(r'id="([^"]+)"', body))
    assert anchors(page) <= ids
    for href in {unescape(found) for found in re.findall(r'<a href="([^"]+)"', body)}:
        target, _, fragment = href.partition("#")
        if target.startswith("/docs/reference/"):
            assert Client().get(target, follow=True).status_code == 200, href
        elif target.startswith("/docs/") and target != "/docs/errors":
            lead = CHECKOUT / "docs" / f"{target.removeprefix('/docs/')}.md"
            assert lead.exists(), href
            assert not fragment or fragment in anchors(lead), href
        elif not target:
            assert fragment in ids, href
        else:
            assert target.startswith(("https://", "http://", "/")), href


def test_headings_have_the_fragments_that_code_hosts_give_them() -> None:
    assert to_anchor("POST /v1/evaluate: what it takes") == "post-v1evaluate-what-it-takes"


def test_no_page_of_ours_has_the_comments_of_its_source() -> None:
    assert "&lt;!--" not in read("/docs/architecture") and "<!--" not in read("/docs/architecture")


def test_no_guide_has_a_style_or_a_script_of_its_own() -> None:
    for page in PAGES:
        if page.stem != "errors":
            body = read(f"/docs/{slug_of(page)}").partition("<article>")[2]
            assert not re.search(r"<[^>]+ (style|on\w+)=|<(style|script)", body), page


@pytest.mark.parametrize(
    "path",
    [
        "nope",
        "../README",
        "..%2FREADME",
        "api/../../README",
        "adr/",
        "%2e%2e/README.md",
        "a" * 3000,
        "api/x/y",
        "screenshots/nope.png",
        "screenshots/..%2Fconsole.md",
    ],
)
def test_nothing_else_is_served(path: str) -> None:
    answer = Client().get(f"/docs/{path}", follow=True)

    assert answer.status_code == 404


def test_pictures_come_from_the_service_itself() -> None:
    (first, *_) = re.findall(r'<img src="([^"]+)" alt="[^"]+"', read("/docs/console"))
    answer = Client().get(urljoin("/docs/console", first))

    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    assert answer.getvalue().startswith(b"\x89PNG")


def test_the_name_of_a_file_leads_to_its_page() -> None:
    answer = Client().get("/docs/api/evaluate.md")

    assert (answer.status_code, answer["Location"]) == (302, "/docs/api/evaluate")


def test_links_out_of_the_guides_are_text() -> None:
    linked = [page for page in USERS if re.search(r"\]\(\.\./[A-Z]+\.md", prose(page))]
    assert linked
    for page in linked:
        assert 'href="../' not in read(f"/docs/{slug_of(page)}")


def test_an_installation_without_guides_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    library.library.cache_clear()
    try:
        assert "came without its guides" in read("/docs/")
    finally:
        library.library.cache_clear()
