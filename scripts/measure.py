"""`make measure`: count what tells whether the code stays easy to find one's way in. Asserts nothing.

    python -m scripts.measure [--against COMMIT] [--json]

Migrations are left out of everything. Source lines are those of Python and SQL without blank lines, comments and
docstrings. A signature is public when nothing in its path within the module starts with an underscore.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from scripts.sources import (
    BREACHES,
    CONTRACTS,
    Files,
    Function,
    files_of_checkout,
    files_of_commit,
    modules,
    public_definitions,
    tree_of,
)

CALLED_BY_USERS = ("__init__", "__call__")


@dataclass(frozen=True)
class Measure:
    """One row: a number, how a person reads it, and what it should become."""

    key: str
    label: str
    value: float
    text: str
    goal: str


def contracts(files: Files) -> list[str]:
    """Return the names of the import contracts."""
    settings = tomllib.loads(files.get(CONTRACTS, "")).get("tool", {}).get("importlinter", {})
    return [str(contract["name"]) for contract in settings.get("contracts", ())]


def biting(files: Files) -> set[str]:
    """Return the contracts that the test of breaches names."""
    nodes = ast.walk(tree_of(files.get(BREACHES, "")))
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return named & set(contracts(files))


def public_functions(text: str) -> Iterator[Function]:
    """Yield a module's public functions, and the public methods of its public classes."""
    for node in public_definitions(text):
        if isinstance(node, Function):
            yield node
        else:
            methods = [part for part in node.body if isinstance(part, Function)]
            yield from (part for part in methods if part.name[0] != "_" or part.name in CALLED_BY_USERS)


def has_any(function: Function) -> bool:
    """Return whether `Any` stands in a signature, however deep."""
    taken = function.args
    known = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
    annotations = [argument.annotation for argument in known if argument] + [function.returns]
    parts = [part for annotation in annotations if annotation for part in ast.walk(annotation)]
    return any("Any" in (getattr(part, "id", ""), getattr(part, "attr", "")) for part in parts)


@cache
def owners(text: str) -> list[ast.Module | ast.ClassDef | Function]:
    """Return whatever of a module may have a docstring."""
    return [node for node in ast.walk(tree_of(text)) if isinstance(node, ast.Module | ast.ClassDef | Function)]


def function_lengths(text: str) -> list[int]:
    """Return the lines of each function of a module, from `def` to its end."""
    functions = [node for node in owners(text) if isinstance(node, Function)]
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]


def docstring_lines(text: str) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    first = [owner.body[0] for owner in owners(text) if ast.get_docstring(owner, clean=False) is not None]
    return {line for node in first for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def source_lines(path: str, text: str) -> int:
    """Return how many lines of a file say what happens."""
    comment, left_out = ("--", set[int]()) if path.endswith(".sql") else ("#", docstring_lines(text))
    lines = enumerate((line.strip() for line in text.splitlines()), 1)
    return sum(1 for number, line in lines if line and not line.startswith(comment) and number not in left_out)


def measures(files: Files) -> list[Measure]:
    """Return every row for a set of files."""
    sources = modules(files)
    names, bites = contracts(files), biting(files)
    anys = [has_any(function) for text in sources.values() for function in public_functions(text)]
    lengths = sorted(length for text in sources.values() for length in function_lengths(text)) or [0]
    longest, n_lines = max(((path, len(text.splitlines())) for path, text in sources.items()), key=lambda file: file[1])
    median, p90 = int(statistics.median(lengths)), lengths[int(0.9 * len(lengths))]
    share = sum(anys) / max(len(anys), 1)
    lines = sum(source_lines(path, text) for path, text in files.items() if path not in (CONTRACTS, BREACHES))
    return [
        Measure("contracts", "import contracts", len(names), str(len(names)), ">= 10"),
        Measure("contracts_biting", "contracts that a test sees bite", len(bites), str(len(bites)), "all"),
        Measure(
            "any_share", "`Any` in public signatures", share, f"{share:.1%} ({sum(anys)} of {len(anys)})", "<= 2 %"
        ),
        Measure("function_median", "median function", median, str(median), ""),
        Measure("function_p90", "90 % of functions", p90, str(p90), "<= 30"),
        Measure("longest_file", "longest file", n_lines, f"{n_lines} ({longest})", ""),
        Measure("source_lines", "source lines", lines, str(lines), ""),
    ]


def table(now: list[Measure], before: list[Measure] | None) -> str:
    """Return the rows for a terminal, with those of the earlier commit where one is given."""
    earlier = [row.text for row in before] if before else [""] * len(now)
    heads = ("", "before", "now", "goal")
    rows = [heads, *((row.label, old, row.text, row.goal) for row, old in zip(now, earlier, strict=True))]
    shown = [column for column in zip(*rows, strict=True) if before or column[0] != "before"]
    widths = [max(map(len, column)) for column in shown]
    lines = zip(*shown, strict=True)
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def as_json(now: list[Measure], before: list[Measure] | None) -> str:
    """Return the numbers for a program."""
    report = {"now": {row.key: row.value for row in now}}
    if before:
        report["before"] = {row.key: row.value for row in before}
    return json.dumps(report, indent=2)


def main() -> int:
    """Print the table, or the same numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--against", metavar="COMMIT", help="print the numbers of a commit beside those of the checkout"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    before = measures(files_of_commit(wanted.against)) if wanted.against else None
    now = measures(files_of_checkout())
    print(as_json(now, before) if wanted.json else table(now, before))
    return 0


if __name__ == "__main__":
    sys.exit(main())
