"""Verdicts and histories through the client."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client import AuthenticationError, Client, ForbiddenError, InvalidError, NotFoundError
from evalsvc.client.results.history import HistoryPoint
from evalsvc.client.results.verdicts import Interval
from tests.conftest import Caller

pytestmark = pytest.mark.usefixtures("worker")


def test_it_judges_a_sample(client: Client) -> None:
    result = client.evaluate(["pii", "exact-match"], output="Write to jo@example.com", gold="Write to me")

    assert [row.evaluator for row in result] == ["pii-2026-11-28", "exact-match-2026-11-28"]
    assert [one.passed for one in result] == [False, False]
    assert result[0].positions == ((9, 23),)
    assert not result.passed


def test_it_passes_when_all_pass(client: Client) -> None:
    result = client.evaluate(["pii", "exact-match"], output="Paris", gold="Paris")

    assert result.passed
    assert len(result) == 2


def test_an_error_is_no_pass(client: Client) -> None:
    result = client.evaluate(["pii", "nonsense"], output="Paris")

    assert not result.passed
    assert (result[1].status, result[1].error_code, result[1].score) == ("validation_error", "unknown_evaluator", None)


def test_it_names_profiles_after_a_slash(client: Client) -> None:
    (verdict,) = client.evaluate(["metrics/patronus:compute-rouge"], output="a b", gold="a b")

    assert verdict.profile == "patronus:compute-rouge"
    assert verdict.score == 1.0


def test_one_evaluator_needs_no_list(client: Client) -> None:
    for one in ("exact-match", {"evaluator": "exact-match"}):
        (verdict,) = client.evaluate(one, output="Rome", gold="Rome")
        assert verdict.passed
    assert list(client.eval(str, ["a"], ["a"], evaluators="exact-match", progress=False).metrics) == ["exact-match"]
    assert client.score_batch([{"output": "a", "expected": "a"}], "exact-match").metrics["exact-match"].value == 1.0


def test_it_takes_entries_of_the_wire(client: Client) -> None:
    wanted = {"evaluator": "exact-match", "criteria": "patronus:exact-match", "explain_strategy": "never"}
    (verdict,) = client.evaluate([wanted], output="a", gold="a")

    assert verdict.explanation is None


def test_the_interval_is_of_the_scores_before(client: Client) -> None:
    for answer in ("Paris", "Rome", "Paris"):
        client.evaluate(["exact-match"], output=answer, gold="Paris", capture="all")

    (verdict,) = client.evaluate(["exact-match"], output="Paris", gold="Paris", strategy="clopper-pearson")

    assert verdict.interval is not None
    assert verdict.interval.n == 3
    assert verdict.interval.lower < 2 / 3 < verdict.interval.upper  # type: ignore[operator]


def test_an_interval_without_scores_says_why(client: Client) -> None:
    (verdict,) = client.evaluate(["exact-match"], output="a", gold="a", strategy="full-history")

    assert verdict.interval is not None
    assert verdict.interval.lower is None
    assert "2 captured scores" in (verdict.interval.reason or "")


def test_it_waits_for_workers(client: Client) -> None:
    (verdict,) = client.evaluate(["exact-match"], output="x" * 30_000, gold="x" * 30_000)

    assert (verdict.status, verdict.passed) == ("success", True)


def test_it_fetches_what_was_queued(client: Client) -> None:
    result = client.evaluate(["exact-match"], output="a", gold="a", capture="all", app="shop")

    assert result.request_id is not None
    assert client.evaluation(result.request_id)[0].score == 1.0


def test_it_reads_the_history(client: Client) -> None:
    for answer in ("a", "b", "a", "a"):
        client.evaluate(["exact-match"], output=answer, gold="a", capture="all")

    history = client.history("exact-match", strategy="clopper-pearson", level=0.9, limit=3)

    assert (history.n, history.mean) == (4, 0.75)
    assert [point.score for point in history.points] == [1.0, 1.0, 0.0]
    assert history.interval is not None
    assert history.interval.level == 0.9
    rest = client.history("exact-match", cursor=history.next_cursor)
    assert [point.score for point in rest.points] == [1.0]


def test_it_reads_a_weighted_history() -> None:
    body: Any = {"strategy": "auto", "alpha": 0.95, "lower": 0.8, "median": 0.9, "upper": 0.95, "n": 100, "of": "pass"}
    weighted = Interval.read(body | {"rows": {"n": 100, "weighted": True, "n_eff": 54.8}})
    point: Any = {"id": "1", "created_at": "", "score": 1.0, "pass": True, "evaluation_id": "1", "probability": 0.1}

    assert "n = 100, weighted, worth 55 of equal weight" in str(weighted)
    assert HistoryPoint.read(point).probability == 0.1


def test_a_stranger_sees_none_of_it(client: Client, stranger: Client) -> None:
    result = client.evaluate(["exact-match"], output="a", gold="a", capture="all")

    assert stranger.history("exact-match").n == 0
    with pytest.raises(NotFoundError) as caught:
        stranger.evaluation(str(result.request_id))
    assert (caught.value.status, caught.value.code) == (404, "not_found")


def test_problems_are_typed(client: Client) -> None:
    with pytest.raises(InvalidError) as caught:
        client.evaluate([], output="a")

    error = caught.value
    assert (error.status, error.code) == (422, "validation_failed")
    assert error.remedy
    assert error.request_id
    assert [one.pointer for one in error.errors] == ["/evaluators"]
    assert "/evaluators" in str(error)
    assert error.remedy in str(error)


def test_a_read_key_cannot_write(web: str, bob: Caller) -> None:
    with Client(web, bob.key) as reader, pytest.raises(ForbiddenError) as caught:
        reader.evaluate(["exact-match"], output="a", gold="a")

    assert caught.value.code == "read_only_key"


def test_a_wrong_key_is_said(web: str) -> None:
    with Client(web, "ek_wrong.key") as nobody, pytest.raises(AuthenticationError):
        nobody.whoami()


def test_it_knows_whose_key_it_is(client: Client, alice: Caller) -> None:
    assert client.whoami()["api_key"]["account"]["id"] == str(alice.account.pk)


def test_intervals_say_what_they_are_of(client: Client) -> None:
    for answer, app in (("a", "shop"), ("b", "shop"), ("a", "desk")):
        client.evaluate(["exact-match"], output=answer, gold="a", app=app)
    asked = {"level": 0.9, "scope": {"app": "shop"}, "since": {"scores": 10}, "of": "pass"}

    (verdict,) = client.evaluate(["exact-match"], output="a", gold="a", interval=asked)
    history = client.history("exact-match", interval=asked)

    for interval in (verdict.interval, history.interval):
        assert interval is not None
        assert (interval.n, interval.level, interval.of, interval.scope) == (2, 0.9, "pass", {"app": "shop"})
        assert interval.since == {"scores": 10} and interval.include_experiments == "none"
        assert interval.sources["evaluation"] == {"n": 2, "rate": 0.5}
    assert history.n == 2
    assert client.history("exact-match", interval={"scope": "account"}).n == 3
    with pytest.raises(InvalidError):
        client.history("exact-match", interval={"scope": {"apps": "shop"}})


def test_printing_shows_the_interval_and_the_advice(client: Client) -> None:
    for _ in range(5):
        client.evaluate(["exact-match"], output="a", gold="a", capture="all")

    result = client.evaluate(["exact-match"], output="a", gold="a", strategy="full-history")

    assert result[0].interval is not None and result[0].interval.advice is not None
    assert "pass rate 1 [1, 1]" in str(result)
    assert "clopper-pearson [0.48, 1.00]" in str(result)
    assert "clopper-pearson [0.48, 1.00]" in str(client.history("exact-match", strategy="full-history"))


def test_a_notebook_shows_the_interval_and_what_it_covers(client: Client) -> None:
    for i in range(4):
        client.evaluate(["exact-match"], output="a", gold="ab"[i % 2], capture="all", app="shop")
    client.score_batch([{"input": "q", "output": "<b>", "expected": "<b>"}], ["exact-match"], promote=True)

    within = client.evaluate(["exact-match"], output="a", gold="a", interval={"scope": {"app": "shop"}})
    assert "pass rate 0.50 [0.00, 1.00] at 0.95, n = 4 of app shop" in str(within)
    assert "<td>history of app shop</td>" in within._repr_html_()
    promoted = {"strategy": "full-history", "include_experiments": "promoted"}
    whole = client.evaluate(["exact-match", "nonsense"], output="a", gold="a", interval=promoted)
    assert "n = 5: 4 evaluations, 1 of experiments" in str(whole)
    drawn = whole._repr_html_()
    assert "<td>history of the account: 4 evaluations, 1 of experiments</td>" in drawn
    assert "<td>unknown_evaluator</td>" in drawn
    assert "<th>experiment</th>" not in drawn


def test_printing_shows_both_intervals_of_a_running_experiment(client: Client) -> None:
    for gold in "aab":
        client.evaluate(["exact-match"], output="a", gold=gold, capture="all")
    run = client.experiment(
        "two <prompts>", {"first": lambda text: text, "second": lambda text: "b"}, ["a", "b"], ["a", "b"],
        evaluators=["exact-match"], policy="manual", progress=False,
    )  # fmt: skip
    result = client.evaluate(
        ["exact-match"], output="a", gold="a", strategy="full-history", experiment_id=run.id, config="second"
    )

    (verdict,) = result
    assert verdict.interval is not None and verdict.interval.n == 3
    (line,) = verdict.experiment_lines
    assert line.startswith("second: exact-match 0.50 [") and "new data (this set 0.5 exactly) (2 scored of 2)" in line
    for shown in (str(verdict), str(result)):
        assert "history: pass rate 0.67" in shown
        assert f"experiment 'two <prompts>', done: {line}" in shown
    drawn = result._repr_html_()
    assert ">experiment</th>" in drawn and line in drawn and "<prompts>" not in drawn


def test_what_the_service_ignored_is_kept_and_shown(client: Client) -> None:
    result = client.evaluate(["exact-match"], output="a", gold="a", evaluated_model_outptu="b")

    (warning,) = result.warnings
    assert (warning["pointer"], warning["did_you_mean"][0]) == ("/evaluated_model_outptu", "evaluated_model_output")
    for shown in (repr(result), result._repr_html_()):
        assert "was ignored. Did you mean evaluated_model_output" in shown
    assert client.evaluate(["exact-match"], output="a", gold="a").warnings == ()


def test_a_verdict_keeps_the_score_that_ranks(client: Client) -> None:
    context = ["The Eiffel Tower stands in Paris and was completed in 1889."]
    (verdict,) = client.evaluate(["hallucination"], input="When?", output="It was completed in 1889.", contexts=context)

    assert verdict.score is not None and 0 < verdict.score <= 1
    assert verdict.threshold is not None
    assert verdict.passed == (verdict.score >= verdict.threshold)
