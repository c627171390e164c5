"""How an endpoint wants to be asked: found out by what it refuses, remembered, and shared inside the account only."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.connections import memory
from evalsvc.judges.failures import CallFailed, ErrorKind
from evalsvc.judges.models import Connection
from evalsvc.judges.questions import dialects
from evalsvc.judges.questions.dialects import Mode, RequestDialect, adapt_dialect
from tests.judges.asking import GOOD, Judge


@pytest.mark.parametrize(
    ("manner", "mode", "calls"), [("object", "json_object", 2), ("tool", "tool", 3), ("words", "plain", 4)]
)
def test_it_steps_down_and_remembers(judge: Judge, manner: str, mode: str, calls: int) -> None:
    first, second = judge.ask(f"stub-judge-pass:{manner}"), judge.ask(f"stub-judge-pass:{manner}")

    assert first.data == second.data == GOOD
    assert (first.provenance["mode"], first.provenance["calls"]) == (mode, calls)
    assert (second.provenance["mode"], second.provenance["calls"]) == (mode, 1)


@pytest.mark.parametrize(("manner", "calls"), [("newlimit", 2), ("nolimit", 3)])
def test_the_limit_s_name_is_found_out(judge: Judge, manner: str, calls: int) -> None:
    first, second = judge.ask(f"stub-judge-pass:{manner}"), judge.ask(f"stub-judge-pass:{manner}")

    assert (first.provenance["calls"], second.provenance["calls"]) == (calls, 1)
    assert first.provenance["mode"] == "json_schema"


def test_a_parameter_that_is_refused_is_left_out(judge: Judge) -> None:
    calls = [judge.ask("stub-judge-pass:notemp", temperature=0).provenance["calls"] for _ in range(2)]

    assert calls == [2, 1]


def test_an_endpoint_that_ignores_the_schema_is_told_in_words(judge: Judge) -> None:
    first = judge.ask("stub-judge-pass:ignores")

    assert first.data == GOOD
    assert (first.provenance["calls"], first.provenance["repaired"]) == (2, True)


def test_what_refuses_everything_is_not_configured(judge: Judge) -> None:
    failed = judge.failing("stub-400")

    assert failed.code == "not_configured"
    assert judge.n_calls() <= len(Mode) + 2


def test_other_processes_learn_it_too(judge: Judge) -> None:
    model = "stub-judge-pass:newlimit"
    first = judge.ask(model)
    dialects._learnt.drop_all(lambda key: True)
    memory.forget_account(judge.caller.account.pk)

    again = judge.ask(model)

    assert (first.provenance["calls"], again.provenance["calls"]) == (2, 1)


def test_what_was_learnt_is_in_the_database(judge: Judge) -> None:
    judge.ask("stub-judge-pass:object", temperature=0)

    kept = Connection.objects.using("system").get(pk=judge.connection["id"]).dialects

    assert kept["stub-judge-pass:object"] == asdict(RequestDialect(Mode.JSON_OBJECT, usage="reported")) | {
        "dropped": []
    }


def test_a_refusal_of_all_modes_is_remembered(judge: Judge) -> None:
    first = judge.failing("stub-400")
    n_calls = judge.n_calls()

    again = judge.failing("stub-400")

    assert (again.code, again.detail) == (first.code, first.detail)
    assert judge.n_calls() == n_calls


def test_other_accounts_do_not(stub: RunningStub) -> None:
    model = "stub-judge-pass:object"
    calls = [Judge(stub).ask(model).provenance["calls"] for _ in range(2)]

    assert calls == [2, 2]


def test_a_change_of_the_connection_forgets_it(judge: Judge) -> None:
    model = "stub-judge-pass:object"
    judge.ask(model)
    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"rpm": 1000})

    assert judge.ask(model).provenance["calls"] == 2


@pytest.mark.parametrize("kind", [None, *(kind for kind in ErrorKind if kind is not ErrorKind.PARAMETER)])
def test_other_errors_change_nothing(kind: ErrorKind | None) -> None:
    failed = CallFailed("not_configured", "max_tokens response_format", kind=kind, status=400)

    assert adapt_dialect(RequestDialect(), failed, {}) is None
