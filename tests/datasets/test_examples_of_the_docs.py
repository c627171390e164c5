"""Every example of a format in docs/datasets.md is accepted, as the format that its section names."""

from __future__ import annotations

import re

import pytest

from evalsvc.datasets.importers.names import COLUMNS
from tests.conftest import CHECKOUT, Caller
from tests.datasets.shapes import upload

PAGE = (CHECKOUT / "docs" / "datasets.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### .*?\n\n`format` is `(\w+)`(?:(?!^#).)*?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = SECTION.findall(PAGE)


def test_the_page_has_an_example_of_each_text_format() -> None:
    assert [format for format, *_ in EXAMPLES] == ["jsonl", "csv", "json", "squad", "gsm8k"]


@pytest.mark.parametrize(("format", "suffix", "text"), EXAMPLES, ids=[format for format, *_ in EXAMPLES])
def test_an_example_is_accepted_and_known_by_its_content(alice: Caller, format: str, suffix: str, text: str) -> None:
    answer = upload(alice, text.encode(), f"example.{suffix}")

    assert answer.json()["dataset"]["version"]["format"] == format


def test_the_page_lists_every_column() -> None:
    for field, columns in COLUMNS.items():
        assert f"| `{field}` | {', '.join(f'`{column}`' for column in columns)} |" in PAGE
