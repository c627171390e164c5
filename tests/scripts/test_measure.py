"""The counters, each on a few lines."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from scripts import measure
from scripts.sources import BREACHES, CONTRACTS, Function, files_of_checkout, files_of_commit, is_counted

SOURCE = '''"""What the module is for.

Over three lines.
"""

from typing import Any


class Judge:
    """One line."""

    def ask(self, question: dict[str, Any]) -> str:
        # Why.
        return str(question)

    def _hidden(self, value: Any) -> None: ...


def total(numbers: list[int]) -> int:
    return sum(numbers)
'''
SQL = """-- Why.
SELECT 1;

SELECT 2;  -- and this counts
"""
CONTRACT = '[[tool.importlinter.contracts]]\nname = "{}"\n'


def function(source: str) -> Function:
    [node] = ast.parse(source).body
    assert isinstance(node, Function)
    return node


def row(files: dict[str, str], key: str) -> measure.Measure:
    [found] = [row for row in measure.measures(files) if row.key == key]
    return found


@pytest.mark.parametrize(
    ("signature", "found"),
    [
        ("(a: Any)", True),
        ("(a: dict[str, list[Any]])", True),
        ("(*, a: typing.Any = None)", True),
        ("(**a: Any)", True),
        ("(*a: Any)", True),
        ("(a) -> Any", True),
        ("(a: Anything) -> None", False),
        ("()", False),
    ],
)
def test_any_is_found_however_deep_it_stands(signature: str, found: bool) -> None:
    source = f"def f{signature}: ..." if "->" in signature else f"def f{signature} -> None: ..."

    assert measure.has_any(function(source)) is found


def test_public_signatures_are_those_of_public_functions_and_methods() -> None:
    source = """
def seen(): ...
def _hidden(): ...
class Open:
    def __init__(self): ...
    def __repr__(self): ...
    def method(self):
        def inner(): ...
class _Closed:
    def method(self): ...
"""

    assert [node.name for node in measure.public_functions(source)] == ["seen", "__init__", "method"]


def test_the_share_of_any_is_of_public_signatures() -> None:
    assert row({"evalsvc/a.py": SOURCE}, "any_share").text == "50.0% (1 of 2)"


def test_source_lines_leave_out_blank_lines_comments_and_docstrings() -> None:
    # import, class, def, return, def, def, return
    assert measure.source_lines("evalsvc/a.py", SOURCE) == 7


def test_source_lines_of_sql_leave_out_its_comments() -> None:
    assert measure.source_lines("evalsvc/a.sql", SQL) == 2


def test_functions_are_measured_from_def_to_end() -> None:
    assert sorted(measure.function_lengths(SOURCE)) == [1, 2, 3]
    assert row({"evalsvc/a.py": SOURCE}, "function_median").value == 2


def test_the_longest_file_is_named() -> None:
    assert row({"evalsvc/a.py": "a = 1\n", "evaluators/b.py": "a = 1\nb = 2\n"}, "longest_file").text == (
        "2 (evaluators/b.py)"
    )


def test_contracts_that_no_test_breaks_are_told_from_the_others() -> None:
    files = {
        "evalsvc/a.py": "",
        CONTRACTS: CONTRACT.format("One way") + CONTRACT.format("Another"),
        BREACHES: 'BREACHES = [("One way", "evalsvc/a.py", "import b")]',
    }

    assert measure.contracts(files) == ["One way", "Another"]
    assert measure.biting(files) == {"One way"}


def test_a_commit_before_there_were_contracts_is_counted() -> None:
    assert row({"evalsvc/a.py": ""}, "contracts").value == 0


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        ("evalsvc/evaluations/models.py", True),
        ("evalsvc/evaluations/sql/ids.sql", True),
        ("evalsvc/evaluations/migrations/0001_initial.py", False),
        ("evalsvc/templates/base.html", False),
        ("tests/conftest.py", False),
        (CONTRACTS, True),
    ],
)
def test_what_is_counted(path: str, counted: bool) -> None:
    assert is_counted(path) is counted


def test_the_table_puts_before_and_now_side_by_side() -> None:
    before, now = (measure.measures({"evalsvc/a.py": "a = 1\n" * lines}) for lines in (3, 2))
    lines = measure.table(now, before).splitlines()

    assert lines[0].split() == ["before", "now", "goal"]
    assert lines[-1].split() == ["source", "lines", "3", "2"]
    assert measure.table(now, None).splitlines()[0].split() == ["now", "goal"]


@pytest.mark.slow
def test_it_counts_the_checkout_and_prints_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["measure", "--json"])

    assert measure.main() == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"now"}
    assert printed["now"]["contracts"] == printed["now"]["contracts_biting"] > 0
    assert printed["now"]["source_lines"] > 1000


def test_a_commit_holds_what_was_committed(repository: Path) -> None:
    module = repository / "evalsvc" / "a.py"
    module.write_text("a = 1\nb = 2\n")

    assert files_of_commit("HEAD", repository)["evalsvc/a.py"] == "a = 1\n"
    assert files_of_checkout(repository)["evalsvc/a.py"] == "a = 1\nb = 2\n"


def test_an_unknown_commit_is_refused_in_git_s_words(repository: Path) -> None:
    with pytest.raises(SystemExit, match="nothing-of-this-name"):
        files_of_commit("nothing-of-this-name", repository)
