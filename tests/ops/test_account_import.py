"""`manage.py import_account`: what is refused, before anything is written; what is at rest; what a kill leaves."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsvc.accounts.models import Account
from tests import services
from tests.comparisons.shapes import answered, compare, work_off
from tests.conftest import Caller, new_caller, wait_until
from tests.experiments.shapes import lease, new_push_experiment, post_outputs
from tests.factories import ok
from tests.growth.databases import Database, migrated_database
from tests.ops.backups import call
from tests.ops.moving import export, import_into, key_in, lines_of, resealed, valkey_apart
from tests.serving import serving

pytestmark = pytest.mark.slow

TRY_EACH = """
import json, sys
from django.core.management import CommandError, call_command
for path in {paths!r}:
    try:
        call_command("import_account", path)
        print(json.dumps("done"))
    except CommandError as exc:
        print(json.dumps(str(exc)))
"""
Change = Callable[[list[bytes]], None]


@dataclass
class Source:
    """A small account, its file, and another server."""

    caller: Caller
    file: bytes
    database: Database
    home: Path

    def written(self, file: bytes, name: str = "account.ndjson") -> Path:
        path = self.home / name
        path.write_bytes(file)
        return path

    def tried(self, files: list[bytes]) -> list[str]:
        """What the command says of each file, one after the other."""
        paths = [str(self.written(file, f"{n}.ndjson")) for n, file in enumerate(files)]
        said = self.database.run("shell", "-v", "0", "-c", TRY_EACH.format(paths=paths))
        return [json.loads(line) for line in said.splitlines() if line.startswith('"')]

    def n_rows(self) -> int:
        with self.database.connect("owner") as owner:
            tables = ("accounts_account", "projects_project", "accounts_auditentry", "evaluations_evaluation")
            row = owner.execute(
                f"SELECT {' + '.join(f'(SELECT count(*) FROM {one})' for one in tables)}".encode()
            ).fetchone()
        return int(row[0]) if row else 0


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    caller = new_caller(name="leaving")
    for n in range(3):
        ok(caller.evaluate("exact-match", output=f"answer {n}", label="answer 1", capture="all", project_name="p"))
    made = new_push_experiment(caller)
    good, bad = (config["id"] for config in made["configs"])
    post_outputs(caller, made["id"], lease(caller, made["id"], good))
    lease(caller, made["id"], bad)
    # Its outputs wait for a worker that scores them.
    waiting = new_push_experiment(caller, name="waits", metrics=[{"name": "clean", "evaluator": "toxicity"}])
    for config in waiting["configs"]:
        post_outputs(caller, waiting["id"], lease(caller, waiting["id"], config["id"]))
    with migrated_database(services.servers.postgres.url) as database:
        database.urls["REDIS_URL"] = valkey_apart()
        yield Source(caller, export(caller), database, tmp_path_factory.mktemp("import"))


def of_manifest(change: Callable[[dict[str, Any]], object]) -> Change:
    def changed(lines: list[bytes]) -> None:
        manifest = json.loads(lines[0])
        change(manifest)
        lines[0] = json.dumps(manifest).encode() + b"\n"

    return changed


def replaced(old: bytes, new: bytes) -> Change:
    def changed(lines: list[bytes]) -> None:
        found = [n for n, line in enumerate(lines) if n and old in line]
        assert found
        lines[found[-1]] = lines[found[-1]].replace(old, new, 1)

    return changed


def two_in_one(lines: list[bytes]) -> None:
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"table":"projects_project"'))
    row = json.loads(lines[at])["row"] | {"id": "22222222-2222-4222-8222-222222222222", "name": "another"}
    lines[at] = lines[at][:-2] + b"," + json.dumps(row).encode() + b"}\n"


def without_account(lines: list[bytes]) -> None:
    lines[:] = [line for line in lines if b'"table":"accounts_account"' not in line]
    of_manifest(lambda manifest: manifest["tables"].update(accounts_account=0))(lines)


def test_what_is_cut_or_altered_is_refused_and_nothing_is_written(source: Source) -> None:
    file = source.file
    middle = len(file) // 2
    end = file.rindex(b'{"end":')
    foreign = replaced(b'"project_id":"', b'"project_id":"00000000-0000-4000-8000-00000000000')
    cases = [
        (b"", "is cut or altered, line 1: it is no JSON"),
        (b"{}\n", "is no export of an account"),
        (file[:middle], "is cut"),
        (file[:end], "is cut: it has no end"),
        (file.replace(b"answer 2", b"answer 3", 1), "the SHA-256 of the lines is another one"),
        (file + b"{}\n", "something stands behind the end"),
        (file[: file.index(b"\n", middle) + 1] + file[end:], "the rows are not as many as it says"),
        (resealed(file, replaced(b'"position":', b'"no_such_column":1,"position":"x')), "does not fit"),
        (resealed(file, two_in_one), "hold more than a row"),
        (resealed(file, without_account), "does not fit"),
        (resealed(file, foreign), "does not fit"),
        (resealed(file, of_manifest(lambda one: one.update(version=2))), "upgrade this server first"),
        (resealed(file, of_manifest(lambda one: one["columns"]["projects_app"].append("x"))), "is of a later schema"),
        (resealed(file, of_manifest(lambda one: one["tables"].update(x_new=0))), "is of a later schema"),
        (resealed(file, of_manifest(lambda one: one["migrations"].update(rest="0999_x"))), "lacks rest.0999_x"),
        (resealed(file, of_manifest(lambda one: one["account"].update(id="x; DROP"))), "the account has no id"),
    ]

    said = source.tried([file for file, _ in cases])

    assert len(said) == len(cases)
    for sentence, (_, expected) in zip(said, cases, strict=True):
        assert expected in sentence
    assert source.n_rows() == 0


def test_rows_that_point_to_another_account_are_refused(source: Source) -> None:
    """Who writes a file may know the ids of others on the server that it goes to."""
    with source.database.connect("owner") as owner:
        row = owner.execute("INSERT INTO accounts_account (name) VALUES ('other') RETURNING id").fetchone()
        assert row is not None
        stranger = "11111111-1111-4111-8111-111111111111"
        owner.execute(
            "INSERT INTO projects_project (id, account_id, name) VALUES (%s, %s, 'theirs')", [stranger, row[0]]
        )

    def swapped(lines: list[bytes]) -> None:
        at = next(n for n, line in enumerate(lines) if line.startswith(b'{"table":"projects_experiment"'))
        own = json.loads(lines[at])["row"]["project_id"]
        lines[at] = lines[at].replace(own.encode(), stranger.encode())

    (said,) = source.tried([resealed(source.file, swapped)])

    with source.database.connect("owner") as owner:
        owner.execute("DELETE FROM projects_project WHERE account_id = %s", [row[0]])
        owner.execute("DELETE FROM accounts_account WHERE id = %s", [row[0]])
    assert "point by project_id to what is not the account's" in said
    assert source.n_rows() == 0


def test_on_the_same_server_it_is_refused(source: Source) -> None:
    path = source.written(source.file)
    with pytest.raises(CommandError, match="is on this server already, as 'leaving"):
        call_command("import_account", str(path), "--name", "another name", stdout=io.StringIO())
    assert not Account.objects.using("system").filter(name="another name").exists()


def test_a_killed_import_leaves_nothing_and_the_next_one_works(source: Source, tmp_path: Path) -> None:
    path = source.written(source.file)
    with source.database.connect("owner") as owner, owner.transaction():
        # It waits in the middle: another transaction holds the table that it comes to.
        owner.execute("LOCK TABLE experiments_output IN EXCLUSIVE MODE")
        process = source.database.command("import_account", str(path))
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'experiments_output'::regclass"
        wait_until(lambda: owner.execute(waiting).fetchone() != (0,) or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert source.n_rows() == 0

    status, said = import_into(source.database, path, "--name", "Arrived")
    assert status == 0, said
    assert "4 configs of experiments ran, and are stopped" in said
    with serving(tmp_path / "web.log", **source.database.urls) as url:
        _goes_on(url, key_in(said))
    assert "WRONG" not in source.database.run("verify")
    source.database.run("delete_account", "Arrived", "--yes", "--grace", "0")
    assert source.n_rows() == 0


def _goes_on(url: str, key: str) -> None:
    """Its running experiments came stopped, and are resumed: what was leased, or waited, is leased again, and no more."""
    assert json.loads(call(url, key, "/v1/whoami")[1])["caller"]["api_key"]["account"]["name"] == "Arrived"
    for experiment in json.loads(call(url, key, "/v1/experiments")[1])["experiments"]:
        where = f"/v1/experiments/{experiment['id']}"
        shown = json.loads(call(url, key, where)[1])["experiment"]
        is_waiting = experiment["name"] == "waits"
        assert shown["plan"]["state"] == "idle"
        assert {(config["state"], config["stop_reason"]) for config in shown["configs"]} == {("stopped", "user")}
        n_asked = [_worked_off(url, key, where, config["id"]) for config in shown["configs"]]
        # The good one had answered ten of thirty, which have their scores.
        assert n_asked == ([30, 30] if is_waiting else [20, 30])
        shown = json.loads(call(url, key, where)[1])["experiment"]
        assert {config["state"] for config in shown["configs"]} == {"running" if is_waiting else "completed"}


def _worked_off(url: str, key: str, where: str, config_id: str) -> int:
    """Resume a config and answer all that it asks; return how much that was."""
    assert call(url, key, f"{where}/configs/{config_id}/resume", {})[0] == 200
    n = 0
    while unit := json.loads(call(url, key, f"{where}/configs/{config_id}/lease", {})[1])["unit"]:
        rows = [{"pos": one["pos"], "output": "x"} for one in unit["examples"]]
        body = {"token": unit["token"], "outputs": rows}
        status, said = call(url, key, f"{where}/units/{unit['id']}/outputs", body)
        assert status == 200, said
        n += len(rows)
    return n


def test_a_name_that_is_taken_is_refused(source: Source) -> None:
    name = lines_of(source.file)[0]["account"]["name"]
    with source.database.connect("owner") as owner:
        owner.execute("INSERT INTO accounts_account (name) VALUES (%s)", [name])
    (said,) = source.tried([source.file])
    with source.database.connect("owner") as owner:
        owner.execute("DELETE FROM accounts_account WHERE name = %s", [name])
    assert "exists here already: say --name" in said


def test_a_ranking_that_its_judgements_do_not_give_is_told(source: Source) -> None:
    caller = new_caller(name="ranked")
    work_off(caller, compare(caller, answered(caller, n=4, right={"good": 3, "bad": 1})))
    path = source.written(resealed(export(caller), replaced(b'"winner":"tie"', b'"winner":"second"')), "ranked.ndjson")

    status, said = import_into(source.database, path)

    assert status != 0 and "the ranking differs from the judgements" in said
    assert "EVALSVC_API_KEY" not in said
    source.database.run("delete_account", caller.account.name, "--yes", "--grace", "0")
    assert source.n_rows() == 0
