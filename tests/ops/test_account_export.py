"""GET /v1/account/export: whose it is, what is in it, of which moment, and how much memory it takes."""

from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.db import Error, connections, models, transaction

from benchmarks.growth_rows import fill
from evalsvc.accounts.models import AuditEntry
from evalsvc.infra.locks import EXPORT
from evalsvc.ops.account_tables import HOT, LAST, OF_EXPERIMENTS, TABLES
from evalsvc.ops.moving import export as exporting
from evalsvc.ops.moving.export import AccountExport
from evalsvc.ops.moving.tables import (
    COLUMNS_STAY,
    FILLED,
    INSTEAD,
    MEMBERS,
    ROWS,
    STAYS,
    account_models,
    get_moving_tables,
)
from tests.conftest import Caller, new_caller, wait_until
from tests.experiments.shapes import lease, new_push_experiment, post_outputs
from tests.factories import ok
from tests.ops.moving import export, lines_of, new_rich_account, rows_of
from tests.rest.shapes import assert_problem
from tests.serving import serving
from tests.work.keeping import pending

ADDRESS = "/v1/account/export"
MARK = "alices-own-words"


def evaluate(caller: Caller, text: str = MARK) -> Any:
    return ok(caller.evaluate("exact-match", output=text, label=text, log_id=text, capture="all"))


