"""`python -m scripts.migrations`: does a model lack its migration, and can each new migration run beside the service?

Code of version N runs on the schema of N + 1, so a migration expands: it adds what may be left out. What takes away
comes a version later, when no code names it any more: its file says so, in a line `# contract step: <since when>`.
Where git knows the release before, its models are asked whether that is so.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.altered import argument, called, field_before, flag, problem_of_alter, word
from scripts.commits import CHECKOUT
from scripts.released import ReleasedModels

# The last migration of each app that is older than the rule. An app that is not here has none.
BEFORE_THE_RULE = {
    "accounts": 3, "annotations": 2, "catalog": 2, "datasets": 3, "evaluations": 29, "experiments": 11, "judges": 5,
    "projects": 3, "prompts": 1, "rest": 2, "telemetry": 3,
}  # fmt: skip
CONTRACT = re.compile(r"^# contract step: \S.*", re.MULTILINE)
# Not RemoveConstraint: code that keeps to more than it must runs on.
TAKES_AWAY = {"RemoveField", "RenameField", "DeleteModel", "RenameModel", "AlterModelTable"}
BIG = {
    "evaluations": {"evaluationrequest", "evaluation", "evaluationtag", "historyscore"},
    "experiments": {"score", "workunit", "output", "aggregate", "experimentitem", "comparison", "evidence", "look"},
    "datasets": {"example"},
    "telemetry": {"span", "logrecord"},
    "rest": {"idempotencyrecord"},
}
SQL = {
    r"\bDROP\s+COLUMN\b|\bRENAME\s+(COLUMN|TO)\b|\bDROP\s+TABLE\b": "takes away what the version before names",
    r"\bSET\s+NOT\s+NULL\b": "SET NOT NULL reads the whole table behind a lock",
    r"\bCREATE\s+(UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY\b|(IF\s+NOT\s+EXISTS\s+)?\w+\s+ON\s+ONLY\b)": (
        "an index that is not made CONCURRENTLY stops all writes"
    ),
    r"\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b": "another type rewrites the table behind a lock",
    r"\bADD\s+COLUMN\b(?![^;]*\bDEFAULT\b)[^;]*\bNOT\s+NULL\b": (
        "the version before leaves out a column that must be named"
    ),
    r"\bADD\s+CONSTRAINT\b(?![^;]*\b(NOT\s+VALID|USING\s+INDEX)\b)": (
        "a constraint that is not NOT VALID (or USING INDEX) reads the whole table behind a lock"
    ),
    r"\bLOCK\s+TABLE\b|\bTRUNCATE\b|\bVACUUM\s+FULL\b|\bCLUSTER\s+\w": "stops all who use the table",
}
DROPS = re.compile(
    r"\bALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?\"?(?P<table>\w+)\"?[^;]*?"
    r"\b(?:DROP|RENAME)\s+COLUMN\s+(?:IF\s+EXISTS\s+)?\"?(?P<column>\w+)",
    re.IGNORECASE,
)
DROPS_TABLE = re.compile(r"\bDROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?\"?(?P<table>\w+)", re.IGNORECASE)
CONCURRENT = {"add_index", "AddIndexBeside", "RemoveIndexConcurrently"}


def problems_of(path: str, text: str, earlier: Sequence[str] = (), released: ReleasedModels | None = None) -> list[str]:
    """Return what is wrong with one migration, each with its line.

    `earlier` are the app's migrations before it, the oldest first. A contract step may take away what `released`, the
    models of the release before, have no more; where they are unknown it is believed.
    """
    tree = ast.parse(text)
    if CONTRACT.search(text):
        found = _still_named(tree, Path(path).parts[-3], released) if released else []
    else:
        found = [*_problems_of_calls(tree, Path(path).parts[-3], earlier), *_problems_of_sql(tree)]
    return [f"{path}:{line}: {why}." for line, why in sorted(found)]


def _problems_of_calls(tree: ast.Module, app: str, earlier: Sequence[str]) -> list[tuple[int, str]]:
    calls = list(_database_calls(tree))
    made = {word(call, "name", 0) for call in calls if called(call) == "CreateModel"}
    problems = [(call.lineno, _problem_of(call, app, made, earlier)) for call in calls]
    if not _is_outside_a_transaction(tree):
        problems += [(call.lineno, WITHIN.format(called(call))) for call in calls if called(call) in CONCURRENT]
    return [(line, why) for line, why in problems if why]


WITHIN = "{} needs `atomic = False`: within a transaction it cannot be made beside the traffic"


def _is_outside_a_transaction(tree: ast.Module) -> bool:
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return any(ast.unparse(line) == "atomic = False" for line in lines)


def _problems_of_sql(tree: ast.Module) -> list[tuple[int, str]]:
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [(node.lineno, why) for node in texts for why in _in_sql(node)]


def _still_named(tree: ast.Module, app: str, released: ReleasedModels) -> list[tuple[int, str]]:
    """Return what a contract step takes away although the release before names it."""
    found = [(call.lineno, _named_in(call, app, released)) for call in _database_calls(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            drops = [match.group("table", "column") for match in DROPS.finditer(node.value)]
            found += [(node.lineno, ".".join(drop)) for drop in drops if released.has_column(*drop)]
            tables = [match["table"] for match in DROPS_TABLE.finditer(node.value)]
            found += [(node.lineno, table) for table in tables if released.has_table(table)]
    why = f"{released.tag} still has {{}}: let one release go by without it, then take it away"
    return [(line, why.format(what)) for line, what in found if what]


def _named_in(call: ast.Call, app: str, released: ReleasedModels) -> str:
    if called(call) in ("RemoveField", "RenameField"):
        model, field = (
            word(call, "model_name", 0),
            word(call, "name" if called(call) == "RemoveField" else "old_name", 1),
        )
        return f"{model}.{field}" if released.has_field(app, model, field) else ""
    if called(call) in ("DeleteModel", "RenameModel", "AlterModelTable"):
        model = word(call, "old_name" if called(call) == "RenameModel" else "name", 0)
        return model if released.has_model(app, model) else ""
    return ""


def _database_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that reach the database: not those that only tell Django of a state."""
    state = _told_only(node)
    for field in ast.iter_child_nodes(node):
        if state is not None and state in (field, getattr(field, "value", None)):
            continue
        if isinstance(field, ast.Call):
            yield field
        yield from _database_calls(field)


