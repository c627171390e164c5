"""Our own pages name classes: no style, no script and no handler stands in a template or in Python. And they are packed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from django.templatetags.static import static
from unfold.settings import CONFIG_DEFAULTS
from unfold.utils import convert_color

from evalsvc.accounts.admin.base import CODE_CLASS, TEXT_CLASS
from tests.docs.pages import CHECKOUT

PACKAGE = CHECKOUT / "evalsvc"
STYLES = PACKAGE / "accounts" / "static" / "evalsvc" / "pages.css"
INLINE = re.compile(
    r"""<style | <script(?![^>]*\ssrc=) | \sstyle\s*=\s*["'{] | ["']style["']\s*: | <[^>]*\son[a-z]+\s*=
    | hx-on | hx-trigger="[^"]*\[ | ["']js: | javascript: """,
    re.VERBOSE | re.IGNORECASE,
)


def sources() -> list[Path]:
    return sorted([*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.py")])


def test_nothing_is_inline() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sources()}

    assert len(texts) > 200
    found = {path.name: INLINE.findall(text) for path, text in texts.items() if INLINE.search(text)}
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        '<p style="color: red">',
        '<td class="p-3"\n    style="{{ x }}">',
        "<style>p {}</style>",
        "<script>alert(1)</script>",
        '<script type="module">',
        '<img src=x onerror="alert(1)">',
        '<form class="x" onsubmit = "f()">',
        '<a href="javascript:f()">',
        "Textarea({'style': CODE})",
        '<div hx-on::before-swap="f()">',
        '<div hx-trigger="every 1s [!document.hidden]">',
    ],
)
def test_it_would_be_seen(text: str) -> None:
    assert INLINE.search(text)


def test_files_of_scripts_are_not_inline() -> None:
    assert not INLINE.search("""<script src="{% static 'evalsvc/docs.js' %}" defer></script>""")


def test_templates_live_with_their_app() -> None:
    for path in PACKAGE.rglob("*.html"):
        app, folder, name = path.relative_to(PACKAGE).parts[:3]
        assert (folder, name) == ("templates", app), path


def test_the_palette_is_unfold_s() -> None:
    """It stands in our style sheet, since unfold would write it into each page."""
    palette = {
        f"--color-{name}-{weight}": convert_color(value)
        for name, weights in CONFIG_DEFAULTS["COLORS"].items()
        for weight, value in weights.items()
    }

    assert dict(re.findall(r"(--color-[\w-]+): ([^;]+);", STYLES.read_text(encoding="utf-8"))) == palette


def test_every_class_of_ours_has_its_rule_and_every_rule_its_use() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sources()]
    classes = {name for text in texts for one in re.findall(r'class="([^"]*)"', text) for name in one.split()}
    used = {name for name in classes if name.startswith("evalsvc-")} | {TEXT_CLASS, CODE_CLASS}

    assert set(re.findall(r"\.(evalsvc-[a-z]+)", STYLES.read_text(encoding="utf-8"))) == used


def test_templates_and_static_files_are_packed() -> None:
    data = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packed = {path for pattern in data["package-data"]["evalsvc"] for path in PACKAGE.glob(pattern)}
    needed = {path for folder in ("static", "templates") for path in PACKAGE.glob(f"*/{folder}/**/*") if path.is_file()}

    assert len(needed) > 10
    assert needed <= packed


def test_static_files_are_found() -> None:
    from django.contrib.staticfiles.finders import find

    for name in ("pages.css", "pages.js", "docs.js"):
        assert find(f"evalsvc/{name}"), static(f"evalsvc/{name}")
