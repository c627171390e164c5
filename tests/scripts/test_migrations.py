"""The gate of migrations: what the version before cannot live with is refused, unless it is the contract step."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import migrations
from scripts.migrations import BEFORE_THE_RULE, found_problems, new_migrations, problems_of
from scripts.released import ReleasedModels
from tests.conftest import CHECKOUT

Git = Callable[..., str]

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
    'migrations.SeparateDatabaseAndState([migrations.RemoveField("span", "name")], [])': "RemoveField takes away",
    'migrations.RunSQL("CREATE INDEX IF NOT EXISTS i ON t (a)")': "stops all writes",
    'migrations.RunSQL("ALTER TABLE t ALTER COLUMN a TYPE bigint")': "another type rewrites the table",
    'migrations.RunSQL("ALTER TABLE t ALTER a SET DATA TYPE text")': "another type rewrites the table",
    'migrations.RunSQL("ALTER TABLE t ADD COLUMN a int NOT NULL")': "a column that must be named",
    'migrations.RunSQL("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)")': "not NOT VALID",
    'migrations.RunSQL("ALTER TABLE t ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES u")': "not NOT VALID",
    'migrations.RunSQL("LOCK TABLE t")': "stops all who use the table",
    'migrations.RunSQL("TRUNCATE t")': "stops all who use the table",
    'AddIndexConcurrently("span", models.Index(fields=["name"], name="i"))': "AddIndexBeside can",
    'AddIndexBeside("span", models.Index(fields=["name"], name="i"))': "needs `atomic = False`",
    'migrations.RunPython(lambda apps, editor: add_index(editor.connection, "t", "i", "(a)"))': "needs `atomic = False`",
    'migrations.AlterField("span", "name", models.IntegerField())': "a CharField becomes a IntegerField",
    'migrations.AlterField("span", "name", models.CharField(max_length=20))': "max_length becomes 20",
    'migrations.AlterField("span", "parent", models.CharField(max_length=9))': "the version before may write null",
}
EARLIER = """
    migrations.CreateModel("Span", [("name", models.CharField(max_length=10)), ("parent", models.TextField())]),
    migrations.AlterField("span", "name", models.CharField(max_length=30)),
    migrations.AddField("span", "parent", models.CharField(max_length=9, null=True)),
    migrations.AddField("other", "name", models.CharField(max_length=50)),
"""
OUTSIDE = "from django.db import migrations\n\n\nclass Migration(migrations.Migration):\n    atomic = False\n    operations = [\n"
TAKEN = (
    'migrations.AddField("span", "n", models.IntegerField(null=True))',
    'migrations.AddField("span", "n", models.IntegerField(db_default=0))',
    'migrations.AddField("span", "n", models.ManyToManyField("x"))',
    'migrations.AddIndex("small", models.Index(fields=["name"], name="i"))',
    'migrations.RunSQL("CREATE INDEX CONCURRENTLY i ON t (a)")',
    'migrations.RunSQL("CREATE INDEX i ON ONLY t (a)")',
    'migrations.RunSQL("ALTER TABLE t ADD COLUMN a int NOT NULL DEFAULT 0")',
    'migrations.RunSQL("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT c")',
    'migrations.RunSQL("ALTER TABLE t ADD CONSTRAINT c UNIQUE USING INDEX i")',
    'migrations.AlterField("span", "name", models.CharField(max_length=40, help_text="What it does."))',
    'migrations.AlterField("span", "name", models.TextField(null=True))',
    'migrations.AlterField("span", "parent", models.CharField(max_length=9, null=True, db_default="x"))',
    'migrations.AlterField("span", "of_nowhere", models.TextField())',
    'migrations.CreateModel(name="Span", fields=[]), migrations.AddIndex("span", models.Index(fields=["a"], name="i"))',
    'migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("span", "name")])',
    'migrations.SeparateDatabaseAndState([], [migrations.RemoveField("span", "name")])',
)


def migration(operation: str) -> str:
    return f"{HEAD}        {operation},\n    ]\n"


EARLIER_FILE = f"{HEAD}{EARLIER}    ]\n"


@pytest.mark.parametrize(("operation", "why"), REFUSED.items())
def test_what_old_code_cannot_live_with_is_refused_with_its_line(operation: str, why: str) -> None:
    (problem,) = problems_of(PATH, migration(operation), [EARLIER_FILE])

    assert problem.startswith(f"{PATH}:6: ")
    assert why in problem
    assert problems_of(PATH, "# contract step: nothing names it since 1.4\n" + migration(operation)) == []
    assert problems_of(PATH, "# contract step:\n" + migration(operation), [EARLIER_FILE])


@pytest.mark.parametrize("operation", TAKEN)
def test_what_only_adds_is_taken(operation: str) -> None:
    assert problems_of(PATH, migration(operation), [EARLIER_FILE]) == []


def test_indexes_beside_the_traffic_are_taken_outside_a_transaction() -> None:
    for operation in ('AddIndexBeside("span", i)', 'add_index(editor.connection, "t", "i", "(a)")'):
        assert problems_of(PATH, f"{OUTSIDE}        {operation},\n    ]\n") == []


def test_every_app_is_known_and_the_new_ones_are_found() -> None:
    apps = {path.parts[-2] for path in CHECKOUT.glob("evalsvc/*/migrations")}
    assert BEFORE_THE_RULE.keys() <= apps
    assert all(int(path.rpartition("/")[2][:4]) > 0 for path in new_migrations())
    assert [problem for path, text in new_migrations().items() for problem in problems_of(path, text)] == []


# --- What a contract step takes away, and the release before

MODELS = """
class Span(models.Model):
    name: models.CharField = models.CharField(max_length=10)
    account = models.ForeignKey(Account, on_delete=models.CASCADE)
