"""What watchers of a board share: unchanged polls are answered from memory, to whoever may see them, and never go back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from evalsvc.console.pages.experiments.live import shared
from tests.admin.conftest import join
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.experiments.conftest import EXACT, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner, add, post_next
from tests.queries import queries_of


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    shared.forget_all()
    monkeypatch.setattr(shared, "FRESH_SECONDS", 60.0)


def running(caller: Caller, **plan: Any) -> Any:
    return make_experiment(caller, make_dataset(caller, n=20), list(TWO), **plan)


def poll(visitor: Visitor, made: Any, tag: str = "", **query: str) -> Any:
    return visitor.client.get(visitor.at(f"experiments/{made['id']}/live"), query, HTTP_IF_NONE_MATCH=tag)


def statements(visitor: Visitor, made: Any, tag: str) -> tuple[int, list[str]]:
    with CaptureQueriesContext(connections["default"]) as queries, CaptureQueriesContext(connections["signin"]) as who:
        status = poll(visitor, made, tag).status_code
    return status, [query["sql"] for query in [*who, *queries]]


def test_unchanged_and_drawn_polls_ask_who_it_is_and_nothing_else(reader: Visitor, alice: Caller) -> None:
    made = running(alice)
    tag = poll(reader, made)["ETag"]

    for sent, expected in ((tag, 304), ("", 200), ('"another.1"', 200)):
        status, asked = statements(reader, made, sent)
        assert (status, len(asked)) == (expected, 1)
        assert not any("experiments_" in one for one in asked)


def test_a_changed_poll_of_a_lone_watcher_reads_each_kind_of_row_once(reader: Visitor, alice: Caller) -> None:
    """Who it is, the account, the tag, the plan, its configs, their sums, endings, looks and decisions; pairs by their
    sums, those with the leader as a whole, and the evidence."""
    made = running(alice)
    for i in range(2):
        post_next(Runner(alice, made, i), lambda e: e["expected"])
    poll(reader, made)
    shared.forget_all()

    asked = queries_of(lambda: poll(reader, made, '"another.1"'))
    assert len(asked) == 12, asked
    assert (
        sum("FROM experiments_experimentplan" in one or 'FROM "experiments_experimentplan"' in one for one in asked)
        == 2
    )


def test_an_unchanged_answer_is_short(reader: Visitor, alice: Caller) -> None:
    made = running(alice)
    answer = poll(reader, made, poll(reader, made)["ETag"])

    assert (answer.status_code, answer.content) == (304, b"")
    assert sum(len(name) + len(value) + 4 for name, value in answer.items()) <= 1000


ACTS = ("stop", "resume", "answer", "clone", "delete", "add a metric", "finish", "fail", "retry")


def do(caller: Caller, made: Any, what: str) -> None:
    at, first = f"/v1/experiments/{made['id']}", ids(made)[0]
    runner = Runner(caller, made)
    if what in ("stop", "resume"):
        ok(caller.post(f"{at}/configs/{first}/{what}"))
    elif what == "answer":
        post_next(runner, lambda e: e["expected"])
    elif what == "clone":
        add(caller, made, "third")
    elif what == "delete":
        ok(caller.post(f"{at}/configs/delete", {"config_ids": [ids(made)[1]]}))
    elif what == "add a metric":
        ok(caller.post(f"{at}/metrics", {"metrics": [{"name": "price", "source": "cost"}]}))
    elif what == "fail":
        made["failing"] = add(caller, made, "failing")
        unit = made["failing"].lease()["unit"]
        runner.post(unit, [{"pos": e["pos"], "error": {"type": "bug"}} for e in unit["examples"]])
    elif what == "retry":
        ok(caller.post(f"{at}/retry", {"what": "outputs"}))
        post_next(made["failing"], lambda e: e["expected"])
    else:
        runner.run()


def test_whatever_is_done_is_seen_by_the_next_read(
    reader: Visitor, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "FRESH_SECONDS", 0.0)
    made = running(alice)
    tag = poll(reader, made)["ETag"]
    for what in ACTS:
        assert poll(reader, made, tag).status_code == 304, what
        do(alice, made, what)
        answer = poll(reader, made, tag)
        assert answer.status_code == 200, what
        tag = answer["ETag"]


def test_who_has_acted_is_not_shown_what_others_have_read_before(editor: Visitor, alice: Caller) -> None:
    made = running(alice)
    poll(editor, made)
    path = editor.at(f"experiments/{made['id']}")
    page = editor.client.post(f"{path}/act", {"stop": ids(made)[0]}, follow=True).content.decode()
    tag = page.split("If-None-Match&quot;:&quot;\\&quot;")[1].split("\\")[0]

    assert poll(editor, made, f'"{tag}"').status_code == 304
    assert b"by a person" in poll(editor, made).content


def test_a_process_that_has_read_before_reads_again_for_who_has_seen_more(reader: Visitor, alice: Caller) -> None:
    """Another process has answered with a newer board; this one's memory is older and fresh still."""
    made = running(alice)
    old = poll(reader, made)["ETag"]
    known = {name: dict(cache._entries.items()) for name, cache in (("tags", shared._tags), ("html", shared._drawn))}
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{ids(made)[0]}/stop"))
    shared._tags.clear()
    new = poll(reader, made)["ETag"]
    shared._tags._entries.update(known["tags"])
    shared._drawn._entries.update(known["html"])
    assert poll(reader, made, old).status_code == 304

    assert poll(reader, made, new).status_code == 304
    assert b"by a person" in poll(reader, made, old).content


