"""The checkout as the release after the last one, with a change of the schema of its own: a real N + 1, whatever else is new.

It adds to the table that grows most what an upgrade adds: a column that scoring writes (null in rows of old code), one
that old code leaves out (by the database's default), and an index. All as CONTRIBUTING.md says.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import CHECKOUT
from tests.deploy.upgrade.releases import Release, share_environment

PARTS = ("manage.py", "pyproject.toml", "scripts", "requirements", "evalsvc", "evaluators", "docs")
ROOM = Path("evalsvc/evaluations")
EXPANSION = Path(__file__).with_name("expansion")
"""Migrations of the change, as templates."""
CONTRACTION = Path(__file__).with_name("contraction")
"""One that no release may have: it shows that tests notice."""
CHANGES = {
    ROOM / "models/evaluations.py": {
        "    duration_us = models.BigIntegerField(null=True)\n": "    certainty = models.FloatField(null=True)\n",
        "    favorite = models.BooleanField(default=False, db_default=False)\n": (
            "    reviewed = models.BooleanField(default=False, db_default=False)\n"
        ),
        '            newest_first("ix_evaluation_favorite", where=Q(favorite=True)),\n': (
            '            newest_first("ix_evaluation_reviewed", where=Q(reviewed=True)),\n'
        ),
    },
    ROOM / "database/columns.py": {'MARKS = ("favorite", "feedback")\n': 'MARKS = (*MARKS, "reviewed")\n'},
    ROOM / "verdicts.py": {
        "    duration_us: int | None = None\n": "    certainty: float | None = None\n",
        "            duration_us=(time.perf_counter_ns() - self._began) // 1000,\n": "            certainty=1.0,\n",
    },
    Path("evalsvc/__init__.py"): {"": '__version__ += "+next"\n'},
}
"""Lines to add, after the line that is named; or at the end."""


def built_next(folder: Path, *, migrations: Path = EXPANSION) -> Release:
    """Make a copy of the checkout, and change its schema."""
    folder.mkdir()
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)
    if migrations == EXPANSION:
        for path, lines in CHANGES.items():
            changed(folder / path, lines)
    added(folder / ROOM / "migrations", migrations)
    share_environment(folder)
    return Release("next", folder)


def changed(path: Path, lines: dict[str, str]) -> None:
    """Add lines to a file."""
    path.write_text(with_lines(path, lines), encoding="utf-8")


def with_lines(path: Path, lines: dict[str, str]) -> str:
    """Return a file with more lines. One that is not found is a reason to look at this module again."""
    text = path.read_text(encoding="utf-8")
    for line, more in lines.items():
        assert text.count(line) == 1 or not line, f"{path} has changed: {line!r} stands there {text.count(line)} times"
        text = text.replace(line, line + more) if line else text + more
    return text


def added(folder: Path, templates: Path) -> list[Path]:
    """Write migrations after the last one that is there; return them."""
    last = sorted(folder.glob("[0-9]*.py"))[-1].stem
    made = []
    for number, template in enumerate(sorted(templates.glob("*.txt")), int(last[:4]) + 1):
        path = folder / f"{number:04d}_{template.stem.partition('_')[2]}.py"
        path.write_text(template.read_text(encoding="utf-8").replace("{{last}}", last), encoding="utf-8")
        made.append(path)
        last = path.stem
    return made
