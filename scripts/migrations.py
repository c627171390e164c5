"""`python -m scripts.migrations`: does a model lack its migration, and can each new migration run beside the service?

Code of version N runs on the schema of N + 1, so a migration expands: it adds what may be left out. What takes away
comes a version later, when no code names it any more: its file says so, in a line `# contract step: <since when>`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
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
    r"\bCREATE\s+(UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY\b)": "an index that is not made CONCURRENTLY stops all writes",
}


def problems_of(path: str, text: str) -> list[str]:
    """Return what is wrong with one migration, each with its line."""
    if CONTRACT.search(text):
        return []
    app = Path(path).parts[-3]
    tree = ast.parse(text)
    calls = list(_database_calls(tree))
    made = {_word(call, "name", 0) for call in calls if _called(call) == "CreateModel"}
    found = [(call.lineno, why) for call in calls if (why := _problem_of(call, app, made))]
    found += [(node.lineno, why) for node in ast.walk(tree) if isinstance(node, ast.Constant) for why in _in_sql(node)]
    return [f"{path}:{line}: {why}." for line, why in sorted(found)]


def _database_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that reach the database: not those that only tell Django of a state."""
    for field in ast.iter_child_nodes(node):
        if isinstance(field, ast.keyword) and field.arg == "state_operations":
            continue
        if isinstance(field, ast.Call):
            yield field
        yield from _database_calls(field)


def _problem_of(call: ast.Call, app: str, made: set[str]) -> str:
    called, model = _called(call), _word(call, "model_name", 0)
    if called in TAKES_AWAY:
        return f"{called} takes away what the version before names"
    if model in made:
        return ""
    if called == "AddField" and not _may_be_left_out(_argument(call, "field", 2)):
        return f"{model} gets a column that is neither null nor has a db_default: the version before leaves it out"
    if called in ("AddIndex", "AddConstraint") and model in BIG.get(app, ()):
        return f"{called} stops all writes to a big table: AddIndexConcurrently, or partitions.add_index"
    return ""


def _may_be_left_out(field: ast.expr | None) -> bool:
    if not isinstance(field, ast.Call) or _called(field) == "ManyToManyField":
        return True
    given = {keyword.arg: keyword.value for keyword in field.keywords}
    null = given.get("null")
    return "db_default" in given or (isinstance(null, ast.Constant) and null.value is True)


def _in_sql(node: ast.Constant) -> list[str]:
    text = node.value if isinstance(node.value, str) else ""
    return [why for pattern, why in SQL.items() if re.search(pattern, text, re.IGNORECASE)]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    return named[0] if named else call.args[position] if len(call.args) > position else None


def _word(call: ast.Call, name: str, position: int) -> str:
    value = _argument(call, name, position)
    return str(value.value).lower() if isinstance(value, ast.Constant) else ""


def new_migrations(root: Path = CHECKOUT) -> dict[str, str]:
    """Return the text of each migration that is younger than the rule, by its path."""
    paths = sorted(root.glob("evalsvc/*/migrations/[0-9]*.py"))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths if _is_new(path)}


def _is_new(path: Path) -> bool:
    return int(path.name[:4]) > BEFORE_THE_RULE.get(path.parts[-3], 0)


def main() -> int:
    """Print what is wrong; the exit code says whether something is."""
    found = [problem for path, text in new_migrations().items() for problem in problems_of(path, text)]
    if found:
        print("\n".join([*found, "CONTRIBUTING.md says how to expand first and contract later."]))
    command = [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"]
    done = subprocess.run(command, cwd=CHECKOUT, check=False)
    return 1 if found or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