"""
STEP = "# contract step: nothing names it since 1.4\n"
STILL_NAMED = {
    'migrations.RemoveField("span", "name")': "v1.4.0 still has span.name",
    'migrations.RemoveField(model_name="span", name="name")': "v1.4.0 still has span.name",
    'migrations.RenameField("span", "name", "title")': "v1.4.0 still has span.name",
    'migrations.DeleteModel("Span")': "v1.4.0 still has span",
    'migrations.RenameModel("Span", "Stretch")': "v1.4.0 still has span",
    'migrations.RunSQL("ALTER TABLE telemetry_span DROP COLUMN IF EXISTS account_id")': "still has telemetry_span.account_id",
    'migrations.RunSQL("DROP TABLE IF EXISTS telemetry_span")': "v1.4.0 still has telemetry_span",
}
NO_LONGER = (
    'migrations.RemoveField("span", "kind")',
    'migrations.DeleteModel("Trace")',
    'migrations.RunSQL("ALTER TABLE telemetry_span DROP COLUMN kind")',
    'migrations.RunSQL("DROP TABLE telemetry_trace")',
    'migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("span", "name")])',
)


@pytest.fixture
def released(repository: Path, git: Git) -> Path:
    """A repository whose last release has a model, and a commit after it."""
    models = repository / "evalsvc" / "telemetry" / "models.py"
    models.parent.mkdir()
    models.write_text(MODELS)
    git("add", ".")
    git("commit", "--quiet", "--message=Add a model")
    git("tag", "v1.4.0")
    git("commit", "--quiet", "--allow-empty", "--message=Go on")
    return repository


@pytest.mark.parametrize(("operation", "why"), STILL_NAMED.items())
def test_a_contract_step_waits_for_a_release_without_it(released: Path, operation: str, why: str) -> None:
    (problem,) = problems_of(PATH, STEP + migration(operation), released=ReleasedModels.known(released))

    assert problem.startswith(f"{PATH}:7: ")
    assert why in problem


@pytest.mark.parametrize("operation", NO_LONGER)
def test_what_the_release_before_has_no_more_may_go(released: Path, operation: str) -> None:
    assert problems_of(PATH, STEP + migration(operation), released=ReleasedModels.known(released)) == []


def test_a_package_of_models_is_read(released: Path, git: Git) -> None:
    package = released / "evalsvc" / "datasets" / "models"
    package.mkdir(parents=True)
    (package / "versions.py").write_text(MODELS)
    git("add", ".")
    git("commit", "--quiet", "--message=Add a package")
    git("tag", "v1.5.0")
    git("commit", "--quiet", "--allow-empty", "--message=Go on")
    models = ReleasedModels.known(released)

    assert models is not None
    assert (models.tag, models.has_field("datasets", "span", "name")) == ("v1.5.0", True)


def test_a_release_is_compared_with_the_one_before_it(released: Path, git: Git) -> None:
    git("tag", "v1.5.0")
    models = ReleasedModels.known(released)

    assert models is not None
    assert models.tag == "v1.4.0"


def test_without_a_tag_the_step_is_believed_and_the_gate_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ReleasedModels.known(repository) is None
    assert ReleasedModels.known(tmp_path / "nowhere") is None
    monkeypatch.setattr(ReleasedModels, "known", lambda root=repository: None)
    monkeypatch.setattr(
        "scripts.migrations.subprocess.run", lambda command, **_: subprocess.CompletedProcess(command, 0)
    )

    assert migrations.main() == 0
    assert "contract steps were not compared" in capsys.readouterr().out


def test_what_was_released_is_asked_no_more(released: Path, git: Git) -> None:
    """The step was taken in its time; the release that it is in has other models."""
    path = released / PATH
    path.parent.mkdir()
    path.write_text(STEP + migration('migrations.RemoveField("span", "name")'))
    assert [problem.partition(": ")[0] for problem in found_problems(released)] == [f"{PATH}:7"]

    git("add", ".")
    git("commit", "--quiet", "--message=Take it away")
    git("tag", "v1.5.0")
    git("commit", "--quiet", "--allow-empty", "--message=Go on")
    assert found_problems(released) == []