def in_thread(work: Any) -> Any:
    """Do something beside the stream that this thread reads."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(work).result()


def whole(caller: Caller) -> bytes:
    """The lines of an export; the test client would close the connection of a thread before they are read."""
    try:
        return b"".join(AccountExport(caller.account))
    finally:
        connections.close_all()


def test_every_table_of_accounts_goes_along_or_is_named_with_a_reason() -> None:
    known = {*HOT, *(table.name for table in (*OF_EXPERIMENTS, *TABLES, *LAST))}
    taken = {table.name for table in get_moving_tables()} | {MEMBERS}

    assert taken | STAYS.keys() == known
    assert taken & STAYS.keys() == set()
    assert all(len(reason) > 5 for reason in STAYS.values())


def test_every_column_goes_along_or_is_named_with_a_reason() -> None:
    columns = {table.name: {*table.columns} for table in get_moving_tables()}
    for model in account_models():
        table, stay = model._meta.db_table, COLUMNS_STAY.get(model._meta.db_table, {})
        if table in columns:
            counted = {field.column for field in model._meta.concrete_fields if isinstance(field, models.AutoField)}
            assert columns[table] | stay.keys() | counted == {field.column for field in model._meta.concrete_fields}
            assert columns[table] & stay.keys() == set(), table
    named = {**COLUMNS_STAY, **INSTEAD, **FILLED, **ROWS}
    assert named.keys() <= columns.keys()
    assert all(len(reason) > 5 for reasons in COLUMNS_STAY.values() for reason in reasons.values())


def test_no_column_that_may_hold_a_secret_goes_along() -> None:
    """A binary column of a table that goes along is a digest, a file of its rows, or named in COLUMNS_STAY."""
    columns = {table.name: {*table.columns} for table in get_moving_tables()}
    binary = {
        (model._meta.db_table, field.column)
        for model in account_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.BinaryField) and field.column in columns.get(model._meta.db_table, ())
    }
    digests = {("datasets_example", "digest"), ("telemetry_logrecord", "digest")}
    assert binary == {*digests, ("openai_evals_evalfile", "content")}
    words = ("secret", "hash", "password", "token")
    found = {(name, one) for name in columns for one in columns[name] if any(word in one for word in words)}
    assert {column for _, column in found} == {
        *(
            "content_hash",
            "sample_hash",
            "parameters_hash",
            "n_input_tokens",
            "n_output_tokens",
            "input_tokens",
            "output_tokens",
            "max_output_tokens",
        ),
        # Of outputs that go along themselves.
        *("first_hash", "second_hash"),
        # Null in the file: the lease of a unit ends here.
        "token",
    }


def test_nothing_points_to_rows_that_are_numbered_anew() -> None:
    counted = {model for model in account_models() if isinstance(model._meta.pk, models.AutoField)}
    related = {
        field.related_model
        for model in account_models()
        for field in model._meta.concrete_fields
        if field.column not in COLUMNS_STAY.get(model._meta.db_table, {})
    }
    assert counted & related == set()


def test_readers_and_unknown_parameters_are_refused(alice: Caller, bob: Caller) -> None:
    assert_problem(bob.get(ADDRESS), "read_only_key")
    assert_problem(alice.get(f"{ADDRESS}?since=2026"), "validation_failed", "/since")
    assert_problem(Caller(None, "").get(ADDRESS), "unauthenticated")
    assert not AuditEntry.objects.using("system").filter(account=alice.account, action="account.exported").exists()


def test_a_stranger_gets_nothing_of_it(alice: Caller, charlie: Caller) -> None:
    evaluate(alice)

    assert MARK.encode() in export(alice)
    file = export(charlie)
    assert MARK.encode() not in file
    assert str(alice.account.pk).encode() not in file
    assert [row["name"] for row in rows_of(file, "accounts_account")] == [charlie.account.name]


def test_it_is_a_manifest_rows_and_an_end(alice: Caller) -> None:
    evaluate(alice)

    manifest, *rows, end = lines_of(export(alice))

    assert (manifest["format"], manifest["version"], manifest["account"]["name"]) == (
        *("evalsvc-account", 1),
        alice.account.name,
    )
    assert end["end"]["tables"] == manifest["tables"]
    assert sum(manifest["tables"].values()) == len(rows)
    assert manifest["tables"]["evaluations_evaluation"] == 1


def test_who_took_it_along_is_written_down(alice: Caller) -> None:
    file = export(alice)

    entry = AuditEntry.objects.using("system").get(account=alice.account, action="account.exported")
    assert entry.actor.startswith("key:")
    assert "account.exported" in [row["action"] for row in rows_of(file, "accounts_auditentry")]


def test_it_is_gzipped_for_who_takes_that(alice: Caller) -> None:
    evaluate(alice)

    answer = alice.get(ADDRESS, Accept_Encoding="gzip")

    assert (answer["Content-Encoding"], answer["Vary"].count("Accept-Encoding")) == ("gzip", 1)
    assert rows_of(gzip.decompress(answer.getvalue()), "evaluations_evaluation")[0]["log_id"] == MARK


def test_it_is_of_one_moment(alice: Caller) -> None:
    evaluate(alice)
    answer = alice.get(ADDRESS)
    parts = iter(answer.streaming_content)
    first = next(parts)

    in_thread(lambda: evaluate(alice, "too late"))
    in_thread(lambda: ok(alice.post("/v1/projects", {"name": "too late"})))

    file = first + b"".join(parts)
    answer.close()
    assert b"too late" not in file
    assert lines_of(file)[-1]["end"]["tables"] == json.loads(first)["tables"]
    assert b"too late" in export(alice)


def test_one_export_of_an_account_runs_at_a_time(alice: Caller, charlie: Caller) -> None:
    running = AccountExport(alice.account)
    try:
        answer = in_thread(lambda: alice.get(ADDRESS))
        assert_problem(answer, "export_running")
        assert answer["Retry-After"] == "30"
        assert in_thread(lambda: whole(charlie))
    finally:
        running.close()
    assert export(alice)


def test_few_exports_run_at_a_time(alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_AT_ONCE", 1)
    running = AccountExport(alice.account)
    try:
        assert_problem(in_thread(lambda: charlie.get(ADDRESS)), "export_running")
    finally:
        running.close()


def test_a_reader_that_goes_away_frees_the_place(alice: Caller) -> None:
    answer = alice.get(ADDRESS)
    next(iter(answer.streaming_content))
    answer.close()

    assert not connections["default"].in_atomic_block
    assert export(alice)


def test_what_is_under_way_is_left_out(alice: Caller) -> None:
    evaluate(alice)
    request = pending(alice)

    manifest = lines_of(export(alice))[0]

    assert manifest["tables"]["evaluations_evaluation"] == manifest["tables"]["evaluations_evaluationrequest"] == 1
    assert manifest["needs"]["left_out_requests"] == [str(request)]


def test_a_running_experiment_comes_to_rest(alice: Caller) -> None:
    made = new_push_experiment(alice)
    good, bad = (config["id"] for config in made["configs"])
    post_outputs(alice, made["id"], lease(alice, made["id"], good))
    lease(alice, made["id"], bad)

    file = export(alice)

    assert {row["state"] for row in rows_of(file, "experiments_experimentplan")} == {"idle"}
    assert {(row["state"], row["stop_reason"]) for row in rows_of(file, "experiments_config")} == {("stopped", "user")}
    units = {row["config_id"]: row for row in rows_of(file, "experiments_workunit")}
    assert (units[int(good)]["state"], units[int(bad)]["state"]) == ("done", "open")
    assert {row["token"] for row in units.values()} == {None}
    assert sorted(lines_of(file)[0]["needs"]["paused_configs"]) == sorted([good, bad])


def test_secrets_stay() -> None:
    rich = new_rich_account()

    file = export(rich.caller).decode()

    assert [secret for secret in rich.secrets if secret in file] == []
    assert len(rich.secrets) >= 8


@pytest.fixture(scope="module")
def large() -> Caller:
    """Somebody with twenty thousand evaluations of 4 kB each."""
    caller = new_caller(name="large")
    connection = connections["owner"]
    connection.ensure_connection()
    fill(connection.connection, [caller.account.pk] * 5, 20_000, days=400)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE evaluations_evaluationrequest SET output = repeat(md5(id::text), 128) WHERE account_id = %s",
            [caller.account.pk],
        )
    return caller


def test_memory_stays_flat(large: Caller) -> None:
    """Ninety megabytes go through, and a few are in memory at a time."""
    tracemalloc.start()
    try:
        n_bytes = sum(len(part) for part in AccountExport(large.account))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_bytes > 80_000_000
    assert peak < 8_000_000, peak


def test_a_reader_that_stalls_loses_its_place(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "STALLED_SECONDS", 1)

    begun = threading.Event()

    def stall() -> str:
        lines = AccountExport(alice.account)
        begun.set()
        try:
            time.sleep(2.5)
            list(lines)
        except Error as exc:
            return str(exc)
        finally:
            lines.close()
            connections.close_all()
        return "it went on"

    with ThreadPoolExecutor(1) as beside:
        stalled = beside.submit(stall)
        # Not by asking for the lock again and again: whoever asks holds it for a moment.
        assert begun.wait(60)
        assert is_busy(alice)
        assert "idle-in-transaction" in stalled.result()
    assert not is_busy(alice)


def is_busy(caller: Caller) -> bool:
    """Say whether an export of the account runs."""
    with transaction.atomic(using="system"), connections["system"].cursor() as cursor:
        return not EXPORT.try_take(cursor, caller.account.pk)


def test_a_connection_that_breaks_frees_the_place(large: Caller, tmp_path: Path) -> None:
    with serving(tmp_path / "web.log") as url:
        request = Request(url + ADDRESS, headers={"X-API-KEY": large.key})
        with urlopen(request, timeout=60) as answer:
            assert answer.read(100_000)
            assert is_busy(large)
        wait_until(lambda: not is_busy(large), seconds=30)
    assert "Traceback" not in (tmp_path / "web.log").read_text()
