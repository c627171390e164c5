"""The gate on names and texts, each rule on a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import words
from scripts.commits import file_at, last_tag


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("def kept_rows(): ...", "participle evalsvc kept_rows"),
        ("class Row:\n    def _told(self): ...", "participle evalsvc _told"),
        ("def beside_them(): ...", "preposition evalsvc beside_them"),
        ("class Labelled: ...", "class evalsvc Labelled"),
        ("for one in rows: ...", "loop evalsvc one"),
        ("a = [each for each in rows]", "loop evalsvc each"),
        ("def sums_of(rows): ...", "of evalsvc sums_of"),
        ("def wait_until_few(): ...", "glossary evalsvc wait_until_few"),
    ],
)
def test_each_kind_of_name_is_refused(source: str, finding: str) -> None:
    assert " ".join(next(words.name_findings("evalsvc/a.py", source))) == finding


@pytest.mark.parametrize(
    "source",
    [
        "def load_rows(): ...",
        "def to_json(): ...",
        "class Row:\n    @property\n    def kept(self): ...",
        "class Row:\n    def sums_of(self): ...",
        "class KeptRow2: ...",
        "for row in rows: ...",
        "class Row:\n    def __or__(self, other): ...",
    ],
)
def test_plain_names_pass(source: str) -> None:
    assert list(words.name_findings("evalsvc/a.py", source)) == []


def test_a_module_is_a_noun() -> None:
    assert list(words.name_findings("evalsvc/reading.py", "")) == [("module", "evalsvc reading")]
    assert list(words.name_findings("evalsvc/settings.py", "")) == []


def test_phrases_count_in_messages_and_not_in_docstrings() -> None:
    source = '"""Nobody reads this."""\nraise ValueError("There is nobody here")\nKEY = "nobody"\n'

    assert list(words.messages(source)) == ["There is nobody here"]
    assert list(words.phrase_findings("Whoever asks: nobody")) == [("phrase", "whoever"), ("phrase", "nobody")]


def test_a_new_finding_a_stale_line_and_a_longer_list_are_refused() -> None:
    one, two = Counter({"loop evalsvc one": 1}), Counter({"loop evalsvc one": 2})

    assert words.problems(one, one, one) == []
    assert "2; 1 allowed" in words.problems(two, one, one)[0]
    assert "lower its line" in words.problems(one, two, two)[0]
    assert "has grown from 1 to 2" in words.problems(two, two, one)[0]


def test_each_refusal_is_one_line_that_explains_the_rule() -> None:
    for kind, explanation in words.EXPLANATIONS.items():
        [line] = words.problems(Counter({f"{kind} evalsvc x": 1}), Counter(), None)
        assert explanation in line
        assert "\n" not in line


def test_commits_since_the_release_are_checked(repository: Path, git: Callable[..., str]) -> None:
    assert words.commit_problems(repository) == []
    git("tag", "v1.0.0")
    git("commit", "--allow-empty", "--message", "rest: Add a test\n\nIt was missing.")
    assert words.commit_problems(repository) == []
    git("commit", "--allow-empty", "--message", "Added a test")
    assert any("names a component" in problem for problem in words.commit_problems(repository))
    sha = git("rev-parse", "HEAD").strip()
    git("commit", "--allow-empty", "--message", f"rest: Say why\n\nIt was missing.\n\nMessage-For: {sha[:8]}")
    assert words.commit_problems(repository) == []


def test_the_list_of_the_last_release_is_the_bound(repository: Path, git: Callable[..., str]) -> None:
    assert words.first_list(repository) is None
    listed = repository / "scripts" / "words.txt"
    listed.parent.mkdir()
    for text in ("2 loop evalsvc one\n", "1 loop evalsvc one\n"):
        listed.write_text(text)
        git("add", ".")
        git("commit", "--message", "scripts: List words\n\nA reason.")
    assert words.first_list(repository) == "2 loop evalsvc one\n"
    git("tag", "v1.0.0")
    assert words.first_list(repository) == "1 loop evalsvc one\n"
    assert last_tag(repository) == "v1.0.0"
    assert file_at("v1.0.0", "evalsvc/a.py", repository) == "a = 1\n"


def test_a_folder_without_history_has_no_release(tmp_path: Path) -> None:
    assert last_tag(tmp_path) is None
    assert words.commit_problems(tmp_path) == []
