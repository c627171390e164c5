"""What a reader concludes from a page: no number, word or call of it leads to a wrong decision."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from msgspec import structs

from evalsvc.console.charts.bars import histogram
from evalsvc.console.charts.scales import Axis, fit_axis
from evalsvc.console.pages.evaluators.catalogue import count_samples
from evalsvc.console.pages.experiments.outputs import answer_remedy
from evalsvc.console.pages.experiments.words import decision_words
from evalsvc.console.pages.gates.commands import ci_run_command
from evalsvc.console.pages.reviews.words import figure_number
from evalsvc.console.parts.marks import find_marks
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.words import number
from evalsvc.gates.models import Gate
from evalsvc.gates.selectors import load_evidence
from evalsvc.reports.words import number_text
from evalsvc.stats.agreement.bootstrap import NO_VARIATION, AgreementFigure
from evaluators.cards.card import Interval, SetAccuracy, VerdictFigures
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.console.conftest import Visitor
from tests.evaluations.deleting import evaluate, keep
from tests.evaluations.histories import insert
from tests.factories import make_dataset, make_experiment, make_profile, new_experiment, ok
from tests.gates.shapes import ask, work_off

EXACT = {"evaluator": "exact-match", "profile": ""}
STOP: dict[str, Any] = {"watermark": 40, "evidence": {}}
SLOW = {"name": "ms", "source": "latency_ms", "higher_is_better": False, "value_range": [0, 100000]}


def row_of(text: str, app: str) -> str:
    return next(one for one in text.split("<tr") if f'data-title="App">{app}' in one)


def called(text: str) -> str:
    """The address that the page's curl asks."""
    return html.unescape(re.findall(r"http://testserver(/v1/[^\s'\"<]*)", html.unescape(text))[0])


def _answers(unit: Any) -> list[dict[str, Any]]:
    return [{"pos": one["pos"], "output": "x"} for one in unit["examples"]]


