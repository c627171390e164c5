"""What the account has, noun by noun, and where each of it is in the console."""

from __future__ import annotations

import urllib.request

import pytest

from tests.annotations.shapes import new_criteria
from tests.caller import Caller
from tests.cli.inside import invoke, told
from tests.factories import make_dataset
from tests.gates.shapes import answers, finished, history_gate
from tests.reviews.draws import answer_items, drawn, judged, send_scores


@pytest.mark.parametrize("noun", ["experiments", "datasets", "evaluators", "profiles", "gates"])
def test_a_list_has_the_address_of_each(shell: dict[str, str], alice: Caller, noun: str) -> None:
    finished(alice, 10, answers(set()))
    history_gate(alice)

    shown = invoke(noun, "--limit", "3", env=shell)
    found = told(invoke(noun, "--limit", "3", "--json", env=shell))[noun]

    assert shown.exit_code == 0, shown.output
    assert 1 <= len(found) <= 3
    for body, line in zip(found, shown.stdout.splitlines(), strict=True):
        assert body["console_url"].startswith(f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/{noun}/")
        assert line.endswith(body["console_url"])


def test_all_reads_page_after_page(shell: dict[str, str], alice: Caller) -> None:
    for number in range(23):
        make_dataset(alice, n=1, seed=number)

    some = told(invoke("datasets", "--json", env=shell))["datasets"]
    every = told(invoke("datasets", "--all", "--json", env=shell))["datasets"]

    assert (len(some), len(every) >= 23) == (20, True)


def test_a_stranger_sees_none_of_it(shell: dict[str, str], alice: Caller, charlie: Caller) -> None:
    finished(alice, 10, answers(set()))

    done = invoke("experiments", env=shell | {"EVALSVC_API_KEY": charlie.key})

    assert (done.exit_code, done.stdout) == (0, "No experiments match.\n")


def test_a_history_has_its_interval_and_its_newest_scores(shell: dict[str, str], alice: Caller) -> None:
    sample = {"output": "Rome", "label": "Rome", "app": "listed", "evaluators": [{"evaluator": "exact-match"}]}
    for _ in range(3):
        alice.post("/v1/evaluate", sample)

    done = invoke(
        "history", "exact-match", "--strategy", "clopper-pearson", "--app", "listed", "--limit", "2", env=shell
    )

    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "exact-match-2026-11-28 (patronus:exact-match): pass rate 100 % [29, 100] at 95 %, n = 3"
    )
    assert [line.endswith("1, pass") for line in lines[1:3]] == [True, True]
    assert lines[3].startswith(f"{shell['EVALSVC_URL']}/console/{alice.account.pk}/histories/one?evaluator=exact-match")


@pytest.mark.parametrize("kind", ["experiment", "evaluator", "profile"])
def test_open_names_a_page_that_is_there(shell: dict[str, str], alice: Caller, kind: str) -> None:
    made = finished(alice, 10, answers(set()))
    name = {"experiment": made["name"], "evaluator": "exact-match", "profile": "patronus:exact-match"}[kind]

    url = told(invoke("open", kind, name, "--json", env=shell))["url"]

    # It leads to the sign-in.
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("kind", ["experiment", "dataset", "evaluator", "profile", "ranking", "review"])
def test_what_is_not_there_is_refused(shell: dict[str, str], kind: str) -> None:
    done = invoke("open", kind, "nothing of this name", env=shell)

    assert (done.exit_code, "nothing of this name" in done.output) == (2, True)


def test_a_history_shows_what_people_would_say(shell: dict[str, str], alice: Caller) -> None:
    send_scores(alice, judged(60))
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 30), criteria, ["pass"] * 30)

    shown = invoke("history", "external:judge", "--truth", criteria["name"], "--limit", "1", env=shell)
    found = told(invoke("history", "external:judge", "--truth", criteria["id"], "--json", env=shell))["history"]

    assert shown.exit_code == 0, shown.output
    assert "people: 1.000 [" in shown.stdout.splitlines()[1]
    assert (found["truth"]["n"], found["truth"]["naive"]) == (30, 0.8)


def test_a_history_with_what_people_would_say_by_app(shell: dict[str, str], alice: Caller) -> None:
    send_scores(alice, judged(40))
    send_scores(alice, judged(10), app="blog")
    criteria = new_criteria(alice)
    answer_items(alice, drawn(alice, criteria, 50), criteria, ["pass"] * 50)

    done = invoke("history", "external:judge", "--truth", criteria["name"], "--truth-by", "app", env=shell)

    assert done.exit_code == 0, done.output
    assert "people: 1.000 [" in done.stdout and "  shop: 1.000 [" in done.stdout
    assert "  blog: no interval yet, 10 labels of 10 scores, 10 more needed" in done.stdout

    done = invoke("history", "external:judge", "--truth", criteria["name"], "--truth-by", "evaluator", env=shell)
    assert "  evaluators on 50 labels that all have decided:\n  external:judge: agrees 0.80 [" in done.stdout