def _told_only(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Call) and called(node) == "SeparateDatabaseAndState":
        return argument(node, "state_operations", 1)
    return None


def _problem_of(call: ast.Call, app: str, made: set[str], earlier: Sequence[str]) -> str:
    name, model = called(call), word(call, "model_name", 0)
    if name in TAKES_AWAY:
        return f"{name} takes away what the version before names"
    if model in made:
        return ""
    if name == "AddField" and not _may_be_left_out(argument(call, "field", 2)):
        return f"{model} gets a column that is neither null nor has a db_default: the version before leaves it out"
    if name in ("AddIndex", "AddConstraint") and model in BIG.get(app, ()):
        return f"{name} stops all writes to a big table: infra's AddIndexBeside, or partitions.add_index"
    if name == "AddIndexConcurrently":
        return f"{name} cannot be run again once it was ended: infra's AddIndexBeside can"
    if name == "AlterField":
        return problem_of_alter(argument(call, "field", 2), field_before(earlier, model, word(call, "name", 1)))
    return ""


def _may_be_left_out(field: ast.expr | None) -> bool:
    if not isinstance(field, ast.Call) or called(field) == "ManyToManyField":
        return True
    return flag(field, "null") or any(keyword.arg == "db_default" for keyword in field.keywords)


def _in_sql(node: ast.Constant) -> list[str]:
    text = node.value if isinstance(node.value, str) else ""
    return [why for pattern, why in SQL.items() if re.search(pattern, text, re.IGNORECASE)]


def new_migrations(root: Path = CHECKOUT) -> dict[str, str]:
    """Return the text of each migration that is younger than the rule, by its path."""
    paths = sorted(root.glob("evalsvc/*/migrations/[0-9]*.py"))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths if _is_new(path)}


def _is_new(path: Path) -> bool:
    return int(path.name[:4]) > BEFORE_THE_RULE.get(path.parts[-3], 0)


def found_problems(root: Path = CHECKOUT) -> list[str]:
    """Return what is wrong with the migrations of a checkout."""
    released = ReleasedModels.known(root)
    found = []
    for path, text in new_migrations(root).items():
        earlier = [one.read_text(encoding="utf-8") for one in _before(root / path)]
        # What was released has been run.
        asked = None if released is None or released.has_file(path) else released
        found += problems_of(path, text, earlier, asked)
    return found


def _before(path: Path) -> list[Path]:
    return sorted(one for one in path.parent.glob("[0-9]*.py") if one.name < path.name)


def main() -> int:
    """Print what is wrong; the exit code says whether something is."""
    found = found_problems()
    if found:
        print("\n".join([*found, "CONTRIBUTING.md says how to expand first and contract later."]))
    if ReleasedModels.known() is None:
        print("No release before this commit is known here: contract steps were not compared with its models.")
    command = [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"]
    done = subprocess.run(command, cwd=CHECKOUT, check=False)
    return 1 if found or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
