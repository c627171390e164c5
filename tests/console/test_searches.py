"""Saved searches: one click opens one; what is somebody's own nobody else sees, and what is shared everybody."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlencode

from evalsvc.accounts.models import AuditEntry, Member
from evalsvc.accounts.services import remove_member
from evalsvc.evaluations.models import SavedSearch
from evalsvc.tenancy.scope import account_scope
from tests.admin.conftest import member
from tests.conftest import Caller
from tests.console.conftest import Visitor, visitor
from tests.console.evaluations import HOSTILE, is_harmless
from tests.factories import ok

NOWHERE = "5a3b0c7e-90b2-4c55-8a21-6f1f3f1f0c11"
FAILED = {"period": "7d", "result": "fail"}


def save(who: Visitor, name: str, shared: bool = False, **query: str) -> int:
    """Save by the form of the list; return the search's id."""
    fields = {"shared": "on"} if shared else {}
    answer = who.post("evaluations/searches", name=name, query=urlencode(query or FAILED), **fields)
    id = ids_on(who)[name]
    assert (answer.status_code, answer["Location"]) == (302, address(who, id, query or FAILED))
    return id


def address(who: Visitor, id: int, query: dict[str, str]) -> str:
    return who.at(f"evaluations?{urlencode(query | {'saved': id})}")


def offered(who: Visitor, id: int, **changed: str) -> bool:
    """Whether the list, opened by a search and left with other filters, offers to keep them in it."""
    return f'action="{who.at()}evaluations/searches/{id}"' in who.text("evaluations", **changed, saved=str(id))


def ids_on(who: Visitor) -> dict[str, int]:
    page = who.text("evaluations/searches")
    return {name: int(id) for id, name in re.findall(r'searches/(\d+)">.*?New name of (\S+) <input', page, re.S)}


def chips_on(who: Visitor, **query: str) -> list[str]:
    return re.findall(
        r'<a class="button" href="[^"]+"(?: aria-current="page")?><bdi>([^<]*)</bdi>', who.text("evaluations", **query)
    )


def audited(caller: Caller) -> list[str]:
    with account_scope(caller.account.pk):
        rows = AuditEntry.objects.filter(action__startswith="saved_search.").order_by("id")
        return [f"{row.actor} {row.action.partition('.')[2]} {row.target}" for row in rows]


def test_one_click_opens_what_was_saved(reader: Visitor) -> None:
    form = reader.text("evaluations", **FAILED)
    assert 'value="period=7d&amp;result=fail"' in form
    id = save(reader, "failures")
    page = reader.text("evaluations", **FAILED)

    assert f'href="{escape(address(reader, id, FAILED))}" aria-current="page"><bdi>failures</bdi>' in page
    assert "Save this search" not in page
    assert "Save this search" not in reader.text("evaluations")


def test_what_is_ones_own_nobody_else_sees(reader: Visitor, admin: Visitor, alice: Caller) -> None:
    id = save(reader, "mine")

    assert chips_on(admin) == []
    assert "mine" not in admin.text("evaluations/searches")
    assert admin.post(f"evaluations/searches/{id}/delete", confirm="mine").status_code == 404
    assert ok(alice.get("/v1/saved-searches"))["saved_searches"] == []
    # The same name again is no clash: what somebody else has is not known here.
    save(admin, "mine")


def test_what_is_shared_everybody_sees(editor: Visitor, reader: Visitor, alice: Caller) -> None:
    id = save(editor, "failures")
    editor.post(f"evaluations/searches/{id}/share")

    assert chips_on(reader) == ["failures"]
    assert ok(alice.get("/v1/saved-searches"))["saved_searches"][0]["query"] == FAILED
    assert audited(alice) == [f"user:{editor.user.pk} {verb} failures" for verb in ("created", "shared")]


def test_a_reader_keeps_own_ones_and_changes_no_shared(reader: Visitor, editor: Visitor) -> None:
    mine, shared = save(reader, "mine"), save(editor, "ours", shared=True)

    assert reader.post("evaluations/searches", name="x", query="app=x", shared="on").status_code == 403
    assert reader.post(f"evaluations/searches/{mine}/share").status_code == 403
    assert reader.post(f"evaluations/searches/{shared}", name="x").status_code == 403
    assert reader.post(f"evaluations/searches/{shared}/delete", confirm="ours").status_code == 403
    assert reader.post(f"evaluations/searches/{mine}", name="my-own").status_code == 302
    assert chips_on(reader) == ["my-own", "ours"]
    assert reader.post(f"evaluations/searches/{mine}/delete").status_code == 302
    assert chips_on(reader) == ["ours"]


def test_a_shared_one_goes_by_its_name(editor: Visitor) -> None:
    id = save(editor, "ours", shared=True)

    for act in ("delete", "unshare"):
        assert editor.post(f"evaluations/searches/{id}/{act}", confirm="theirs").status_code == 302
        assert "the text does not match ours" in editor.text("evaluations/searches")
    assert chips_on(editor) == ["ours"]
    assert editor.post(f"evaluations/searches/{id}/delete", confirm="ours").status_code == 302
    assert chips_on(editor) == []


def test_changed_filters_are_kept_in_the_search_that_was_opened(reader: Visitor, alice: Caller) -> None:
    id, day = save(reader, "failures"), {"period": "24h", "result": "fail"}
    assert offered(reader, id, **day) and not offered(reader, id, **FAILED)
    answers = [reader.post(f"evaluations/searches/{id}", query=urlencode(day), _once="a word") for _ in range(2)]

    assert [answer["Location"] for answer in answers] == [address(reader, id, day)] * 2
    assert not offered(reader, id, **day)
    assert audited(alice) == [f"user:{reader.user.pk} {verb} failures" for verb in ("created", "changed")]
    refused = reader.post(f"evaluations/searches/{id}", query="period=9d")
    assert refused.status_code == 422 and "One of: 1h" in refused.content.decode()


