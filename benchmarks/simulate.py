"""Measure what the intervals promise, and write the tables of docs/statistics.md: `make simulate`.

    python -m benchmarks.simulate                     # all families, some minutes; writes the tables
    python -m benchmarks.simulate --only pairs        # one family
    python -m benchmarks.simulate --races             # the tables of races, which take half an hour
    python -m benchmarks.simulate --runs              # clones and finished runs, the latter through a real service
    python -m benchmarks.simulate --surfaces          # 10 000 random experiments, of which no two surfaces disagree; an hour
    python -m benchmarks.simulate --check             # whether the tables belong to today's code; at once

Each family of claims is simulated from a fixed seed through the functions that the service calls. Beside its tables the
page keeps a digest of the code they came from, without comments, docstrings, imports and names of locals; a test compares it
with today's, so that a changed formula with old tables fails the build, and one that has moved does not. Another test repeats a twentieth of everything with a seed of its own.
Races take longest, so their tables are written by themselves.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks import finished, racing, racing_options
from benchmarks.clones import census_leads
from benchmarks.simulations import FAMILIES
from benchmarks.simulations.report import Table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "statistics.md"
SEED = 2024
N_CLONED, N_FINISHED, N_SURFACED = 2000, 200, 10_000
SURFACES = ("tests/experiments/test_surfaces.py", "tests/experiments/test_surfaces_too.py")
PACKAGES = ("evalsvc.stats", "benchmarks.simulations", "benchmarks.rac")
# Tables that are made elsewhere, by the module that makes them.
RACES = {"races": "benchmarks.racing", "epsilons": "benchmarks.racing", "options": "benchmarks.racing_options"}
N_RACES, N_OPTIONS, N_WORKERS = 500, 25, 8


def digest_of(family: str) -> str:
    """Return a digest of the code of a family and of all it imports from the statistics."""
    text = "\n".join(sorted(_code(path) for path in _modules(family).values()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _modules(family: str) -> dict[str, Path]:
    """Return the modules a family reaches, by following its imports."""
    found: dict[str, Path] = {}
    waiting = [RACES.get(family, f"benchmarks.simulations.{family}")]
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if name not in found and path.exists():
            found[name] = path
            waiting += _imported(path)
    return found


def _imported(path: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGES):
            yield node.module
            # `from evalsvc.stats import paired` names a module as well.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _code(path: Path) -> str:
    """Return what runs: its explanations, the names of its locals and its layout may change without a simulation."""
    return ast.dump(_Plain().visit(ast.parse(path.read_text(encoding="utf-8"))))


class _Plain(ast.NodeTransformer):
    """Leave out texts and imports, and number the names that a function gives to its locals."""

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        """Leave it out."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Leave it out."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Leave out what only a checker of types imports."""
        for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if for_types else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Leave out a text that stands by itself."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Number the locals of a function, and of those within it."""
        outer, self.numbers = self.numbers, self.numbers or _numbered(node)
        found = self.generic_visit(node)
        self.numbers = outer
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Write a local by its number."""
        return ast.Name(self.numbers.get(node.id, node.id), node.ctx)


def _numbered(function: ast.FunctionDef) -> dict[str, str]:
    """Return a number for each name that is assigned within a function, in their order; arguments are no locals."""
    arguments = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    stored = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    stored.sort(key=lambda node: (node.lineno, node.col_offset))
    names = dict.fromkeys(node.id for node in stored if node.id not in arguments)
    return {name: f"local {number}" for number, name in enumerate(names)}


def simulated(family: str, scale: float, seed: int) -> list[Table]:
    """Run a family and say when each of its tables is done."""
    tables, began = [], time.monotonic()
    for table in FAMILIES[family](scale, seed):
        tables.append(table)
        print(f"{family}: {table.title} {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return tables


def section_of(page: str, family: str) -> tuple[str, str] | None:
    """Return the digest and the text that a page holds for a family."""
    found = re.search(_markers(family, r"([0-9a-f]*)", "(.*?)"), page, re.DOTALL)
    return (found[1], found[2].strip()) if found else None


def with_section(page: str, family: str, digest: str, body: str) -> str:
    """Return the page with these tables in place of the old ones."""
    pattern = re.compile(_markers(family, r"[0-9a-f]*", ".*?"), re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no markers for {family}.")
    return pattern.sub(lambda _: _markers(family, digest, f"\n\n{body.strip()}\n\n"), page)


def _markers(family: str, digest: str, body: str) -> str:
    return f"<!-- make simulate: {family} {digest} -->{body}<!-- /make simulate: {family} -->"


def drifted(page: str) -> list[str]:
    """Return the families whose tables were made by other code."""
    return [family for family in (*FAMILIES, *RACES) if (section_of(page, family) or ("", ""))[0] != digest_of(family)]


def write(family: str, body: str) -> None:
    """Put tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_section(page, family, digest_of(family), body), encoding="utf-8")


def races() -> int:
    """Race every policy, every epsilon and every option, and write their tables; 1 when a goal is missed."""
    policies = racing.policy_lines(N_RACES, N_WORKERS)
    epsilons = racing.epsilon_lines(N_RACES, N_WORKERS)
    write("races", racing.policy_table(policies))
    write("epsilons", racing.epsilon_table(epsilons))
    write("options", racing_options.table(racing_options.measured(N_OPTIONS)))
    missed = racing.shortfalls([*policies, *epsilons])
    print("goals missed: " + ("; ".join(missed) or "none"))
    return 1 if missed else 0


def whole_runs() -> int:
    """Simulate clones, and play push runs against a service of their own; 1 when one of them ends wrong."""
    leads = census_leads(N_CLONED)
    print(f"the leader is the winner of the census in {leads} of {N_CLONED} runs with a clone", flush=True)
    return 1 if leads < N_CLONED or finished.simulate(N_FINISHED) else 0


def surfaces() -> int:
    """Play random experiments in a process for each file, and ask every surface about them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(len(SURFACES))]
    command += ["--dist", "loadfile", "--examples", str(N_SURFACED), *SURFACES]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="some families")
    parser.add_argument("--check", action="store_true", help="only say which tables are out of date")
    parser.add_argument("--runs", action="store_true", help="whole runs instead of tables: who leads, what is complete")
    parser.add_argument("--surfaces", action="store_true", help="random experiments, about which all surfaces agree")
    parser.add_argument("--races", action="store_true", help="the tables of races instead of the others")
    arguments = parser.parse_args()
    if arguments.races:
        return races()
    if arguments.runs:
        return whole_runs()
    if arguments.surfaces:
        return surfaces()
    if arguments.check:
        old = drifted(PAGE.read_text(encoding="utf-8"))
        print("\n".join(f"The tables of {family} are not of today's code: run `make simulate`." for family in old))
        return 1 if old else 0
    broken: list[str] = []
    for family in arguments.only:
        tables = simulated(family, 1.0, SEED)
        body = "\n".join(table.markdown() for table in tables)
        write(family, body)
        broken += [line for table in tables for line in table.broken()]
    print("promises broken: " + ("; ".join(broken) or "none"))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
