"""Comparisons by scores: no LLM, what is scored already is read, and what is not is scored by the experiment."""

from __future__ import annotations

from tests.caller import Caller
from tests.comparisons.shapes import COMPARISONS, answer_all, answered, compare, judgements, shown, work_off
from tests.experiments.conftest import run_units
from tests.factories import make_profile, ok
from tests.rest.shapes import assert_problem


def bleu(caller: Caller) -> str:
    return str(make_profile(caller, "metrics", metric="bleu")["name"])


def test_it_ranks_by_a_metric_that_is_there(alice: Caller) -> None:
    made = answered(alice, n=40, right={"bad": 3, "good": 38})

    found = work_off(alice, compare(alice, made))

    head, ranking = found["comparison"], found["ranking"]
    assert (head["state"], head["reason"], head["n"], head["n_judged"]) == ("finished", "all", 40, 40)
    assert [place["config"] for place in ranking["places"]] == ["good", "bad"]
    assert [(p["rank_from"], p["rank_to"]) for p in ranking["places"]] == [(1, 1), (2, 2)]
    (pair,) = ranking["pairs"]
    assert (pair["first"], pair["n_wins"], pair["n_ties"], pair["n_losses"], pair["said"]) == ("bad", 0, 5, 35, "worse")
    assert head["n_flips"] == 0 and ranking["flips"] is None


def test_an_evaluator_that_has_scored_already_is_not_asked_again(alice: Caller) -> None:
    made = answered(alice)
    n_metrics = len(ok(alice.get(f"/v1/experiments/{made['id']}/metrics"))["metrics"])

    found = work_off(alice, compare(alice, made, {"evaluator": "exact-match"}))

    assert found["comparison"]["judge"]["metric"] == "accuracy"
    assert found["comparison"]["state"] == "finished"
    assert len(ok(alice.get(f"/v1/experiments/{made['id']}/metrics"))["metrics"]) == n_metrics


def test_another_evaluator_becomes_a_metric_of_the_experiment(alice: Caller) -> None:
    made = answered(alice)
    name = bleu(alice)
    comparison = compare(alice, made, {"evaluator": "metrics", "criteria": name})
    assert work_off(alice, comparison)["comparison"]["n_open"] == 12

    run_units()

    head = work_off(alice, comparison)["comparison"]
    assert (head["state"], head["n_judged"], head["judge"]["criteria"]) == ("finished", 12, name)


def test_scores_within_the_tie_width_are_ties(alice: Caller) -> None:
    made = answered(alice)

    head = work_off(alice, compare(alice, made, {"metric": "accuracy", "tie_width": 1.0}))["comparison"]

    assert head["n_ties"] == head["n_judged"] == 12


def test_a_missing_score_is_an_error_and_no_tie(alice: Caller) -> None:
    metric = {"name": "mine", "source": "client", "value_range": [0, 1]}
    made = answered(alice, metrics=[metric])

    found = work_off(alice, compare(alice, made, {"metric": "mine"}))

    assert (found["comparison"]["n_errors"], found["comparison"]["n_ties"]) == (12, 0)
    assert found["comparison"]["errors"] == [{"code": "no_score", "n": 12}]
    assert {place["strength"] for place in found["ranking"]["places"]} == {None}


def test_against_a_baseline_others_do_not_meet(alice: Caller) -> None:
    made = answered(alice, right={"a": 9, "b": 6, "c": 3})

    found = work_off(alice, compare(alice, made, design="baseline", baseline="b"))

    assert {(p["first"], p["second"]) for p in found["ranking"]["pairs"]} == {("b", "a"), ("b", "c")}
    assert found["comparison"]["n"] == 24
    assert found["comparison"]["baseline"] == "b"


def test_a_budget_is_spread_over_pairs_and_examples(alice: Caller) -> None:
    made = answered(alice, right={"a": 9, "b": 6, "c": 3})

    comparison = compare(alice, made, budget=12)

    found = work_off(alice, comparison)
    assert (found["comparison"]["reason"], found["comparison"]["n"]) == ("budget", 12)
    rows = judgements(alice, comparison)
    assert len({row["example_id"] for row in rows}) == 12
    assert sorted(p["n_wins"] + p["n_ties"] + p["n_losses"] for p in found["ranking"]["pairs"]) == [4, 4, 4]


def test_a_judgement_names_both_outputs(alice: Caller) -> None:
    made = answered(alice)
    comparison = compare(alice, made)
    work_off(alice, comparison)

    (row,) = judgements(alice, comparison, "example_id=e5")

    assert (row["first"], row["second"], row["winner"]) == ("good", "bad", "first")
    outputs = ok(alice.get(f"/v1/experiments/{made['id']}/results?example_id=e5"))["results"]
    assert {row["first_output_id"], row["second_output_id"]} == {output["id"] for output in outputs}


def test_a_ninth_config_is_judged_against_the_eight_only(alice: Caller) -> None:
    made = answered(alice, n=5, right={f"c{i}": 0 for i in range(8)})
    first = compare(alice, made, seed=1)
    work_off(alice, first)
    (new,) = ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"name": "c8", "kind": "push"}]}))[
        "configs"
    ]

    answer_all(alice, made["id"], new, 0)

    second = compare(alice, made, previous_id=first["id"], seed=2)

    head = work_off(alice, second)["comparison"]
    assert (head["n"], head["n_reused"], head["n_judged"]) == (36 * 5, 28 * 5, 8 * 5)


def test_judgements_are_turned_when_they_are_taken_over(alice: Caller) -> None:
    made = answered(alice)
    first = compare(alice, made)
    before = work_off(alice, first)["ranking"]

    second = compare(alice, made, previous_id=first["id"], configs=["bad", "good"])

    after = work_off(alice, second)
    assert after["comparison"]["n_reused"] == 12
    rates = [place["win_rate"]["value"] for place in before["places"]]
    assert [place["win_rate"]["value"] for place in after["ranking"]["places"]] == rates