def test_an_ended_session_and_a_removed_member_are_refused_at_the_next_poll(
    reader: Visitor, editor: Visitor, alice: Caller
) -> None:
    from evalsvc.accounts.models import Member

    made = running(alice)
    tag = poll(reader, made)["ETag"]
    Member.objects.using("system").filter(user=reader.user).delete()
    assert poll(reader, made, tag)["Location"].startswith("/console/accounts?next=")
    assert poll(editor, made, tag).status_code == 304

    editor.client.session.flush()
    assert poll(editor, made, tag)["Location"].startswith("/console/sign-in?next=")


def test_what_one_account_has_drawn_no_other_is_shown(reader: Visitor, stranger: Visitor, alice: Caller) -> None:
    made = running(alice)
    tag = poll(reader, made)["ETag"]

    for sent in (tag, ""):
        answer = poll(stranger, made, sent)
        assert answer.status_code == 404 and b"new prompt" not in answer.content


def test_who_looks_at_another_account_now_is_not_shown_the_former(
    reader: Visitor, alice: Caller, charlie: Caller
) -> None:
    made = running(alice)
    tag = poll(reader, made)["ETag"]
    join(reader.user, charlie.account, "reader")
    reader.post("accounts", account=charlie.account.pk)

    assert poll(reader, made, tag).status_code == 404


def test_a_reader_is_not_shown_the_buttons_that_were_drawn_for_an_editor(
    reader: Visitor, editor: Visitor, alice: Caller
) -> None:
    made = running(alice)

    assert b"Stop new prompt" in poll(editor, made).content
    assert b"Stop new prompt" not in poll(reader, made).content


def test_nothing_of_one_watchers_address_is_in_what_others_are_shown(
    reader: Visitor, editor: Visitor, alice: Caller
) -> None:
    metrics = [EXACT, {"name": "ms", "source": "latency_ms", "higher_is_better": False}]
    made = answered(alice, {"e1"}, metrics=metrics)
    runs = poll(reader, made, sort="name", by="secret")

    assert b"secret" not in runs.content and b"live?sort=name" in runs.content
    assert b"live?metric=ms" in poll(reader, made, metric="ms").content


@pytest.mark.parametrize("sent", ["x", '"x.1"', '"."', f'"a.{9 * 10**30}"', '"a.é"', "*", 'W/"a.1"'])
def test_a_tag_that_is_none_brings_the_board(reader: Visitor, alice: Caller, sent: str) -> None:
    assert b'id="live"' in poll(reader, running(alice), sent).content
