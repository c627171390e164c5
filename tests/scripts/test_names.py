"""The gate on names: a public name once in each top package, and a list of exceptions that only shrinks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import names
from scripts.commits import file_at, last_tag

TWICE = {
    "evalsvc/a.py": "class Row: ...\n",
    "evalsvc/b.py": "def other(): ...\nclass Row: ...\n",
    "evaluators/c.py": "def other(): ...\n",
}


def test_a_name_counts_once_in_each_top_package() -> None:
    assert names.doubles(TWICE) == {"evalsvc Row": ["evalsvc/a.py", "evalsvc/b.py"]}


@pytest.mark.parametrize(
    "second",
    ["def _row(): ...", "class Other:\n    def row(self): ...", "row = 1", "from evalsvc.a import row"],
)
def test_only_public_definitions_at_a_module_s_level_count(second: str) -> None:
    assert names.doubles({"evalsvc/a.py": "def row(): ...", "evalsvc/b.py": second}) == {}


def test_one_module_may_define_a_name_by_cases() -> None:
    assert names.doubles({"evalsvc/a.py": "@overload\ndef f(): ...\ndef f(): ...\n"}) == {}


def test_the_names_that_django_dictates_are_left_out() -> None:
    folder = "evalsvc/ops/management/commands"

    assert names.doubles({f"{folder}/{name}.py": "class Command: ..." for name in ("up", "verify")}) == {}


def test_a_new_double_is_refused_with_its_places() -> None:
    [problem] = names.problems(names.doubles(TWICE), set(), None)

    assert problem == "`evalsvc Row` is defined in evalsvc/a.py, evalsvc/b.py."


def test_a_name_that_is_no_longer_double_has_to_leave_the_list() -> None:
    [problem] = names.problems({}, {"evalsvc Row"}, {"evalsvc Row"})

    assert "no longer double" in problem


def test_no_name_joins_the_list_of_the_last_release() -> None:
    found = names.doubles(TWICE)

    assert names.problems(found, {"evalsvc Row"}, {"evalsvc Row", "evalsvc Other"}) == []
    [problem] = names.problems(found, {"evalsvc Row"}, set())
    assert "only shrinks" in problem


def test_the_list_of_this_checkout_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    code = names.main()

    assert code == 0, capsys.readouterr().out


def test_the_list_of_the_last_release_is_found(repository: Path, git: Callable[..., str]) -> None:
    assert last_tag(repository) is None
    git("tag", "v1.0.0")
    git("tag", "something-else")

    assert last_tag(repository) == "v1.0.0"
    assert file_at("v1.0.0", "evalsvc/a.py", repository) == "a = 1\n"
    assert file_at("v1.0.0", "scripts/names.txt", repository) is None


def test_a_folder_without_history_has_no_release(tmp_path: Path) -> None:
    assert last_tag(tmp_path) is None
