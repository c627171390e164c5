"""The layers of the code as a page shows them: drawn from the import contracts, in the words of the packages."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

CHECKOUT = Path(__file__).resolve().parent.parent


class Contract(TypedDict, total=False):
    """A contract of import-linter, as far as it is shown."""

    name: str
    type: str
    containers: list[str]
    layers: list[str]
    modules: list[str]
    source_modules: list[str]
    forbidden_modules: list[str]
    protected_modules: list[str]
    allowed_importers: list[str]


def import_contracts(settings: str) -> list[Contract]:
    """Return the contracts of a `pyproject.toml`."""
    contracts: list[Contract] = tomllib.loads(settings)["tool"]["importlinter"]["contracts"]
    return contracts


def names_in(layer: str) -> list[str]:
    """Return the modules of a layer. Parentheses mark those that may be missing."""
    return [name.strip(" ()") for name in re.split("[|:]", layer)]


def picture(layers: Iterable[str]) -> str:
    """Return layers as a stack of boxes, the highest first."""
    rows = ["   ".join(names_in(layer)) for layer in layers]
    width = max(map(len, rows))
    edge = "─" * (width + 2)
    body = f"\n├{edge}┤\n".join(f"│ {row.ljust(width)} │" for row in rows)
    return f"```text\n┌{edge}┐\n{body}\n└{edge}┘\n```\n"


def purpose(module: str, root: Path = CHECKOUT) -> str:
    """Return what a package or module says that it is for: the first line of its docstring."""
    path = root.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    if not said:
        raise SystemExit(f"{source.relative_to(root)} does not say what it is for: give it a docstring of one line.")
    return said.splitlines()[0].rstrip(".:").replace("|", "\\|")


def stack(contract: Contract, root: Path = CHECKOUT) -> str:
    """Return a contract of layers: its picture, and what stands in each."""
    drawn = []
    for container in contract["containers"]:
        modules = [name for layer in contract["layers"] for name in names_in(layer)]
        rows = [f"| `{name}` | {purpose(f'{container}.{name}', root)} |\n" for name in modules if name != "migrations"]
        heading = f"## `{container}`\n\n{contract['name']}.\n\n"
        drawn.append(f"{heading}{picture(contract['layers'])}\n| module | what is there |\n|---|---|\n{''.join(rows)}")
    return "\n".join(drawn)


def listed(modules: Iterable[str]) -> str:
    """Return module names for a table."""
    return ", ".join(f"`{name}`" for name in modules)


def rule(contract: Contract) -> str:
    """Return a contract of another kind as one row."""
    if contract["type"] == "forbidden":
        said = f"{listed(contract['source_modules'])} may not import {listed(contract['forbidden_modules'])}"
    elif contract["type"] == "protected":
        allowed = listed(contract["allowed_importers"])
        said = f"{listed(contract['protected_modules'])} may be imported by {allowed} only"
    elif contract["type"] == "acyclic_siblings":
        said = f"no circle of imports in {listed(contract['ancestors'])}, in any room"
    else:
        said = f"{listed(contract['modules'])} may not import each other"
    return f"| {contract['name']} | {said} |\n"


def layers_and_rules(settings: str, root: Path = CHECKOUT) -> str:
    """Return the generated part of docs/architecture.md."""
    contracts = import_contracts(settings)
    stacks = "\n".join(stack(contract, root) for contract in contracts if contract["type"] == "layers")
    rules = "".join(rule(contract) for contract in contracts if contract["type"] != "layers")
    return f"{stacks}\n## Who may know what\n\n| contract | rule |\n|---|---|\n{rules}"
