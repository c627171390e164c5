"""The files that counters read: those of the checkout, or those of a commit."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGES = ("evalsvc", "evaluators")
CONTRACTS, BREACHES = "pyproject.toml", "tests/docs/test_contracts.py"

Files = dict[str, str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_counted(path: str) -> bool:
    """Return whether a file is source that people write: migrations are made by a program."""
    parts = PurePosixPath(path).parts
    return path in (CONTRACTS, BREACHES) or (
        parts[0] in PACKAGES and "migrations" not in parts and path.endswith((".py", ".sql"))
    )


def files_of_checkout(root: Path = CHECKOUT) -> Files:
    """Return the counted files as they lie in a folder, committed or not."""
    paths = [path for package in PACKAGES for path in (root / package).rglob("*.*")]
    paths += [root / CONTRACTS, root / BREACHES]
    names = {path.relative_to(root).as_posix(): path for path in sorted(paths) if path.is_file()}
    return {name: path.read_text(encoding="utf-8") for name, path in names.items() if is_counted(name)}


def files_of_commit(commit: str, root: Path = CHECKOUT) -> Files:
    """Return the counted files of a commit."""
    command = ["git", "archive", "--format=tar", commit]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.decode(errors="replace").strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return {
            member.name: content.read().decode()
            for member in archive
            if member.isfile() and is_counted(member.name) and (content := archive.extractfile(member))
        }


def modules(files: Files, package: str | None = None) -> Files:
    """Return the Python modules of the product, or of one of its packages."""
    wanted = (package,) if package else PACKAGES
    return {path: text for path, text in files.items() if path.endswith(".py") and path.split("/")[0] in wanted}


@cache
def tree_of(text: str) -> ast.Module:
    """Return the syntax tree of a module; several counters want the same one."""
    return ast.parse(text)


def public_definitions(text: str) -> Iterator[ast.ClassDef | Function]:
    """Yield the public classes and functions at a module's level."""
    for node in tree_of(text).body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node
