"""What the release before this commit has in its tables, read from its tag: whether a step may take something away."""

from __future__ import annotations

import ast
from pathlib import Path

from scripts.commits import CHECKOUT, file_at, git, previous_release


class ReleasedModels:
    """The models of a release, by app; looked up where they are asked for."""

    def __init__(self, tag: str, root: Path = CHECKOUT) -> None:
        self.tag = tag
        self._root = root
        self._apps: dict[str, dict[str, set[str]]] = {}

    @classmethod
    def known(cls, root: Path = CHECKOUT) -> ReleasedModels | None:
        """Return those of the release before this commit, or None where the history does not reach back to it."""
        tag = previous_release(root)
        return cls(tag, root) if tag else None

    def has_file(self, path: str) -> bool:
        """Return whether a file was in that release."""
        return file_at(self.tag, path, self._root) is not None

    def has_model(self, app: str, model: str) -> bool:
        """Return whether its code knows a table."""
        return model.lower() in self._models(app)

    def has_field(self, app: str, model: str, field: str) -> bool:
        """Return whether its code reads or writes a column, by the name of the field or of the column."""
        fields = self._models(app).get(model.lower(), set())
        return field in fields or (field.endswith("_id") and field.removesuffix("_id") in fields)

    def has_column(self, table: str, column: str) -> bool:
        """Say the same of a table and a column as the database calls them."""
        app, _, model = table.partition("_")
        return self.has_field(app, model, column)

    def has_table(self, table: str) -> bool:
        """Return whether its code knows a table, as the database calls it."""
        app, _, model = table.partition("_")
        return self.has_model(app, model)

    def _models(self, app: str) -> dict[str, set[str]]:
        if app not in self._apps:
            self._apps[app] = {name: fields for text in self._texts(app) for name, fields in fields_of(text).items()}
        return self._apps[app]

    def _texts(self, app: str) -> list[str]:
        pattern = (f"evalsvc/{app}/models.py", f"evalsvc/{app}/models/")
        names = git("ls-tree", "-r", "--name-only", self.tag, "--", *pattern, root=self._root) or ""
        return [file_at(self.tag, name, self._root) or "" for name in names.split() if name.endswith(".py")]


def fields_of(text: str) -> dict[str, set[str]]:
    """Return the fields of each class of a module of models, by the class' name in small letters."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return {node.name.lower(): {name for line in node.body for name in _assigned(line)} for node in classes}


def _assigned(line: ast.stmt) -> list[str]:
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