def test_another_judge_takes_nothing_over(alice: Caller) -> None:
    made = answered(alice)
    first = compare(alice, made)
    body = {"experiment_id": made["id"], "judge": {"metric": "accuracy", "tie_width": 0.5}, "previous_id": first["id"]}

    assert_problem(alice.post(COMPARISONS, body), "validation_failed", "/previous_id")


def test_active_stops_when_the_first_place_is_settled(alice: Caller) -> None:
    made = answered(alice, n=60, right={"good": 58, "b": 10, "c": 9, "d": 8})

    head = work_off(alice, compare(alice, made, design="active"))["comparison"]

    assert (head["state"], head["reason"]) == ("finished", "first")
    assert head["n"] < 6 * 60


def test_active_says_when_everything_is_judged(alice: Caller) -> None:
    made = answered(alice, n=8, right={"a": 4, "b": 4, "c": 4})

    found = work_off(alice, compare(alice, made, design="active"))

    assert (found["comparison"]["reason"], found["comparison"]["n"]) == ("all", 24)
    assert "pairs_were_chosen_by_results" in found["ranking"]["notes"]
    assert "few_examples" in found["ranking"]["notes"]


def test_elo_comes_on_request(alice: Caller) -> None:
    made = answered(alice)
    comparison = compare(alice, made)
    work_off(alice, comparison)

    elo = shown(alice, comparison, "?elo=true")["elo"]

    assert shown(alice, comparison)["elo"] is None
    assert [row["config"] for row in elo["ratings"]] == ["good", "bad"]
    assert sum(row["rating"] for row in elo["ratings"]) / 2 == 1500


def test_a_stopped_one_keeps_what_is_judged(alice: Caller) -> None:
    made = answered(alice)
    comparison = compare(alice, made, {"evaluator": "metrics", "criteria": bleu(alice)})

    head = ok(alice.post(f"{COMPARISONS}/{comparison['id']}/stop", {}))["comparison"]

    assert (head["state"], head["n_open"], head["n"]) == ("stopped", 0, 0)
    assert ok(alice.post(f"{COMPARISONS}/{comparison['id']}/stop", {}))["comparison"]["state"] == "stopped"


def test_it_goes_with_its_experiment(alice: Caller) -> None:
    made = answered(alice)
    comparison = compare(alice, made)
    work_off(alice, comparison)

    assert alice.call("delete", f"/v1/experiments/{made['id']}").status_code == 204

    assert_problem(alice.get(f"{COMPARISONS}/{comparison['id']}"), "not_found")


def test_it_can_be_deleted_and_is_listed_by_experiment(alice: Caller) -> None:
    made = answered(alice)
    comparison = compare(alice, made)
    listed = ok(alice.get(f"{COMPARISONS}?experiment_id={made['id']}"))["comparisons"]
    assert [row["id"] for row in listed] == [comparison["id"]]

    assert alice.call("delete", f"{COMPARISONS}/{comparison['id']}").status_code == 204

    assert ok(alice.get(f"{COMPARISONS}?experiment_id={made['id']}"))["comparisons"] == []


def test_what_is_wrong_is_pointed_at(alice: Caller, charlie: Caller) -> None:
    made = answered(alice)
    body: dict[str, object] = {"experiment_id": made["id"], "judge": {"metric": "accuracy"}}
    wrong: dict[str, dict[str, object]] = {
        "/judge": {"judge": {}},
        "/judge/metric": {"judge": {"metric": "none"}},
        "/judge/evaluator": {"judge": {"evaluator": "none"}},
        "/judge/criteria": {"judge": {"connection": "llm"}},
        "/configs/1": {"configs": ["good", "none"]},
        "/configs": {"configs": ["good"]},
        "/baseline": {"design": "baseline"},
        "/previous_id": {"previous_id": 7},
    }
    for pointer, change in wrong.items():
        assert_problem(alice.post(COMPARISONS, body | change), "validation_failed", pointer)
    assert_problem(charlie.post(COMPARISONS, body), "validation_failed", "/experiment_id")


def test_the_books_agree_and_a_change_is_found(alice: Caller) -> None:
    from evalsvc.comparisons.maintenance import RANKING_DIFFERS, recount_comparison
    from evalsvc.comparisons.models import Judgement, OutputComparison

    comparison = compare(alice, answered(alice))
    work_off(alice, comparison)
    row = OutputComparison.objects.using("system").get(pk=comparison["id"])
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        assert recount_comparison(row) == []
        Judgement.objects.filter(comparison_id=row.pk, winner="first").update(winner="second")
        assert recount_comparison(row) == [RANKING_DIFFERS]
        Judgement.objects.filter(comparison_id=row.pk, winner="second").update(winner="first")


def test_readers_look_and_strangers_find_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    comparison = compare(alice, answered(alice))

    assert bob.get(f"{COMPARISONS}/{comparison['id']}").status_code == 200
    assert_problem(bob.post(f"{COMPARISONS}/{comparison['id']}/stop", {}), "read_only_key")
    for path in ("", "/judgements"):
        assert_problem(charlie.get(f"{COMPARISONS}/{comparison['id']}{path}"), "not_found")
    assert_problem(charlie.post(f"{COMPARISONS}/{comparison['id']}/stop", {}), "not_found")


def test_scores_of_a_component_do_not_stand_for_the_whole(alice: Caller) -> None:
    made = answered(alice, metrics=[{"name": "part", "evaluator": "exact-match", "component": "reader"}])

    head = compare(alice, made, {"evaluator": "exact-match"})

    assert head["judge"]["metric"] != "part"
