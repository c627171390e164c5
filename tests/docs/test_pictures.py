"""The pictures of pages: small, each shown somewhere, and each said in words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from scripts.pictures import read_small, write_small
from tests.docs.pages import CHECKOUT, PAGES

PICTURES = sorted((CHECKOUT / "docs" / "screenshots").glob("*.png"))
MAX_BYTES, MAX_BYTES_OF_ALL = 150_000, 2_500_000
SHOWN = re.compile(
    r'!\[(?P<alt>[^\]]*)\]\((?P<src>[^)\s]+)\)|(?:srcset="(?P<dark>[^"]+)"><)?img src="(?P<file>[^"]+)" alt="(?P<said>[^"]*)"'
)


def test_they_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in PICTURES}

    assert sizes and {name: size for name, size in sizes.items() if size > MAX_BYTES} == {}
    assert sum(sizes.values()) <= MAX_BYTES_OF_ALL


def test_each_is_shown_and_said_in_words() -> None:
    shown, words = set[Path](), list[str]()
    for page in PAGES:
        for found in SHOWN.finditer(page.read_text(encoding="utf-8")):
            names = [name for name in found.group("src", "dark", "file") if name and name.endswith(".png")]
            shown |= {(page.parent / name).resolve() for name in names}
            words += [found["alt"] or found["said"] or ""] if names else []

    assert set(PICTURES) == shown
    assert all(len(one) > 40 for one in words)


def test_a_picture_that_looks_the_same_stays_as_it_was(tmp_path: Path) -> None:
    grey = (np.arange(200 * 300).reshape(200, 300) // 240).astype(np.uint8)
    pixels = np.stack([grey, grey, grey], axis=2)
    path = tmp_path / "one.png"

    assert write_small(path, pixels)
    assert (read_small(path) == pixels).all()
    later = pixels.copy()
    later[:5, :20] = 255
    assert not write_small(path, later)
    later[:40] = 255
    assert write_small(path, later)
