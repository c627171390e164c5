"""What the package promises to its readers and importers: examples that run, names in the docs, few imports."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import evalsvc.stats
from evalsvc.stats.kinds import KINDS
from evalsvc.stats.race.contest import POLICIES
from evalsvc.stats.strategies.registry import STRATEGIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "statistics.md"
FOLDER = Path(evalsvc.stats.__file__).parent
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(FOLDER)], "evalsvc.stats.") if not module.ispkg)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str) -> None:
    module = importlib.import_module(name)

    assert doctest.testmod(module).failed == 0


def test_the_examples_of_the_page_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")

    assert result.attempted > 0
    assert result.failed == 0


def test_every_public_function_of_the_package_has_an_example() -> None:
    for name in evalsvc.stats.__all__:
        member = getattr(evalsvc.stats, name)
        if callable(member) and not isinstance(member, type):
            assert ">>>" in (member.__doc__ or ""), name


def test_the_page_names_every_strategy_method_and_warning() -> None:
    page = PAGE.read_text(encoding="utf-8")
    methods = ("exact-binomial", "exact-enumeration", "exact-lattice", "fft", "saddlepoint", "degenerate")
    warnings = ("n<30", "degenerate", "autocorrelated")

    for name in (*evalsvc.stats.HISTORY_STRATEGIES, *methods, *warnings):
        assert f"| `{name}` |" in page, name


def test_the_page_names_every_running_strategy_metric_type_and_policy() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for name in (*STRATEGIES, *KINDS, *POLICIES):
        assert f"| `{name}` |" in page, name


def imported_by(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("name", MODULES)
def test_it_imports_numbers_only(name: str) -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "scipy", "arch", "choix"}

    for imported in imported_by(FOLDER.parent.parent.joinpath(*name.split(".")).with_suffix(".py")):
        assert imported.split(".")[0] in allowed or imported.startswith("evalsvc.stats."), imported


def test_the_hot_path_loads_neither_arch_nor_scipy() -> None:
    program = (
        "import json, sys\n"
        "from evalsvc.stats import history_interval\n"
        "for scores in ([0, 1, 1], [0.1, 0.5, 0.7], [1, 2, 3] * 9, [i ** 0.5 for i in range(90)], [1.0, 1.0]):\n"
        "    history_interval(scores, binary=True if scores == [1.0, 1.0] else None)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )

    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert not {"arch", "scipy", "pandas", "django"} & set(json.loads(printed))
