"""docs/settings.md lists every variable that the code reads, with its default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from evalsvc.env import RENAMED
from tests.docs.pages import CHECKOUT

PAGE = (CHECKOUT / "docs" / "settings.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
_name = re.compile(r"[A-Z][A-Z_]+")
# Never set by an operator: Django's own, and those of libraries that the code sets.
NOT_SETTINGS = {"DJANGO_SETTINGS_MODULE", "ORT_DISABLE_TELEMETRY", "CELERY_SKIP_CHECKS"}


def documented() -> dict[str, str]:
    """Return the default that the page gives for each variable."""
    return {name: default for name, _, default, _ in ROW.findall(PAGE)}


def reads(path: Path) -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Yield (how, name, further arguments) of every read of an environment variable in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            how, name = ast.unparse(node.func), node.args[0].value
            if isinstance(name, str) and _name.fullmatch(name) and (how.startswith("env_") or "environ" in how):
                yield how, name, node.args[1:]


def as_documented(how: str, default: list[ast.expr]) -> str:
    """Write a default of the code as the page does."""
    if not default:
        return "(empty)" if how in ("env_list", "env_fernet_keys") else "required"
    if isinstance(default[0], ast.Name):
        return f"as `{default[0].id}`"
    value = eval(compile(ast.Expression(default[0]), "settings.py", "eval"))
    if value == "":
        return "(empty)"
    return f"`{int(value) if isinstance(value, bool) else value}`"


def test_the_settings_of_the_file_are_documented_with_their_defaults() -> None:
    wanted = {name: as_documented(how, default) for how, name, default in reads(CHECKOUT / "evalsvc" / "settings.py")}
    shown = documented()

    assert {name: shown.get(name) for name in wanted} == wanted


def test_every_other_variable_that_the_code_reads_is_documented() -> None:
    files = [*CHECKOUT.glob("evalsvc/**/*.py"), *CHECKOUT.glob("evaluators/**/*.py"), CHECKOUT / "manage.py"]
    files += CHECKOUT.glob("scripts/*.py")
    names = {name for path in files for _, name, _ in reads(path)} - NOT_SETTINGS

    assert names - set(documented()) == set()


def test_renamed_variables_are_documented_and_the_new_ones_are_read() -> None:
    table = PAGE.partition("## Renamed variables")[2].partition("\n## ")[0]

    assert dict(re.findall(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \|$", table, re.MULTILINE)) == RENAMED
    assert set(RENAMED.values()) <= {name for _, name, _ in reads(CHECKOUT / "evalsvc" / "settings.py")}


def test_nothing_is_documented_that_nothing_reads() -> None:
    texts = [path.read_text(encoding="utf-8") for path in CHECKOUT.glob("evalsvc/**/*.py")]
    texts += [path.read_text(encoding="utf-8") for path in (CHECKOUT / "Makefile", *CHECKOUT.glob("scripts/*.py"))]

    assert [name for name in documented() if not any(name in text for text in texts)] == []
