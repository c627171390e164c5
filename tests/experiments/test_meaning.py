"""What the numbers of an experiment are about: new data and this set, clones on all examples, leaders by pairs."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client import Live
from tests.conftest import Caller
from tests.evaluations.histories import insert
from tests.experiments.conftest import EXACT, by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner, add, answering, post_next

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


BEFORE = "the account's history before, for orientation (other samples and apps, so no baseline)"


def board_of(caller: Caller, id: str, metric: str | None = None) -> tuple[Any, Any]:
    """Return the board of an experiment by a metric, and its chart."""
    from evalsvc.console.pages.experiments.live.board import build_live_board
    from evalsvc.console.pages.experiments.live.drawings import looks_chart
    from evalsvc.experiments.reporting.live.scene import configs_ever
    from evalsvc.experiments.selectors import get_plan
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk):
        plan = get_plan(account=caller.account, id=int(id))
        configs = configs_ever(plan)
        board = build_live_board(plan, configs, metric=metric)
        return board, looks_chart(plan, board, configs)


def rows_of(caller: Caller, id: str) -> dict[str, Any]:
    """Return what the board says about each config."""
    return {row.name: row for row in board_of(caller, id)[0].rows}


def test_a_clone_that_is_worse_on_both_halves_does_not_lead(alice: Caller) -> None:
    """The first half is hard: by its easy fresh half alone the clone would look better."""
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1])
    a = Runner(alice, made)
    for _ in range(2):
        post_next(a, answering(set(range(0, 20, 2))))
    b = add(alice, made, "late")
    a.run(answering({20, 21}))
    b.run(answering({*range(0, 20, 2), 1, 20, 21, 22}))
    view = live(alice, made["id"])
    found = by_name(view)
    assert view["leader"] == a.config
    late = found["late"]["metrics"]["accuracy"]
    assert (late["n"], late["N"], late["value"]) == (40, 40, 26 / 40)
    assert (late["designed_after"], late["seen_before_design"], late["fresh"]) == (
        20,
        {"n": 20, "value": 9 / 20},
        {"n": 20, "value": 17 / 20},
    )
    versus = found["late"]["versus_leader"]
    assert (versus["n"], versus["delta"]) == (40, pytest.approx(-2 / 40))
    assert (versus["evidence"]["n_fresh"], versus["rests_on"]["n_fresh"]) == (20, 20)
    assert versus["label"] == "post_hoc"
    assert recounted(alice, made["id"]) == []


def test_a_config_that_comes_after_the_end_runs_and_is_compared(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), TWO)
    for i in range(2):
        Runner(alice, made, i).run(answering({0, 1, 2} if i else {0}))
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    late = add(alice, made, "late")
    assert live(alice, made["id"])["experiment"]["state"] == "running"
    late.run()
    view = live(alice, made["id"])
    found = by_name(view)
    assert (view["experiment"]["state"], view["leader"]) == ("done", late.config)
    assert found["late"]["metrics"]["accuracy"]["value"] == 1.0
    for name, delta in (("a", -1 / 20), ("b", -3 / 20)):
        versus = found[name]["versus_leader"]
        assert (versus["n"], versus["delta"]) == (20, pytest.approx(delta))
        assert versus["this_set"] == {
            "lower": versus["delta"],
            "upper": versus["delta"],
            "method": "census",
            "exact": True,
        }
        assert (versus["word"], versus["label"]) == ("inconclusive", "post_hoc")
        assert versus["n_comparisons"] == 3
    assert view["leader_settled"] is False
    for name in "ab":
        versus = found[name]["versus_leader"]
        assert (versus["rests_on"]["n_fresh"], versus["can_be_settled"]) == (0, False)
        assert versus["about_n_more"] > 20
        assert rows_of(alice, made["id"])[name].asides[-2:] == [
            "post hoc, 3 comparisons",
            f"about {versus['about_n_more']} more like these would settle it, which is more than are left",
        ]
    looks = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))["looks"]
    assert [look["n"] for look in looks[late.config]][-1] == 20
    assert recounted(alice, made["id"]) == []


def test_totals_are_of_the_same_examples_and_their_headline_is_the_mean(alice: Caller) -> None:
    metric = {"name": "right", "evaluator": "exact-match", "type": "distributive"}
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], metrics=[metric])
    a = Runner(alice, made)
    for _ in range(2):
        post_next(a, answering(set(range(5))))
    clone = add(alice, made, "late")
    a.run(answering(set()))
    clone.run(answering({0, 1, 2, 30}))
    view = live(alice, made["id"])
    found = by_name(view)
    totals = {name: one["metrics"]["right"]["value"] for name, one in found.items()}
    assert totals == {"a": 35, "late": 36}
    assert view["leader"] == clone.config
    shown = found["late"]["metrics"]["right"]
    assert (shown["new_data"], shown["lower"], shown["upper"], shown["covers"]) == (None, 36, 36, "this set")
    assert shown["this_set"] == {"lower": 36, "upper": 36, "method": "census", "safe": "one look", "exact": True}
    assert (shown["mean"]["value"], shown["mean"]["covers"]) == (0.9, "new data")
    assert shown["mean"]["lower"] < 0.9 < shown["mean"]["upper"]
    versus = found["a"]["versus_leader"]
    assert (versus["delta"], versus["new_data"], versus["this_set"]["exact"]) == (pytest.approx(-1), None, True)
    assert versus["mean"]["delta"] == pytest.approx(-1 / 40)


METRICS: list[dict[str, Any]] = [
    {"name": "stars", "source": "client", "value_range": [0, 5]},
    {"name": "hits", "source": "client", "binary": True},
    {"name": "sum", "source": "client", "type": "distributive", "value_range": [0, 5]},
    {"name": "rate", "source": "client", "type": "ratio"},
    {"name": "free", "source": "client"},
    {"name": "raw", "source": "client", "type": "untyped"},
]


def numbers(pos: int, shift: int) -> dict[str, Any]:
    stars = float((pos * 7 + shift) % 6)
    return {
        "stars": stars,
        "hits": int(stars > 2),
        "sum": stars,
        "rate": {"numerator": stars, "denominator": 1 + pos % 3},
        "free": stars * 100,
        "raw": stars,
    }


@pytest.mark.parametrize("primary", ["stars", "hits", "sum", "rate", "free", "raw"])
def test_at_the_end_every_estimate_of_every_config_equals_a_recount(alice: Caller, primary: str) -> None:
    n = 30
    metrics = [row for row in METRICS if row["name"] == primary] + [row for row in METRICS if row["name"] != primary]
    made = make_experiment(alice, make_dataset(alice, n=n), TWO, metrics=metrics)
    runners = [Runner(alice, made, i) for i in range(2)]

    def post(runner: Runner, shift: int) -> bool:
        unit = runner.lease()["unit"]
        if unit is None:
            return False
        rows = [{"pos": e["pos"], "output": "x", "scores": numbers(e["pos"], shift)} for e in unit["examples"]]
        runner.post(unit, rows)
        return True

    for shift, runner in enumerate(runners):
        post(runner, shift)
    runners.append(add(alice, made, "late"))
    for shift, runner in enumerate(runners):
        while post(runner, shift):
            pass
    view = live(alice, made["id"])
    expected = {}
    for shift, name in enumerate(("a", "b", "late")):
        rows = [numbers(pos, shift) for pos in range(n)]
        stars = [row["stars"] for row in rows]
        expected[name] = {
            "stars": sum(stars) / n,
            "hits": sum(row["hits"] for row in rows) / n,
            "sum": sum(stars),
            "rate": sum(stars) / sum(row["rate"]["denominator"] for row in rows),
            "free": 100 * sum(stars) / n,
            "raw": sum(stars) / n,
        }
    found = by_name(view)
    for name, wanted in expected.items():
        shown = found[name]["metrics"]
        assert {metric: view["value"] for metric, view in shown.items()} == pytest.approx(wanted)
        for metric, one in shown.items():
            assert one["n"] + one["n_error"] + one["n_na"] + one["n_pending"] == one["N"] == n
            if metric != "raw":
                ends = (one["this_set"]["lower"], one["this_set"]["upper"])
                assert one["this_set"]["exact"]
                assert ends == (pytest.approx(wanted[metric]), pytest.approx(wanted[metric]))
            if metric not in ("raw", "sum"):
                assert one["covers"] == "new data"
                assert one["lower"] < one["value"] < one["upper"]
    most = max(wanted[primary] for wanted in expected.values())
    best = [found[name]["id"] for name, wanted in expected.items() if wanted[primary] == pytest.approx(most)]
    assert (view["leader"], view["tied"]) == ((best[0], []) if len(best) == 1 else (None, best))
    if primary in ("stars", "hits", "sum", "free"):
        for one in found.values():
            if one["versus_leader"]:
                assert one["versus_leader"]["n"] == n
                assert one["versus_leader"]["delta"] <= 0
    assert recounted(alice, made["id"]) == []


def test_while_it_runs_the_headline_may_be_watched_and_one_look_stands_beside(alice: Caller) -> None:
    metrics = [EXACT, {"name": "stars", "source": "client", "value_range": [1, 5]}, {"name": "ms", "source": "client"}]
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], metrics=metrics)
    runner = Runner(alice, made)
    for step in range(4):
        unit = runner.lease()["unit"]
        rows = [
            {"pos": e["pos"], "output": "wrong" if e["pos"] % 3 else e["expected"],
             "scores": {"stars": 1 + e["pos"] % 5, "ms": e["pos"]}}
            for e in unit["examples"]
        ]  # fmt: skip
        runner.post(unit, rows)
        shown = live(alice, made["id"])["configs"][0]["metrics"]
        is_over = step == 3
        for name, method in (("accuracy", "beta-binomial"), ("stars", "betting")):
            new_data = shown[name]["new_data"]
            assert (shown[name]["lower"], shown[name]["upper"]) == (new_data["lower"], new_data["upper"])
            assert new_data["safe"] == ("one look" if is_over else "safe while watched")
            if not is_over:
                assert new_data["method"] == method
                assert new_data["lower"] <= new_data["one_look"]["lower"] < new_data["one_look"]["upper"]
        assert shown["ms"]["safe"] == "one look"
        assert (shown["ms"]["decision_interval"], shown["ms"]["reason"]) == (None, "no_range")
        assert "heavy_tail" in shown["ms"]["warnings"]
        assert ("n<30" in shown["accuracy"]["warnings"]) == (shown["accuracy"]["n"] < 30)
        decided = shown["stars"]["decision_interval"]
        assert decided["level"] == pytest.approx(0.95 if not is_over else 1 - 0.05 / 7)
        assert decided["lower"] <= shown["stars"]["value"] <= decided["upper"]


def test_with_missing_scores_this_set_is_the_bounds_under_failures(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), TWO)
    for i in range(2):
        runner = Runner(alice, made, i)
        unit = runner.lease()["unit"]
        rows = [{"pos": e["pos"], "output": e["expected"] if e["pos"] > 1 else "wrong"} for e in unit["examples"][:8]]
        rows += [
            {"pos": pos, "error": {"type": "connection"}} if i else {"pos": pos, "output": "wrong"} for pos in (8, 9)
        ]
        runner.post(unit, rows)
    view = by_name(live(alice, made["id"]))
    shown = view["b"]["metrics"]["accuracy"]
    assert (shown["n"], shown["n_error"], shown["value"]) == (8, 2, None)
    assert (shown["this_set"]["lower"], shown["this_set"]["upper"]) == (pytest.approx(0.6), pytest.approx(0.8))
    assert shown["this_set"]["exact"] is False
    assert (shown["bounds_if_failures"]["lower"], shown["bounds_if_failures"]["upper"]) == (0.6, 0.8)


def test_the_page_says_what_a_metric_without_an_interval_is_of(alice: Caller) -> None:
    metrics = [EXACT, {"name": "ms", "source": "latency_ms"}, {"name": "lost", "source": "/nowhere"}]
    made = make_experiment(alice, make_dataset(alice, n=10), TWO[:1], metrics=metrics)
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows = [{"pos": e["pos"], "output": e["expected"], "latency_ms": 5} for e in unit["examples"][:6]]
    runner.post(unit, rows + [{"pos": e["pos"], "error": {"type": "bug"}} for e in unit["examples"][6:]])

    ms, lost = rows_of(alice, made["id"])["a"].others
    assert (ms.value, ms.interval, ms.this_set) == ("5.000", "", "this set: 5.000 on the 6 scored")
    assert lost.value == "-"
    assert lost.this_set.startswith(
        "0 of 10 examples, 4 failed and left out, 6 missing; Stopped: none of the first 5 outputs has"
    )


def test_a_strategy_asked_for_by_name_gives_the_seeds_numbers(alice: Caller) -> None:
    dataset = make_dataset(alice, n=40)
    shown = {}
    for words in ({}, {"strategy": "wilson", "use_fpc": True}, {"strategy": "normal", "use_fpc": False}):
        made = make_experiment(alice, dataset, TWO[:1], **words)
        post_next(Runner(alice, made), answering({0, 1}))
        shown[words.get("strategy")] = live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]
    assert shown[None]["requested"] is None
    n_eff = 10 / (30 / 39)
    z, p = 1.959963984540054, 0.8
    centre = (p + z * z / (2 * n_eff)) / (1 + z * z / n_eff)
    half = z * (p * (1 - p) / n_eff + z * z / (4 * n_eff**2)) ** 0.5 / (1 + z * z / n_eff)
    wilson = shown["wilson"]["requested"]
    assert (wilson["lower"], wilson["upper"]) == (
        pytest.approx(centre - half, 1e-12),
        pytest.approx(centre + half, 1e-12),
    )
    assert (wilson["covers"], wilson["use_fpc"]) == ("this set", True)
    normal = shown["normal"]["requested"]
    assert normal["upper"] - 0.8 == pytest.approx(z * (p * (1 - p) / 10) ** 0.5, 1e-12)
    assert normal["covers"] == "new data"
    for one in shown.values():
        assert (one["lower"], one["upper"], one["covers"]) == (shown[None]["lower"], shown[None]["upper"], "new data")


@pytest.mark.parametrize("apart", [1, 2, 5])
def test_api_client_and_page_say_that_it_is_inconclusive(alice: Caller, apart: int) -> None:
    made = make_experiment(alice, make_dataset(alice, n=60), TWO)
    runners = [Runner(alice, made, i) for i in range(2)]
    for _ in range(6):
        for i, runner in enumerate(runners):
            post_next(runner, answering(set(range(0, 12 * apart, 12)) if i else set()))
        view = live(alice, made["id"])
        versus = by_name(view)["b"]["versus_leader"]
        assert versus["word"] == "inconclusive"
        assert versus["lower"] <= 0 <= versus["upper"]
        standing = Live.read(view).config("b")
        assert standing.word == "inconclusive"
        assert "inconclusive" in str(standing)
        assert "new data" in str(standing)
        row = rows_of(alice, made["id"])["b"]
        assert row.versus.startswith("inconclusive")
    assert versus["this_set"]["exact"]
    assert versus["delta"] == pytest.approx(-apart / 60)
    assert f"{-apart / 60:+.3g} exactly on this set" in str(standing)
    assert row.asides[0].startswith("on this set: \N{MINUS SIGN}0.0") and row.asides[0].endswith("exactly")
    assert versus["about_n_more"] > 0
    assert not versus["can_be_settled"]
    wanted = f"about {versus['about_n_more']} more like these would settle it, which is more than are left"
    assert row.asides[-1] == wanted
    assert view["leader_settled"] is False


def test_all_configs_ever_added_are_counted_and_a_baseline_saves_comparisons(alice: Caller) -> None:
    dataset = make_dataset(alice, n=20)
    many = [{"name": name, "kind": "push"} for name in "abcd"]
    for baseline, expected in ((None, 6), ("c", 3)):
        made = make_experiment(alice, dataset, many, **({"baseline": baseline} if baseline else {}))
        runners = [Runner(alice, made, i) for i in range(4)]
        for runner in runners:
            post_next(runner, answering(set()))
        ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runners[3].config}/stop", {}))
        view = by_name(live(alice, made["id"]))
        assert {one["versus_leader"]["n_comparisons"] for one in view.values() if one["versus_leader"]} == {expected}
        if baseline:
            against = {one["versus_leader"]["config_id"] for one in view.values() if one["versus_leader"]}
            assert against == {view[baseline]["id"]}


def test_a_leader_is_settled_by_evidence_that_may_be_watched(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=60), TWO)
    runners = [Runner(alice, made, i) for i in range(2)]
    settled = []
    for _ in range(6):
        for i, runner in enumerate(runners):
            post_next(runner, answering(set(range(0, 60, 2)) if i else set()))
        view = live(alice, made["id"])
        settled.append(view["leader_settled"])
        versus = by_name(view)["b"]["versus_leader"]
        assert (versus["word"] == "worse") == view["leader_settled"] == (versus["about_n_more"] == 0)
        assert versus["can_be_settled"]
    assert settled[0] is False
    assert settled[-1] is True


def test_latency_has_quantiles_by_order_statistics(alice: Caller) -> None:
    from evalsvc.stats.formulas.quantiles import compute_quantiles

    metrics = [{"name": "ms", "source": "latency_ms", "higher_is_better": False}, EXACT]
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], metrics=metrics)
    runner = Runner(alice, made)
    sent = []
    for _ in range(4):
        unit = runner.lease()["unit"]
        rows = [{"pos": e["pos"], "output": "x", "latency_ms": float(e["pos"] ** 2)} for e in unit["examples"]]
        sent += [row["latency_ms"] for row in rows]
        runner.post(unit, rows)
        shown = live(alice, made["id"])["configs"][0]["metrics"]
        found = {one["name"]: (one["lower"], one["value"], one["upper"]) for one in shown["ms"]["quantiles"]}
        assert found == {one.name: (one.lower, one.value, one.upper) for one in compute_quantiles(sent)}
        assert shown["accuracy"]["quantiles"] is None


@pytest.mark.parametrize(
    ("n", "line", "words"),
    [(1, None, ""), (4, 1.0, f"{BEFORE}: share that passes 1.00 [0.00, 1.00], 4 scores of 1 distinct sample")],
)
def test_a_short_history_before_the_experiment_claims_no_certainty(
    alice: Caller, n: int, line: float | None, words: str
) -> None:
    for _ in range(n):
        alice.evaluate("exact-match", output="yes", gold_answer="yes", capture="all")
    made = make_experiment(alice, make_dataset(alice, n=4), TWO)
    for i in range(2):
        Runner(alice, made, i).run()
    board, _ = board_of(alice, made["id"])
    assert (board.reference, board.metric_note) == (line, words)


def test_the_line_of_a_weighted_history_is_the_middle_of_its_interval(alice: Caller) -> None:
    insert(alice, [1.0] * 90 + [0.0] * 10, probability=0.1)
    insert(alice, [1.0, 0.0] * 50, source="import")
    made = make_experiment(alice, make_dataset(alice, n=4), TWO)
    for i in range(2):
        Runner(alice, made, i).run()

    before = live(alice, made["id"])["references"]["accuracy"]

    assert before["value"] == pytest.approx((900 + 50) / 1100)
    assert before["median"] == pytest.approx(before["value"])
    assert before["lower"] < before["value"] < before["upper"]


def test_the_history_before_the_experiment_is_a_line_to_hold_configs_to(alice: Caller) -> None:
    for i in range(20):
        alice.evaluate("exact-match", output="yes" if i % 4 else "no", gold_answer="yes", capture="all")
    metrics = [EXACT, {"name": "ms", "source": "latency_ms"}]
    made = make_experiment(alice, make_dataset(alice, n=10), TWO, metrics=metrics)
    for i in range(2):
        Runner(alice, made, i).run()
    references = live(alice, made["id"])["references"]
    assert references["ms"] is None
    before = references["accuracy"]
    assert (before["n"], before["value"]) == (20, 0.75)
    assert before["lower"] < 0.75 < before["upper"]
    board, chart = board_of(alice, made["id"])
    assert board.metric_note.startswith(f"{BEFORE}: share that passes 0.75 [0.")
    assert board.reference == 0.75
    assert "the account&#x27;s history before" in chart
    assert not any('class="mark"' in str(row.strip) for row in board.rows)
    other, _ = board_of(alice, made["id"], "ms")
    assert (other.metric_note, other.reference) == ("", None)
