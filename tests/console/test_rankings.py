"""Rankings in the console say what the API says, and a form makes one."""

from __future__ import annotations

from typing import Any

from evalsvc.comparisons.judgements import store
from evalsvc.comparisons.models import OutputComparison
from evalsvc.console.pages.rankings.words import find_indistinguishable_groups, ordinal
from evalsvc.reports.words import interval_text, value_text
from evalsvc.tenancy.scope import account_scope
from tests.comparisons.shapes import answer_all, answered, compare, shown, work_off
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.forms import unchanged
from tests.console.trail import audit_of
from tests.factories import make_connection, ok


def ranked(caller: Caller, n: int = 40, **right: int) -> Any:
    """A ranking of three configs by their scores, judged."""
    made = answered(caller, n=n, right=right or {"good": 36, "fair": 34, "bad": 4})
    comparison = compare(caller, made)
    work_off(caller, comparison)
    return comparison


def test_its_numbers_are_the_api_s(alice: Caller, reader: Visitor) -> None:
    comparison = ranked(alice)
    said = shown(alice, comparison)["ranking"]
    text = reader.text(f"rankings/{comparison['id']}")

    for place in said["places"]:
        assert f'<span class="value">{value_text(place, "strength")}</span>' in text
        assert interval_text(place, "strength") in text
        rate = place["win_rate"]
        assert interval_text(rate) in text
    for pair in said["pairs"]:
        assert f"{100 * pair['win_rate']['value']:.0f} % [" in text
    assert f"{said['n_judgements']} judgements on {said['n_examples']} examples" in text


def test_who_cannot_be_told_apart_stands_in_words(alice: Caller, reader: Visitor) -> None:
    comparison = ranked(alice)
    text = reader.text(f"rankings/{comparison['id']}")

    assert "<bdi>good, fair</bdi> not significantly different" in text
    assert "<bdi>bad</bdi> differs significantly from all others" in text
    assert "between 1st and 2nd" in text and ">3rd<" in text


def test_a_chain_of_neighbours_is_two_groups() -> None:
    """The first is like the second, that like the third; the first and the third differ."""
    places = [{"config": name, "strength": 1.0, "rank_from": 1, "rank_to": 3} for name in "abc"]
    pairs = [("a", "b", "undecided"), ("b", "c", "undecided"), ("a", "c", "better")]
    ranking = {"places": places, "pairs": [{"first": a, "second": b, "said": said} for a, b, said in pairs]}

    assert find_indistinguishable_groups(ranking) == [["a", "b"], ["b", "c"]]
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 22)] == ["1st", "2nd", "3rd", "4th", "11th", "22nd"]


def test_three_examples_prove_nothing(alice: Caller, reader: Visitor) -> None:
    comparison = ranked(alice, 3, good=3, bad=0)

    assert "Too few examples" in reader.text(f"rankings/{comparison['id']}")


def test_a_form_makes_one(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, n=4)
    answer = editor.post("rankings/new", experiment=made["id"], judge="metric", who="accuracy", design="all")
    (comparison,) = ok(alice.get("/v1/comparisons"))["comparisons"]

    assert answer["Location"] == editor.at(f"rankings/{comparison['id']}")
    assert (comparison["judge"]["metric"], comparison["n"]) == ("accuracy", 4)
    text = editor.text(f"rankings/{comparison['id']}")
    assert "No judgements yet" in text and "not connected by any chain" not in text and "like the 0 that" not in text
    assert comparison["name"] in editor.text("rankings")


def test_what_is_wrong_stands_at_its_field(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, n=4)
    for field, wrong in (("who", {"who": "nothing"}), ("baseline", {"who": "accuracy", "design": "baseline"})):
        answer = editor.post("rankings/new", **{"experiment": made["id"], "judge": "metric", **wrong})
        assert answer.status_code == 422 and f'id="e-{field}"' in answer.content.decode()
    assert editor.post("rankings/new", judge="metric", who="accuracy").status_code == 422
    assert ok(alice.get("/v1/comparisons"))["comparisons"] == []


def test_an_llm_is_told_its_model_and_what_is_better(alice: Caller, editor: Visitor) -> None:
    make_connection(alice, "http://127.0.0.1:9", name="house")
    sent = {"experiment": answered(alice, n=4)["id"], "judge": "connection", "who": "house", "model": "large"}
    refused = editor.post("rankings/new", **sent, criteria="Kinder.", tie_width="0.1")
    assert refused.status_code == 422 and 'id="e-tie_width"' in refused.content.decode()
    assert '<option value="house">' in editor.text("rankings/new")

    assert editor.post("rankings/new", **sent, criteria="Kinder.").status_code == 302
    with account_scope(alice.account.pk):
        judge = OutputComparison.objects.get(account=alice.account).judge
    assert (judge["settings"]["model"], judge["settings"]["criteria"]) == ("large", "Kinder.")


def go_on(alice: Caller, editor: Visitor, comparison: Any, **changed: str) -> Any:
    """Send the form that a ranking leads to, as it is shown, and return the new ranking."""
    assert f"rankings/new?previous={comparison['id']}" in editor.text(f"rankings/{comparison['id']}")
    sent = unchanged(editor.text("rankings/new", previous=comparison["id"])) | changed
    answer = editor.post("rankings/new", **sent)
    assert answer.status_code == 302, answer.content.decode()
    return shown(alice, {"id": answer["Location"].rpartition("/")[2]})["comparison"]


