"""The gate of migrations: what the version before cannot live with is refused, unless it is the contract step."""

from __future__ import annotations

import pytest

from scripts.migrations import BEFORE_THE_RULE, new_migrations, problems_of
from tests.conftest import CHECKOUT

PATH = "evalsvc/telemetry/migrations/0099_new.py"
HEAD = "from django.db import migrations, models\n\n\nclass Migration(migrations.Migration):\n    operations = [\n"
REFUSED = {
    'migrations.RemoveField("span", "name")': "RemoveField takes away",
    'migrations.RenameField("span", "name", "title")': "RenameField takes away",
    'migrations.DeleteModel("Span")': "DeleteModel takes away",
    'migrations.AddField("span", "n", models.IntegerField(default=0))': "neither null nor has a db_default",
    'migrations.AddField(model_name="span", name="n", field=models.IntegerField())': "neither null nor",
    'migrations.AddIndex("span", models.Index(fields=["name"], name="i"))': "stops all writes to a big table",
    'migrations.AddConstraint("span", models.UniqueConstraint(fields=["name"], name="u"))': "stops all writes",
    'migrations.RunSQL("ALTER TABLE telemetry_span DROP COLUMN name")': "takes away what the version before names",
    'migrations.RunSQL("alter table t rename column a to b")': "takes away what the version before names",
    'migrations.RunSQL("ALTER TABLE t ALTER a SET NOT NULL")': "reads the whole table",
    'migrations.RunSQL("CREATE UNIQUE INDEX i ON t (a)")': "stops all writes",
}
TAKEN = (
    'migrations.AddField("span", "n", models.IntegerField(null=True))',
    'migrations.AddField("span", "n", models.IntegerField(db_default=0))',
    'migrations.AddField("span", "n", models.ManyToManyField("x"))',
    'AddIndexConcurrently("span", models.Index(fields=["name"], name="i"))',
    'migrations.AddIndex("small", models.Index(fields=["name"], name="i"))',
    'migrations.RunSQL("CREATE INDEX CONCURRENTLY i ON t (a)")',
    'migrations.CreateModel(name="Span", fields=[]), migrations.AddIndex("span", models.Index(fields=["a"], name="i"))',
    'migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("span", "name")])',
)


def migration(operation: str) -> str:
    return f"{HEAD}        {operation},\n    ]\n"


@pytest.mark.parametrize(("operation", "why"), REFUSED.items())
def test_what_old_code_cannot_live_with_is_refused_with_its_line(operation: str, why: str) -> None:
    (problem,) = problems_of(PATH, migration(operation))

    assert problem.startswith(f"{PATH}:6: ")
    assert why in problem
    assert problems_of(PATH, "# contract step: nothing names it since 1.4\n" + migration(operation)) == []
    assert problems_of(PATH, "# contract step:\n" + migration(operation))


@pytest.mark.parametrize("operation", TAKEN)
def test_what_only_adds_is_taken(operation: str) -> None:
    assert problems_of(PATH, migration(operation)) == []


def test_every_app_is_known_and_the_new_ones_are_found() -> None:
    apps = {path.parts[-2] for path in CHECKOUT.glob("evalsvc/*/migrations")}
    assert BEFORE_THE_RULE.keys() <= apps
    assert all(int(path.rpartition("/")[2][:4]) > 0 for path in new_migrations())
    assert [problem for path, text in new_migrations().items() for problem in problems_of(path, text)] == []