def test_a_shared_one_is_updated_by_editors_only(editor: Visitor, admin: Visitor, reader: Visitor) -> None:
    id = save(editor, "ours", shared=True)

    assert offered(admin, id, app="shop") and not offered(reader, id, app="shop")
    assert reader.post(f"evaluations/searches/{id}", query="app=shop").status_code == 403
    assert admin.post(f"evaluations/searches/{id}", query="app=shop").status_code == 302
    assert f'<a href="{reader.at()}evaluations?app=shop&amp;saved=' in reader.text("evaluations/searches")


def test_who_saved_it_makes_it_their_own_again(editor: Visitor, admin: Visitor, alice: Caller) -> None:
    id = save(editor, "ours", shared=True)
    path = f"evaluations/searches/{id}/unshare"
    assert "your own again" in editor.text("evaluations/searches")
    assert "your own again" not in admin.text("evaluations/searches")

    assert admin.post(path, confirm="ours").status_code == 403
    assert [editor.post(path, confirm="ours").status_code for _ in range(2)] == [302, 302]
    assert (chips_on(editor), chips_on(admin)) == (["ours"], [])
    assert admin.post(path, confirm="ours").status_code == 404
    assert audited(alice) == [f"user:{editor.user.pk} {verb} ours" for verb in ("created", "unshared")]


def test_a_name_that_is_ones_own_already_stays_shared(editor: Visitor) -> None:
    id = save(editor, "ours", shared=True)
    editor.post("evaluations/searches", name="ours", query="app=x")
    answer = editor.post(f"evaluations/searches/{id}/unshare", confirm="ours")

    assert answer.status_code == 422
    assert "There is a saved search named &#x27;ours&#x27; already." in answer.content.decode()


def test_own_ones_go_with_the_member_and_shared_stay(admin: Visitor, alice: Caller) -> None:
    leaver = visitor(member(alice.account, "editor"))
    save(leaver, "mine")
    save(leaver, "ours", shared=True)
    with account_scope(alice.account.pk):
        row = Member.objects.get(account=alice.account, user=leaver.user)
        remove_member(account=alice.account, member=row, actor="test")
        assert list(SavedSearch.objects.values_list("name", flat=True)) == ["ours"]

    assert chips_on(admin) == ["ours"]


def test_a_form_sent_twice_saves_once_and_another_of_the_name_is_refused(reader: Visitor) -> None:
    form = {"name": "mine", "query": "app=shop", "_once": "a word of this form"}
    first, second = (reader.post("evaluations/searches", **form) for _ in range(2))
    assert first["Location"] == second["Location"] == address(reader, ids_on(reader)["mine"], {"app": "shop"})
    answer = reader.post("evaluations/searches", name="mine", query="app=other")

    assert answer.status_code == 422
    assert "There is a saved search named &#x27;mine&#x27; already." in answer.content.decode()
    assert 'value="app=other"' in answer.content.decode()


def test_what_is_not_there_any_more_is_said(reader: Visitor) -> None:
    save(reader, "old", project=NOWHERE, evaluator="gone-1")
    page = reader.text("evaluations", evaluator="gone-1", project=NOWHERE)

    assert "The catalogue has no evaluator <bdi>gone-1</bdi>, or not any more." in page
    assert "There is no project <bdi>5a3b0c7e" in page
    assert f'value="{NOWHERE}" selected' in page


def test_what_an_earlier_release_saved_is_shown_with_a_sentence(reader: Visitor, alice: Caller) -> None:
    id = save(reader, "old")
    with account_scope(alice.account.pk):
        SavedSearch.objects.filter(pk=id).update(query={"colour": "red"})

    said = "This release has no filter called colour."
    assert said in reader.text("evaluations", colour="red")
    assert said in reader.text("evaluations/searches")


def test_names_and_filters_of_strangers_stay_texts(reader: Visitor, editor: Visitor) -> None:
    name = HOSTILE.replace("\u202e", "").replace("\u200b", "")[:100]
    for who in (editor, reader):
        who.post("evaluations/searches", name=name, query=urlencode({"app": HOSTILE}))

    assert "<script>alert" not in reader.text("evaluations", app=HOSTILE)
    assert is_harmless(reader.text("evaluations/searches"))
    assert reader.post("evaluations/searches", name="a", query="app=%00").status_code == 422


def test_an_operator_has_only_shared_ones(operator: Visitor, alice: Caller) -> None:
    operator.post("accounts", account=alice.account.pk)
    answer = operator.post("evaluations/searches", name="mine", query="app=x")

    assert answer.status_code == 422
    assert "Only members can have private searches" in answer.content.decode()
    save(operator, "ours", shared=True)


def test_a_stranger_finds_none(stranger: Visitor, editor: Visitor) -> None:
    id = save(editor, "ours", shared=True)

    assert "ours" not in stranger.text("evaluations/searches")
    for act in ("", "/share", "/unshare", "/delete"):
        assert stranger.post(f"evaluations/searches/{id}{act}", name="x", confirm="ours").status_code == 404
    assert not offered(stranger, id, app="shop")


def test_both_pages_ask_the_database_few_questions(editor: Visitor) -> None:
    for i in range(20):
        save(editor, f"n{i}", shared=i % 2 == 0, app=f"a{i}")

    assert editor.n_queries("evaluations", app="shop", project=NOWHERE) <= 15
    assert editor.n_queries("evaluations/searches") <= 15
    # What is open is among the chips, however many there are.
    assert len(chips_on(editor, app="a0")) == 12
    assert "n0" in chips_on(editor, app="a0")
