"""Gates through the API: what is decided, what it rests on, and who may ask."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.experiments.models import ExperimentPlan
from tests.conftest import Caller
from tests.factories import EXACT, make_dataset, make_experiment, ok
from tests.gates.shapes import LATENCY, TWO, against, answers, ask, examples, finished, refused, work_off

NOT_WORSE = {"metric": "accuracy", "not_worse_by": 0.1}
BETTER = {"metric": "accuracy", "better_by": 0.0}
EVEN = set(range(0, 100, 4))


def test_it_passes_fails_and_cannot_tell(alice: Caller) -> None:
    made = finished(alice, 100, answers({1, 2, 3}), answers({2, 3, 5}))
    same = ask(alice, against(made), NOT_WORSE)
    turned = {"candidate": against(made)["candidate"]}
    high = ask(alice, turned, {"metric": "accuracy", "at_least": 0.999})
    best = ask(alice, against(made), BETTER)

    assert (same["outcome"], same["summary"]) == ("pass", "Pass. The rule is shown to hold.")
    (rule,) = same["rules"]
    assert (rule["n_improved"], rule["n_regressed"], rule["n_unchanged"], rule["n"]) == (1, 1, 98, 100)
    assert rule["estimate"] == pytest.approx(0.0)
    assert -0.1 < rule["lower"] < 0 < rule["upper"] < 0.1
    assert (rule["level_of_ends"], rule["interval_level"]) == (pytest.approx(0.95), pytest.approx(0.9))
    assert rule["about_n_more"] == 0
    assert 0 < rule["smallest_effect"] < 0.1
    assert high["outcome"] == "fail"
    assert best["outcome"] == "undecided"
    assert best["rules"][0]["reason"] == "limit_inside"


def test_a_worse_candidate_fails_and_its_regressions_are_listed(alice: Caller) -> None:
    made = finished(alice, 100, answers({3}), answers(EVEN))
    gate = ask(alice, against(made), NOT_WORSE, BETTER)

    assert gate["outcome"] == "fail"
    assert gate["summary"] == "Fail. The opposite is shown of: accuracy not worse by 0.1; accuracy better by 0."
    assert {rule["outcome"] for rule in gate["rules"]} == {"fail"}
    assert len(gate["regressions"]) == 20
    first = gate["regressions"][0]
    assert int(first["example_id"][1:]) in EVEN
    assert (first["baseline"]["passed"], first["candidate"]["passed"], first["drop"]) == (True, False, 1.0)
    assert first["candidate"]["output"] == f"wrong <b>{first['example_id'][1:]}</b>"
    assert first["baseline"]["output"] == f"answer {first['example_id'][1:]}"
    assert first["input"] == f"question {first['example_id'][1:]}"


def test_a_candidate_that_only_fails_is_worse(alice: Caller) -> None:
    made = finished(alice, 60, answers(set()), answers(set(), gone=set(range(60)), error="bug"))
    gate = ask(alice, against(made), NOT_WORSE)

    assert gate["outcome"] == "fail"
    # It is stopped after 20 failures: the others were never asked for.
    assert (gate["rules"][0]["n_missing"], gate["rules"][0]["estimate"]) == (40, -1.0)
    assert gate["regressions"][0]["candidate"] | {"output": None} == {
        "pos": 0, "value": None, "passed": None, "error_code": "failed_output", "output": None, "is_cut": False
    }  # fmt: skip


def test_a_candidate_without_any_answer_neither_passes_nor_is_dropped(alice: Caller) -> None:
    made = finished(alice, 60, answers(set()), answers(set(), gone=set(range(60))))
    gate = ask(alice, against(made), NOT_WORSE, {"metric": "latency_ms", "quantile": 0.5, "at_most": 1e6})

    assert gate["outcome"] == "undecided"
    assert [rule["n_missing"] for rule in gate["rules"]] == [60, 60]
    assert gate["rules"][0]["estimate"] is None
    assert gate["regressions"][0]["candidate"]["error_code"] is not None


def test_three_rows_are_undecided(alice: Caller) -> None:
    made = finished(alice, 3, answers({0, 1, 2}), answers(set()))

    assert ask(alice, against(made), BETTER)["outcome"] == "undecided"
    assert ask(alice, against(made), NOT_WORSE, looks="watched")["outcome"] == "undecided"
    assert ask(alice, against(made), BETTER, covers="this_set")["outcome"] == "pass"


def test_latency_is_read_by_its_quantiles(alice: Caller) -> None:
    made = finished(alice, 100, answers(set(), latency_ms=900), answers(set(), latency_ms=100))
    rules = [{"metric": "latency_ms", "quantile": 0.9, "at_most": limit} for limit in (200, 108.5, 101.5)]
    gate = ask(
        alice,
        against(made),
        *rules,
        {"metric": "latency_ms", "better_by": 500, "value_range": [0, 5000]},
        {"metric": "latency_ms", "at_most": 900, "value_range": [0, 5000]},
    )

    assert [rule["outcome"] for rule in gate["rules"]] == ["pass", "undecided", "fail", "pass", "pass"]
    quantile, difference = gate["rules"][0], gate["rules"][3]
    assert (quantile["estimate"], quantile["method"]) == (108.0, "order-statistics")
    assert quantile["lower"] <= 108 <= quantile["upper"] <= 109
    # Less is better there: the difference is what is saved.
    assert difference["estimate"] == pytest.approx(800)


@pytest.mark.parametrize("looks", ["one", "watched"])
def test_a_mean_without_a_range_is_undecided_and_a_range_decides_it(alice: Caller, looks: str) -> None:
    made = finished(alice, 100, answers(set(), latency_ms=900), answers(set(), latency_ms=100))
    limit, faster = {"metric": "latency_ms", "at_most": 900}, {"metric": "latency_ms", "better_by": 0}
    bounds = {"value_range": [0, 5000]}

    gate = ask(alice, against(made), limit, faster, looks=looks)
    assert [(rule["outcome"], rule["reason"], rule["lower"]) for rule in gate["rules"]] == [
        ("undecided", "no_range", None)
    ] * 2
    assert "`value_range`" in gate["rules"][0]["says"]
    assert "from 100 examples" in gate["rules"][0]["says"]
    gate = ask(alice, against(made), limit | bounds, faster | bounds, looks=looks)
    assert [(rule["outcome"], rule["value_range"]) for rule in gate["rules"]] == [("pass", [0, 5000])] * 2
    whole = ask(alice, against(made), limit, faster, covers="this_set")
    assert [rule["outcome"] for rule in whole["rules"]] == ["pass", "pass"]


@pytest.mark.parametrize(
    ("rule", "field", "word"),
    [
        ({"metric": "accuracy", "at_least": 80}, "at_least", "0 and 1"),
        ({"metric": "accuracy", "at_most": -0.1}, "at_most", "0 and 1"),
        ({"metric": "accuracy", "better_by": 1.5}, "better_by", "at most 1"),
        ({"metric": "accuracy", "not_worse_by": 5}, "not_worse_by", "at most 1"),
        ({"metric": "accuracy", "at_least": 0.8, "value_range": [0, 5]}, "value_range", "0 to 1"),
        ({"metric": "latency_ms", "at_most": 900, "value_range": [0, 500]}, "at_most", "0 and 500"),
        ({"metric": "latency_ms", "at_most": 90, "value_range": [0, 105]}, "value_range", "48 of 60 scores"),
        ({"metric": "latency_ms", "better_by": 0, "value_range": [0, 105]}, "value_range", "48 of 120 scores"),
        ({"metric": "latency_ms", "at_most": 90, "value_range": [5, 0]}, "value_range", "smaller"),
        ({"metric": "latency_ms", "quantile": 0.5, "at_most": 90, "value_range": [0, 5]}, "value_range", "quantile"),
    ],
)
def test_a_rule_out_of_range_is_refused(alice: Caller, rule: Any, field: str, word: str) -> None:
    made = finished(alice, 60, answers(set(), latency_ms=10), answers(set(), latency_ms=104))

    assert word in refused(alice, against(made), rule)[f"/rules/0/{field}"]


def test_rows_tell_the_scored_and_the_missing_examples(alice: Caller) -> None:
    made = finished(alice, 60, answers(set()), answers(set(), {1, 2}))
    (rule,) = ask(alice, against(made), {"metric": "accuracy", "at_least": 0.5})["rules"]

    assert (rule["rows"]["n"], rule["rows"]["n_missing"]) == (58, 2)
    assert "from 58 of 60 examples, 2 missing" in rule["says"]


def test_a_plan_of_an_earlier_release_on_pass_without_a_threshold_is_refused(alice: Caller) -> None:
    made = finished(
        alice, 10, answers(set()), metrics=[{"name": "right", "evaluator": "exact-match", "source": "pass"}]
    )
    plans = ExperimentPlan.objects.using("system").filter(experiment_id=int(made["id"]))
    (metric,) = plans.get().metrics
    plans.update(metrics=[metric | {"runs": "metrics-2026-11-28", "settings": {"metric": "bleu"}}])

    body = {"candidate": {"experiment_id": made["id"]}}
    assert "Set `pass_threshold`" in refused(alice, body, {"metric": "right", "at_least": 0.8})["/rules/0/metric"]


def test_a_pass_rate_without_a_threshold_is_refused(alice: Caller) -> None:
    body = {"history": {"evaluator": "metrics", "criteria": "compute-bleu"}}
    why = refused(alice, body, {"metric": "score", "at_least": 0.1}, {"metric": "pass", "at_least": 0.8})

    assert list(why) == ["/rules/1/metric"]
    assert "Set `pass_threshold`" in why["/rules/1/metric"]


def test_one_look_is_refused_while_answers_come_and_watching_is_not(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(100)), TWO, metrics=[EXACT, LATENCY])
    work_off(alice, made, 0, answers({1}), units=6)
    work_off(alice, made, 1, answers(set(range(100))), units=5)

    assert "still to come" in refused(alice, against(made), NOT_WORSE)["/looks"]
    gate = ask(alice, against(made), NOT_WORSE, looks="watched")
    assert gate["outcome"] == "fail"
    assert (gate["candidate"]["n_pending"], gate["candidate"]["n_asked"]) == (50, 50)
    assert gate["rules"][0]["n"] == 50
    assert ask(alice, against(made), {"metric": "latency_ms", "quantile": 0.5, "at_most": 50.0}, looks="watched")[
        "outcome"
    ] == "fail"  # fmt: skip


def test_what_a_stopped_config_was_never_asked_counts_against_it(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(60)), TWO, metrics=[EXACT])
    work_off(alice, made, 0, answers(set()))
    work_off(alice, made, 1, answers(set()), units=3)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{made['configs'][1]['id']}/stop", {}))
    gate = ask(alice, against(made), NOT_WORSE)

    assert gate["outcome"] == "undecided"
    assert gate["candidate"]["n_never_asked"] == gate["rules"][0]["n_missing"] == 30
    assert gate["warnings"] == ["never_asked"]


def test_two_experiments_pair_by_example_and_content(alice: Caller) -> None:
    old = finished(alice, 100, answers({1}), configs=[TWO[0]])
    new = finished(alice, 0, answers({2}), configs=[TWO[1]], dataset=make_dataset(alice, examples(100, first=5)))
    gate = ask(alice, against(new, old), NOT_WORSE)

    assert gate["outcome"] == "pass"
    assert gate["pairing"]["matched_by"] == "example id and content"
    assert (gate["pairing"]["n_common"], gate["rules"][0]["n"]) == (95, 95)
    assert gate["pairing"]["share"] == pytest.approx(95 / 105)
    assert gate["warnings"] == ["partly_paired"]
    assert "min_share" in refused(alice, against(new, old), NOT_WORSE, min_share=0.95)["/baseline/experiment_id"]


def test_each_candidate_on_a_benchmark_spends_less(alice: Caller) -> None:
    made = finished(alice, 100, answers({1}), answers({2}))
    more = {"benchmark": "golden", "covers": "new_data"}
    first = ask(alice, against(made), NOT_WORSE, **more)
    again = ask(alice, against(made), NOT_WORSE, **more)
    swapped = {"candidate": against(made)["baseline"], "baseline": against(made)["candidate"]}
    second = ask(alice, swapped, NOT_WORSE, **more)

    assert [gate["spending"]["attempt"] for gate in (first, again, second)] == [1, 1, 2]
    assert first["spending"]["alpha"] == pytest.approx(0.05 * 6 / 9.8696, rel=1e-3)
    assert second["rules"][0]["level_of_ends"] == pytest.approx(1 - 0.05 * 6 / 9.8696 / 4, rel=1e-4)
    assert "number 1" in refused(alice, against(made), NOT_WORSE, **more, attempt=2)["/attempt"]
    assert ask(alice, against(made), NOT_WORSE, attempt=3)["spending"]["attempt"] == 3
    assert ask(alice, against(made), NOT_WORSE, attempt=10_000, level=0.9999)["outcome"] == "undecided"


def test_a_history_is_held_against_a_limit(alice: Caller) -> None:
    for i in range(40):
        body = {"evaluators": [{"evaluator": "exact-match"}], "output": "a", "label": "a" if i else "b"}
        ok(alice.post("/v1/evaluate", body | {"capture": "all"}))
    gate = ask(alice, {"history": {"evaluator": "exact-match"}}, {"metric": "pass", "at_least": 0.8})
    last = ask(
        alice, {"history": {"evaluator": "exact-match", "since": {"scores": 10}}}, {"metric": "pass", "at_least": 0.8}
    )

    assert (gate["outcome"], gate["rules"][0]["n"], gate["rules"][0]["estimate"]) == ("pass", 40, 39 / 40)
    assert (last["outcome"], last["history"]["n"]) == ("undecided", 10)
    why = refused(
        alice, {"history": {"evaluator": "exact-match"}}, {"metric": "pass", "at_least": 0.8}, looks="watched"
    )
    assert "/looks" in why
    assert "/history/since/scores" in refused(
        alice, {"history": {"evaluator": "exact-match", "since": {"scores": 0}}}, {"metric": "pass", "at_least": 0.8}
    )
    assert "/history/evaluator" in refused(
        alice, {"history": {"evaluator": "nobody"}}, {"metric": "pass", "at_least": 1}
    )


@pytest.mark.parametrize(
    ("rule", "pointer"),
    [
        ({"metric": "accuracy"}, "/rules/0"),
        ({"metric": "accuracy", "at_least": 1, "at_most": 1}, "/rules/0"),
        ({"metric": "accuracy", "not_worse_by": 0}, "/rules/0/not_worse_by"),
        ({"metric": "accuracy", "quantile": 0.5, "better_by": 0}, "/rules/0/quantile"),
        ({"metric": "accuracy", "quantile": 1, "at_least": 0}, "/rules/0/quantile"),
        ({"metric": "acuracy", "at_least": 1}, "/rules/0/metric"),
        ({"metric": "accuracy", "at_leats": 1}, "/rules/0"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_pointed_to(finished_pair: Any, rule: Any, pointer: str) -> None:
    caller, made = finished_pair

    assert list(refused(caller, against(made), rule)) == [pointer]


@pytest.fixture
def finished_pair(alice: Caller) -> Any:
    return alice, finished(alice, 10, answers(set()), answers(set()))


def test_what_is_not_hers_is_as_if_it_were_not_there(finished_pair: Any, charlie: Caller) -> None:
    _, made = finished_pair
    own = finished(charlie, 3, answers(set()), answers(set()))
    foreign = {"experiment_id": made["id"], "config": "new"}
    missing = {"experiment_id": "9" * 18, "config": "new"}
    mine = {"experiment_id": own["id"], "config": "old"}

    for pointer, side in (("/candidate", "candidate"), ("/baseline", "baseline")):
        sides = {"candidate": mine, "baseline": mine}
        one = refused(charlie, sides | {side: foreign}, NOT_WORSE)
        other = refused(charlie, sides | {side: missing}, NOT_WORSE)
        assert one == other == {f"{pointer}/experiment_id": "No such experiment, or nothing runs in it."}
    assert "/baseline/config" in refused(
        charlie, {"candidate": mine, "baseline": {"experiment_id": own["id"]}}, NOT_WORSE
    )
    config = {"experiment_id": own["id"], "config": made["configs"][0]["id"]}
    assert "/candidate/config" in refused(charlie, {"candidate": config}, {"metric": "accuracy", "at_least": 0})
    assert "/baseline" in refused(charlie, {"candidate": mine, "baseline": mine}, NOT_WORSE)


def test_readers_read_and_do_not_decide(finished_pair: Any) -> None:
    from tests.factories import new_caller

    caller, made = finished_pair
    gate = ask(caller, against(made), NOT_WORSE)
    bob = new_caller(caller.account, scope="read")
    charlie = new_caller(name="stranger")

    assert bob.post("/v1/gates", against(made) | {"rules": [NOT_WORSE]}).status_code == 403
    assert ok(bob.get(f"/v1/gates/{gate['id']}"))["gate"] == gate
    assert charlie.get(f"/v1/gates/{gate['id']}").status_code == 404
    assert ok(charlie.get("/v1/gates"))["gates"] == []


def test_lists_filter_and_lead_on(finished_pair: Any) -> None:
    caller, made = finished_pair
    made_ids = [ask(caller, against(made), NOT_WORSE, name=f"g{i}", benchmark="list")["id"] for i in range(3)]
    first = ok(caller.get("/v1/gates?benchmark=list&limit=2"))
    second = ok(caller.get(f"/v1/gates?benchmark=list&limit=2&cursor={first['next_cursor']}"))

    assert [row["id"] for row in [*first["gates"], *second["gates"]]] == made_ids[::-1]
    assert ok(caller.get("/v1/gates?benchmark=list&outcome=fail"))["gates"] == []
    assert len(ok(caller.get(f"/v1/gates?experiment_id={made['id']}&benchmark=list"))["gates"]) == 3
    assert ok(caller.get(f"/v1/gates?experiment_id={'9' * 19}"))["gates"] == []


def test_a_decision_outlives_what_it_was_made_from(alice: Caller) -> None:
    made = finished(alice, 20, answers(set()), answers({1, 2}))
    gate = ask(alice, against(made), NOT_WORSE)
    assert gate["regressions"][0]["candidate"]["output"] is not None
    config = made["configs"][1]["id"]
    ok(alice.call("delete", f"/v1/experiments/{made['id']}/configs/{config}"), 204)

    kept = ok(alice.get(f"/v1/gates/{gate['id']}"))["gate"]

    assert kept["rules"] == gate["rules"]
    assert kept["regressions"][0]["candidate"]["output"] is None
    assert "/candidate/config" in refused(alice, against(made), NOT_WORSE)


def test_a_config_has_no_say_where_the_metric_does_not_apply(alice: Caller) -> None:
    """What never had an answer to compare with is not counted, and is said."""
    rows = examples(40)
    for row in rows[:10]:
        del row["expected"]
    made = finished(alice, 0, answers_known(10), answers_known(10), dataset=make_dataset(alice, rows))
    (rule,) = ask(alice, against(made), NOT_WORSE)["rules"]

    assert rule["n"] + rule["n_missing"] + rule["n_not_applicable"] == 40


def answers_known(first: int) -> Any:
    def rows(unit: Any) -> list[dict[str, Any]]:
        return [{"pos": e["pos"], "output": e.get("expected") or "anything"} for e in unit["examples"]]

    return rows


def test_while_watched_a_baseline_of_another_experiment_must_have_ended(alice: Caller) -> None:
    dataset = make_dataset(alice, examples(40))
    old = make_experiment(alice, dataset, [TWO[0]], metrics=[EXACT])
    new = make_experiment(alice, dataset, [TWO[1]], metrics=[EXACT])
    work_off(alice, new, 0, answers(set()), units=2)

    assert "/looks" in refused(alice, against(new, old), NOT_WORSE, looks="watched")
    work_off(alice, old, 0, answers(set()))
    gate = ask(alice, against(new, old), NOT_WORSE, looks="watched")
    assert (gate["rules"][0]["n"], gate["rules"][0]["n_missing"]) == (20, 0)


def test_watching_reads_no_further_than_both_have_come_and_keeps_what_was_shown(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(200)), TWO, metrics=[EXACT])
    work_off(alice, made, 0, answers(set()), units=20)
    seen = []
    for _ in range(5):
        work_off(alice, made, 1, answers(set(range(200))), units=2)
        seen.append(ask(alice, against(made), NOT_WORSE, looks="watched"))

    assert [gate["rules"][0]["n"] for gate in seen] == [20, 40, 60, 80, 100]
    outcomes = [gate["outcome"] for gate in seen]
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == "fail")
    assert outcomes[-1] == "fail"


def test_candidates_that_come_at_once_have_numbers_of_their_own(alice: Caller) -> None:
    made = finished(alice, 20, answers(set()), answers({1}))
    swapped = {"candidate": against(made)["baseline"], "baseline": against(made)["candidate"]}
    with ThreadPoolExecutor(4) as pool:
        gates = list(pool.map(lambda sides: ask(alice, sides, NOT_WORSE, benchmark="b"), [against(made), swapped] * 2))

    numbers = {(gate["candidate"]["config"], gate["spending"]["attempt"]) for gate in gates}
    assert len(numbers) == 2
    assert {number for _, number in numbers} == {1, 2}


def test_what_is_watched_goes_by_first_answers(alice: Caller) -> None:
    """Nobody asks again for the failures of a candidate until they come out better."""
    made = finished(alice, 60, answers({1}), answers(set(), gone=set(range(0, 60, 2))))
    before = ask(alice, against(made), NOT_WORSE, looks="watched")
    assert ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}))["n_outputs"] == 30
    work_off(alice, made, 1, answers(set()))
    watched, looked = ask(alice, against(made), NOT_WORSE, looks="watched"), ask(alice, against(made), NOT_WORSE)

    assert before["rules"][0]["n_missing"] == 30
    assert watched["rules"] == before["rules"]
    assert (looked["outcome"], looked["rules"][0]["n_missing"]) == ("pass", 0)
    assert ("retried" in watched["warnings"], "retried" in looked["warnings"]) == (False, True)