def _failed(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, or at every other place a failure."""
    gone = {"pos": answer["pos"], "error": {"type": "timeout", "message": "late"}}
    return gone if answer["pos"] % 2 else {**answer, "output": "x"}


def timed(caller: Caller) -> Any:
    """Two configs of which the second is faster by half a minute."""
    made = make_experiment(caller, make_dataset(caller, n=20), list(TWO), metrics=[SLOW])
    for i, ms in enumerate((44630.5, 12345.6)):
        work_off(caller, made, i, lambda unit, ms=ms: [answer | {"latency_ms": ms} for answer in _answers(unit)])
    return made


# --- Figures -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.99995, "0.99995"), (0.98, "0.98"), (1.0, "1"), (44633.7, "44\u202f634"), (0.00012, "0.00012"), (-0.0, "0")],
)
def test_nothing_is_rounded_to_what_it_is_not(value: float, text: str) -> None:
    """All but one of twenty thousand are not all, and a latency has no power of ten."""
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.99995, "+0.99995"), (0.00012, "+0.00012"), (25316.54, "+25317"), (1e-17, "+0.000"), (1e304, "+1e+304")],
)
def test_differences_keep_their_sign_and_small_costs_their_digits(value: float, text: str) -> None:
    assert number(value, signed=True) == text


def test_equal_scores_are_one_bar_and_no_axis_of_rounding() -> None:
    assert histogram("Scores", [0.7] * 9).count("<rect") == 1
    ticks = fit_axis(Axis("mean"), [0.7, 0.7000000000000001]).ticks()
    assert len({text for _, text in ticks}) == len(ticks) > 1


# --- Histories ---------------------------------------------------------------------------------------------------------
def test_few_scores_are_led_to_a_strategy_that_answers(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 0.0, 1.0])
    keep(alice, 3, app="shop")

    for query, words in (
        ({**EXACT}, "the interval is valid"),
        ({**EXACT, "strategy": "full-history"}, "Prefer wilson or clopper-pearson."),
        ({**EXACT, "strategy": "full-history", "of": "score"}, "Prefer betting."),
        ({**EXACT, "strategy": "wilson"}, "the interval is valid"),
        ({"evaluator": "external:mine", "profile": "", "strategy": "full-history"}, "No strategy does better"),
    ):
        assert words in reader.text("histories/one", **query)


def test_the_interval_that_stands_for_equal_scores_is_not_called_too_narrow(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0] * 4)
    assert "[0.40, 1.00]" in reader.text("histories/one", **EXACT)
    text = reader.text("histories/one", **EXACT, strategy="full-history")
    assert "[0.40, 1.00]" in text and "the interval is valid" in text
    assert "expect less coverage" not in text
    assert "for new data, by clopper-pearson." in text and "by full-history." not in text


def test_scores_that_resemble_their_neighbours_are_led_to_what_minds_it(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0] * 20 + [0.0] * 20)
    assert "full-history-block minds the order from 50 scores on" in reader.text("histories/one", **EXACT)

    insert(alice, [1.0] * 20)
    assert "minds the order." in reader.text("histories/one", **EXACT)
    assert "too narrow" not in reader.text("histories/one", **EXACT, strategy="full-history-block")


def test_a_part_without_an_interval_says_why(alice: Caller, reader: Visitor) -> None:
    for score in (0.7, 0.7, 0.7):
        row = {"evaluator_id": "flat", "log_id": "l", "score": score, "app": f"{score}"}
        ok(alice.post("/v1/evaluations/batch", {"evaluations": [row | {"created_at": "2026-11-01T00:00:00Z"}]}))
    insert(alice, [0.7] * 60, evaluator_id="external:flat", profile_name="", passed=None)

    assert "all scores are equal, so the interval has no width" in reader.text(
        "histories/one", evaluator="external:flat", profile="", strategy="full-history"
    )
    parts = reader.text("histories/one", evaluator="external:flat", profile="", strategy="full-history").split("Parts")[
        -1
    ]
    assert "all scores are equal, so the interval has no width" in parts


def test_the_list_says_what_each_number_is_of(alice: Caller, reader: Visitor) -> None:
    insert(alice, [1.0, 0.0] * 20)
    keep(alice, 3, app="shop")

    text = reader.text("histories")
    assert "pass rate" in text and "mean score" in text


# --- Home --------------------------------------------------------------------------------------------------------------
def test_the_call_asks_for_the_row_that_stands_first(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, app="shop")
    keep(alice, 5, app="desk")

    assert "scope.app=desk" in called(reader.text()) and "of=pass" not in called(reader.text())
    first = called(reader.text(sort="-rate"))
    assert "scope.app=shop" in first and "of=pass" in first
    assert ok(alice.get(first))["n"] == 1


def test_a_row_without_an_app_says_whose_its_history_is(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, app=None, experiment_id=str(new_experiment(alice).pk))

    assert "history of all apps" in row_of(reader.text(), "<span")


def test_scores_without_a_verdict_are_said_to_be_left_out(alice: Caller, reader: Visitor) -> None:
    rows: list[dict[str, Any]] = [
        {"evaluator_id": "half", "log_id": f"{i}", "score": 0.5, "app": "shop"} for i in range(5)
    ]
    rows[:2] = [row | {"pass": True} for row in rows[:2]]
    ok(alice.post("/v1/evaluations/batch", {"evaluations": rows}))

    told = {"evaluator_id": "half", "log_id": "told", "text_output": "fine", "app": "shop"}
    ok(alice.post("/v1/evaluations/batch", {"evaluations": [told]}))

    row = row_of(reader.text(), "shop")
    assert "told in words" in reader.text("evaluations") and "1 not in a history" in row
    assert "n = 2" in row and "3 without a verdict left out" in row


def test_a_week_without_data_is_no_line(alice: Caller, reader: Visitor) -> None:
    """Two days at either end of the fortnight, and nothing between."""
    now = timezone.now()
    for days in (12, 11, 1, 0):
        row = {"evaluator_id": "weekly", "log_id": f"{days}", "score": 1.0, "pass": True, "app": "shop"}
        ok(
            alice.post(
                "/v1/evaluations/batch", {"evaluations": [row | {"created_at": (now - timedelta(days)).isoformat()}]}
            )
        )

    assert row_of(reader.text(), "shop").count("<polyline") == 2


def test_rates_over_a_revision_say_so(alice: Caller, reader: Visitor) -> None:
    profile = make_profile(alice, "metrics", "bleu-9", metric="bleu", pass_threshold=0.9)
    alice.evaluate("metrics/bleu-9", output="a", label="a", app="shop")
    assert "revised on" not in reader.text()
    config = {"config": {"metric": "bleu", "pass_threshold": 0.1}}
    ok(alice.post(f"/v1/evaluator-criteria/{profile['public_id']}/revision", config))

    assert "verdicts before and after the profile was revised on" in row_of(reader.text(), "shop")


def test_what_has_no_room_is_said(alice: Caller, reader: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reader", "tables"):
        monkeypatch.setattr(f"evalsvc.console.pages.home.{name}.MAX_GATES", 1)
    history = {"history": {"evaluator": "exact-match"}}
    for n in (1, 2):
        ask(alice, history, {"metric": "pass", "at_least": 0.5})
        assert ("More gates today" in reader.text()) is (n > 1)


# --- Experiments -------------------------------------------------------------------------------------------------------
def test_a_stop_for_epsilon_does_not_call_the_other_better() -> None:
    decision = {"created_at": None, "config": "b", "against": "a", "n_in_flight": 0} | STOP

    said = decision_words({**decision, "reason": "epsilon"})["says"]
    assert "as a is better" not in said and "not better than a by the smallest difference that matters" in said
    assert (
        "as a is better on the examples of this dataset" in decision_words({**decision, "reason": "evidence"})["says"]
    )
    assert "person" not in decision_words({**decision, "reason": "resumed"})["says"]


def test_lower_is_better_is_said_wherever_a_difference_is(alice: Caller, reader: Visitor) -> None:
    made = timed(alice)

    text = reader.text(f"experiments/{made['id']}")
    assert "in ms, from the leader; above 0 is better, though lower values are" in text
    assert "<strong>44630</strong>" in text and "e+04" not in text
    a, b = ids(made)
    compared = reader.text("compare", a=a, b=b)
    assert "lower is better, so old prompt minus new prompt: positive where new prompt is better." in compared


def test_the_list_counts_what_failed_beside_the_leader(alice: Caller, reader: Visitor) -> None:
    """Whoever answers half leads with a mean of that half alone."""
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    for i in range(2):
        work_off(alice, made, i, lambda unit, i=i: [_failed(one) if i == 0 else one for one in _answers(unit)])
    runs = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    work_off(alice, runs, 0, _answers, units=1)

    text = reader.text("experiments")
    assert "10 failed" in text and "for new data, one look" in text
    assert "for new data, safe while watched" in text
    assert "new prompt leads; no comparison with another config is available" in reader.text()


def test_differences_name_their_metric_and_whom_they_are_from(alice: Caller, reader: Visitor) -> None:
    """The board may show another metric than the one that configs are compared by."""
    metrics = [{"name": "right", "evaluator": "exact-match"}, SLOW]
    made = make_experiment(alice, make_dataset(alice, n=4), list(TWO), metrics=metrics, baseline="old prompt")

    assert "in right, from old prompt" in reader.text(f"experiments/{made['id']}", metric="ms")
    for i in range(2):
        work_off(alice, made, i, _answers)
    text = reader.text(f"experiments/{made['id']}", metric="ms")
    assert "level at the end by right" in text and "ms: lower is better" in re.sub(r"</?bdi>", "", text)


def test_nobody_leads_where_all_are_stopped_and_it_is_said(alice: Caller, reader: Visitor) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    work_off(alice, made, 0, _answers, units=1)
    assert "no leader: no config" not in reader.text(f"experiments/{made['id']}")
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/stop", {"config_ids": "all"}))

    assert "no leader: no config is running or completed" in reader.text(f"experiments/{made['id']}")
    assert "none: no config is running or completed" in reader.text("experiments")


def test_evidence_of_one_config_is_not_told_as_of_a_pair() -> None:
    halved = {"created_at": None, "config": "b", "against": None, "n_in_flight": 0, "reason": "halving", "watermark": 9}
    said = dict(decision_words(halved | {"evidence": {"n": 9, "difference": -0.2}})["evidence"])

    assert list(said) == ["examples answered", "its mean difference from the others, as a share of the metric's range"]


def test_two_clusters_are_inconclusive_and_not_for_want_of_a_range(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, {f"e{i}" for i in range(10)}, set(), n=20, cluster_by="metadata.topic")
    a, b = ids(made)

    for text in (reader.text(f"experiments/{made['id']}"), reader.text("compare", a=a, b=b)):
        assert "inconclusive" in text and "planned end" in text
        assert "has no declared range;" not in text and "has no declared range." not in text


def test_slices_over_clusters_say_why_they_have_no_interval(alice: Caller, reader: Visitor) -> None:
    made = answered(alice, {f"e{i}" for i in range(10)}, set(), n=20, cluster_by="metadata.topic")
    a, b = ids(made)

    text = reader.text("compare", a=a, b=b, by="metadata.topic")
    assert "examples share clusters, which differences by slice ignore" in text
    assert "hold together" not in text.split("By slice")[1].split("</section>")[0]


def test_a_failure_of_ones_own_program_is_not_blamed_on_a_connection() -> None:
    own = answer_remedy("timeout", is_own=True)

    assert "connection" not in own and "/retry" in own and "connection" in answer_remedy("timeout", is_own=False)


def test_error_rates_of_an_evaluator_count_the_samples_they_are_of() -> None:
    figures = VerdictFigures(
        **dict.fromkeys(("accuracy", "majority", "undecided", "balanced_accuracy", "fpr", "fnr", "auc", "ece"))
    )
    one = SetAccuracy("s", "", "", 430, 180, 1, 430, figures, "", {})
    partly = structs.replace(figures, undecided=Interval(0.1, 0.08, 0.12))

    assert [count_samples(one, key) for key in ("accuracy", "fpr", "fnr")] == [430, 180, 250]
    assert count_samples(structs.replace(one, n_scored=429), "fpr") is None
    undecided = structs.replace(one, figures=partly)
    assert [count_samples(undecided, key) for key in ("undecided", "accuracy", "auc", "fpr")] == [430, 387, 430, None]


def test_what_people_stopped_is_no_decision_of_a_policy(alice: Caller, reader: Visitor) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), list(TWO))
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/stop", {"config_ids": "all"}))

    text = reader.text(f"experiments/{made['id']}")
    assert "Nothing has been stopped" not in text and "No config has been stopped or resumed yet" in text


# --- Evaluations -------------------------------------------------------------------------------------------------------
def test_a_finding_is_marked_once() -> None:
    """The span and the name of one card number are one place."""
    extra = {"entities": [{"start": 4, "end": 23, "type": "CREDIT_CARD"}]}

    assert len(find_marks([[4, 23]], extra, passed=False)) == 1


# --- Gates, reviews ----------------------------------------------------------------------------------------------------
def test_a_gate_in_ci_measures_as_the_plan_did(alice: Caller) -> None:
    made = timed(alice)
    sides = {
        name: {"experiment_id": made["id"], "config": id}
        for name, id in zip(("candidate", "baseline"), ids(made), strict=True)
    }
    gate = Gate.objects.using("system").get(pk=ask(alice, sides, {"metric": "ms", "not_worse_by": 5})["id"])

    command = ci_run_command(load_evidence(gate), ExperimentPlan.objects.using("system").get(pk=made["id"]))
    assert '"value_range": [0.0, 100000.0]' in command and '"higher_is_better": false' in command


def test_a_gate_says_which_part_of_a_history_it_is_about(alice: Caller, reader: Visitor) -> None:
    evaluate(alice, app="shop")
    history = {"history": {"evaluator": "exact-match", "scope": {"app": "shop"}}}
    gate = ask(alice, history, {"metric": "pass", "at_least": 0.5})

    assert "patronus:exact-match, app shop" in reader.text(f"gates/{gate['id']}")


def test_kappa_of_a_person_who_always_says_the_same_has_its_own_reason() -> None:
    assert "all answers are equal" not in figure_number(AgreementFigure(0.0, None, None, 12, 24, NO_VARIATION)).missing