def test_one_goes_on_with_a_config_that_has_come_since(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, n=4, right={"good": 3, "bad": 1})
    first = compare(alice, made, {"metric": "accuracy", "tie_width": 1.0}, design="baseline", baseline="bad")
    work_off(alice, first)
    path = f"/v1/experiments/{made['id']}/configs"
    (added,) = ok(alice.post(path, {"configs": [{"name": "late", "kind": "push"}]}))["configs"]
    answer_all(alice, made["id"], added, 0)

    second = go_on(alice, editor, first)

    names = ("n", "n_reused", "n_open", "baseline", "previous_id", "name")
    assert [second[name] for name in names] == [8, 4, 4, "bad", first["id"], first["name"]]
    assert second["judge"] == first["judge"]


def test_what_was_an_error_is_judged_again(alice: Caller, editor: Visitor) -> None:
    make_connection(alice, "http://127.0.0.1:9", name="house")
    judge = {"connection": "house", "criteria": "Kinder.\nAnd shorter.", "model": "large", "allow_tie": False}
    first = compare(alice, answered(alice, n=3), judge)
    with account_scope(alice.account.pk):
        token, rows = store.claim(int(first["id"]), limit=8, seconds=60)
        won = [{"id": row.pk, "winner": "first"} for row in rows[:2]]
        failed = {"id": rows[2].pk, "error_code": "unreachable", "error_message": "Nobody answers."}
        store.record_judgements(int(first["id"]), token, [*won, failed])

    second = go_on(alice, editor, first)

    assert (second["n"], second["n_reused"], second["n_open"], second["n_errors"]) == (3, 2, 1, 0)
    anew = go_on(alice, editor, first, previous_id="")
    assert (anew["n_reused"], anew["n_open"], anew["judge"]["digest"]) == (0, 3, first["judge"]["digest"])


def test_nobody_goes_on_with_another_account_s(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    first = ranked(alice, 4, good=3, bad=1)

    for id in (first["id"], str(10**30)):
        assert stranger.get("rankings/new", previous=id).status_code == 404
    assert reader.get("rankings/new", previous=first["id"]).status_code == 403
    assert "Judge on" not in reader.text(f"rankings/{first['id']}")
    mine = {"experiment": first["experiment_id"], "judge": "metric", "who": "accuracy", "previous_id": first["id"]}
    refused = stranger.post("rankings/new", **mine)
    assert refused.status_code == 422 and first["name"] not in refused.content.decode()


def test_it_is_stopped_and_deleted_by_its_name(alice: Caller, editor: Visitor) -> None:
    comparison = compare(alice, answered(alice, n=4))
    path, name = f"rankings/{comparison['id']}", comparison["name"]
    for act in ("stop", "delete"):
        editor.post(f"{path}/{act}", confirm="another")
        assert "Nothing was done" in editor.text(path) and shown(alice, comparison)["comparison"]["state"] == "running"

    editor.post(f"{path}/stop", confirm=name)
    assert "is stopped. Existing judgements stay" in editor.text(path)
    assert shown(alice, comparison)["comparison"]["state"] == "stopped"
    editor.post(f"{path}/stop", confirm=name)
    assert "has already ended" in editor.text(path) and "Stop the ranking" not in editor.text(path)
    assert editor.post(f"{path}/delete", confirm=name)["Location"] == editor.at("rankings")
    assert alice.get(f"/v1/comparisons/{comparison['id']}").status_code == 404
    assert audit_of(alice.account)[:2] == [
        ("comparison.deleted", f"user:{editor.user.pk}"),
        ("comparison.stopped", f"user:{editor.user.pk}"),
    ]


def test_nobody_else_ends_one(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    comparison = compare(alice, answered(alice, n=4))
    path = f"rankings/{comparison['id']}"
    for act in ("stop", "delete"):
        assert reader.post(f"{path}/{act}", confirm=comparison["name"]).status_code == 403
        assert stranger.post(f"{path}/{act}", confirm=comparison["name"]).status_code == 404
    assert "End it" not in reader.text(path) and shown(alice, comparison)["comparison"]["state"] == "running"


def test_a_stranger_finds_nothing_and_a_reader_makes_nothing(alice: Caller, reader: Visitor, stranger: Visitor) -> None:
    comparison = ranked(alice, 4, good=3, bad=1)

    assert stranger.get(f"rankings/{comparison['id']}").status_code == 404
    assert comparison["name"] not in stranger.text("rankings")
    assert reader.get("rankings/new").status_code == 403
    assert reader.get(f"rankings/{2**70}").status_code == 404
    assert reader.n_queries(f"rankings/{comparison['id']}") <= 15 and reader.n_queries("rankings") <= 6


def test_a_ranking_of_thousands_of_digits_is_none(alice: Caller, editor: Visitor) -> None:
    made = answered(alice, n=4, right={"good": 3, "bad": 1})
    digits = "9" * 5000
    sent = {"experiment": made["id"], "judge": "metric", "who": "accuracy", "previous_id": digits}

    assert editor.post("rankings/new", **sent).status_code == 422
    assert editor.get("rankings/new", previous=digits).status_code == 404
