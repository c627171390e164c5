"""What no browser sends: pages answer in words, and never with an error of their own."""

from __future__ import annotations

import pytest

from tests.console.conftest import Visitor


@pytest.mark.parametrize(
    "address",
    ["experiments?q=%00", "profiles?family=%00", "gates?benchmark=a%00b", "datasets/traffic?app=%00&%00=1", "?day=%00"],
)
def test_a_nul_in_a_filter_is_refused_in_words(editor: Visitor, address: str) -> None:
    answer = editor.client.get(editor.at(address))

    assert answer.status_code == 400 and "NUL character" in answer.content.decode()


def test_a_nul_in_a_form_is_refused_in_words(editor: Visitor) -> None:
    answer = editor.post("datasets/new", name="a\0b")

    assert answer.status_code == 400 and "NUL character" in answer.content.decode()


@pytest.mark.parametrize(
    "wanted", ["console_home", "999", "evil.example", "javascript:alert(1)", "//evil.example", "/\\evil"]
)
def test_a_form_leads_to_a_page_of_ours_or_home(reader: Visitor, wanted: str) -> None:
    """A bare word is no path: Django takes it for the name of a view, and fails where there is none."""
    assert reader.post("theme", theme="dark", next=wanted)["Location"] == "/console/"


@pytest.mark.parametrize("sent", ["NaN", "1e999", "-1", "1.5", "9" * 30])
def test_a_number_that_is_none_is_told_at_its_field(editor: Visitor, sent: str) -> None:
    answer = editor.post("gates/new", evaluator="exact-match", scores=sent, limit="0.5", kind="at_least")

    assert answer.status_code == 422 and "whole number" in answer.content.decode()
