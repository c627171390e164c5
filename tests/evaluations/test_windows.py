"""What an interval is of: pass or score, of which scope, since when, with which scores of experiments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scipy.stats import binom

from tests.conftest import Caller
from tests.evaluations.histories import FULL, PATH, asked, insert, n_of, of_history
from tests.experiments.conftest import ok

FAMILY = ("retrieval-hallucination", "retrieval-hallucination-2026-11-01", "patronus:hallucination")
CONTEXT = "The Eiffel Tower stands in Paris and was completed in 1889 for the World's Fair."
TRUE = "The Eiffel Tower was completed in 1889."
FALSE = "Napoleon bought seventeen elephants for the queen of Norway."


def test_the_gate_case(alice: Caller) -> None:
    name = "hallucination"
    for i in range(30):
        output = FALSE if i % 3 == 0 or i == 1 else TRUE
        answer = alice.evaluate(name, input="When?", output=output, app="shop", task_context=[CONTEXT])
        (result,) = ok(answer)["results"]
        found, extra = result["evaluation_result"], result["evaluation_result"]["additional_info"]["extra"]
        assert found["score_raw"] == found["score_normalized"] == float(found["pass"])
        assert 0 <= extra["raw_score"] <= 1
        assert found["pass"] == (extra["raw_score"] >= extra["threshold"])
    history = ok(alice.get(f"/v1/history?evaluator={name}&strategy={FULL}"))
    interval = history["confidence_interval"]

    assert history["pass_rate"] == pytest.approx(19 / 30)
    assert interval["of"] == "pass"
    assert interval["lower"] <= 19 / 30 <= interval["upper"]
    ends = [binom.ppf(p, 30, 19 / 30) / 30 for p in (0.025, 0.5, 0.975)]
    assert [interval["lower"], interval["median"], interval["upper"]] == pytest.approx(ends, abs=1e-9)
    assert history["points"][0]["score"] not in (0.0, 1.0)
    assert history["points"][0]["threshold"] == extra["threshold"]
    mean = of_history(alice, f"&of=score&strategy={FULL}", f"/v1/history?evaluator={name}")
    assert mean["of"] == "score" and mean["median"] == pytest.approx(history["mean"], abs=0.05)
    wilson = of_history(alice, "&strategy=wilson&level=0.8", f"/v1/history?evaluator={name}")
    assert wilson["alpha"] == 0.8 and interval["lower"] < wilson["lower"] < 19 / 30


def test_searches_know_the_scores_that_clients_see(alice: Caller) -> None:
    for output in (TRUE, FALSE):
        alice.evaluate("hallucination", input="When?", output=output, app="shop", task_context=[CONTEXT])
        alice.evaluate("metrics", criteria="compute-rouge", output=output, label=TRUE, app="shop")

    def scores(**filters: Any) -> list[float]:
        found = ok(alice.post("/v1/evaluation-results/search", {"app": "shop", **filters}))["results"]
        return [row["score_raw"] for row in found if row["evaluator_family"] == "retrieval-hallucination"]

    assert sorted(scores()) == [0.0, 1.0]
    assert scores(score_raw_min=0.99) == [1.0]
    assert scores(score_raw_max=0.01) == [0.0]
    for operation, value, wanted in (("eq", 1, [1.0]), ("lt", 0.5, [0.0]), ("in", [0], [0.0]), ("ne", 1, [0.0])):
        filters = [{"field": "score", "operation": operation, "value": value}, {"field": "app", "value": "shop"}]
        rows = ok(alice.post("/v1/evaluations/search", {"filters": filters}))["evaluations"]
        mine = [row for row in rows if row["evaluator_family"] == "retrieval-hallucination"]
        assert [row["score"] for row in mine] == wanted
        assert all(row["metadata"]["extra"]["threshold"] is not None for row in mine)


def test_scopes_by_app_project_tags_and_experiment(alice: Caller, charlie: Caller) -> None:
    experiment = ok(alice.post("/v1/experiments", {"name": "nightly", "project_name": "north"}))["experiment"]
    for i in range(4):
        alice.evaluate("exact-match", output="x", label="x", app="shop", project_name="north", tags={"tier": "gold"})
        alice.evaluate("exact-match", output="x", label="xy"[i % 2], app="desk", tags={"tier": "gold", "region": "eu"})
    alice.evaluate("exact-match", output="x", label="y", experiment_id=experiment["id"])
    project = next(row for row in ok(alice.get("/v1/projects"))["projects"] if row["name"] == "north")

    scopes: tuple[tuple[Any, int, float | None], ...] = (
        ("account", 9, 6 / 9),
        ({"app": "shop"}, 4, 1.0),
        ({"app": "desk"}, 4, 0.5),
        ({"app": "nowhere"}, 0, None),
        ({"project": project["id"]}, 5, 0.8),
        ({"project": "north"}, 5, 0.8),
        ({"experiment": experiment["id"]}, 1, 0.0),
        ({"experiment": "nightly"}, 1, 0.0),
        ({"tags": {"tier": "gold"}}, 8, 0.75),
        ({"tags": {"tier": "gold", "region": "eu"}}, 4, 0.5),
        ({"tags": {"tier": "tin"}}, 0, None),
    )
    for scope, n, rate in scopes:
        found = asked(alice, {"scope": scope})
        assert (found["n"], found["sources"]["evaluation"]["rate"]) == (n, rate), scope
        assert found["scope"] == scope
        flat = "&scope.tags." if isinstance(scope, dict) and "tags" in scope else "&scope."
        parts = scope.get("tags", scope).items() if isinstance(scope, dict) else ()
        query = "".join(f"{flat}{name}={value}" for name, value in parts)
        history = ok(alice.get(PATH + query))
        assert history["confidence_interval"] == found
        assert (history["n"], len(history["points"])) == (n, n)
        if not isinstance(scope, dict) or "app" in scope or "tags" in scope:
            assert asked(charlie, {"scope": scope})["n"] == 0
    for scope in ({"project": "north"}, {"experiment": experiment["id"]}, {"project": project["id"]}):
        ((kind, _),) = scope.items()
        refused = charlie.evaluate("exact-match", output="x", label="x", confidence_interval_strategy={"scope": scope})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == f"/confidence_interval_strategy/scope/{kind}"
        assert charlie.get(f"{PATH}&scope.{kind}={scope[kind]}").status_code == 422


def test_a_tag_that_others_have_more_often_and_imports_with_a_time_of_their_own(alice: Caller, charlie: Caller) -> None:
    rows = [
        {"evaluator_id": "tone", "log_id": f"log {i}", "score": i / 100, "tags": {"team": "a" if i % 25 == 0 else "b"}}
        | {"created_at": (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=(i * 37) % 100)).isoformat()}
        for i in range(100)
    ]
    for _ in range(2):
        ok(alice.post("/v1/evaluations/batch", {"evaluations": rows}))
    for label in "xyx":
        alice.evaluate("exact-match", output="x", label=label, app="shop", tags={"team": "a", "day": "1"})
        charlie.evaluate("exact-match", output="x", label=label, app="shop", tags={"team": "a"})
    path = "/v1/history?evaluator=external:tone"

    few = ok(alice.get(f"{path}&scope.tags.team=a"))
    assert [point["score"] for point in few["points"]] == [0.75, 0.5, 0.25, 0.0]
    assert few["confidence_interval"]["sources"]["import"] == {"n": 4, "rate": pytest.approx(0.375)}
    assert of_history(alice, "&scope.tags.team=b", path)["n"] == 96
    assert of_history(alice, "&scope.tags.team=a&since=2026-03-03T00:00:00Z", path)["n"] == 2
    assert of_history(alice, "&scope.tags.team=a&since.scores=3", path)["n"] == 3
    assert of_history(alice, "&scope.tags.team=a&scope.tags.day=1")["n"] == 3
    assert of_history(alice, "&scope.tags.team=a&include_experiments=all")["n"] == 3
    assert asked(charlie, {"scope": {"tags": {"team": "a"}}})["n"] == 3


def test_since_a_time_a_number_of_scores_and_a_revision(alice: Caller) -> None:
    insert(alice, [0.0] * 6, revision=1)
    insert(alice, [1.0] * 4, revision=2)
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    earlier = (datetime.now(UTC) - timedelta(hours=1)).isoformat()

    assert [asked(alice, {"since": since})["n"] for since in (earlier, later)] == [10, 0]
    newest = asked(alice, {"since": {"scores": 5}})
    assert (newest["n"], newest["sources"]["evaluation"]["rate"]) == (5, 0.8)
    assert newest == of_history(alice, "&since.scores=5")
    whole = asked(alice, FULL)
    assert "mixed_revisions" in whole["warnings"] and whole["suggested_since"] == {"revision": 2}
    one = asked(alice, {"since": whole["suggested_since"]})
    assert (one["n"], one["since"], one["suggested_since"]) == (4, {"revision": 2}, None)
    assert "mixed_revisions" not in one["warnings"]
    assert one == of_history(alice, "&since.revision=2")


def test_what_nobody_judged_is_left_out_of_the_share_that_passes(alice: Caller) -> None:
    insert(alice, [1.0, 0.0, 1.0])
    insert(alice, [0.5] * 4, passed=None)
    found = asked(alice, {"of": "pass"})

    assert (found["n"], found["n_no_verdict"]) == (3, 4)
    assert found["sources"]["evaluation"] == {"n": 3, "rate": pytest.approx(2 / 3)}
    assert ok(alice.get(PATH))["n"] == 7


@pytest.mark.parametrize("strategy", ["wilson", "clopper-pearson"])
def test_strategies_for_shares_serve_every_family(alice: Caller, strategy: str) -> None:
    insert(alice, [0.2, 0.9, 0.7], evaluator_id="metrics-2026-11-28", profile_name="patronus:compute-squad-em")
    evaluator = "metrics/compute-squad-em"

    share = asked(alice, {"strategy": strategy, "of": "pass"}, evaluator)
    assert share["n"] == 3 and share["lower"] < 2 / 3 < share["upper"]
    mean = asked(alice, {"strategy": strategy}, evaluator)
    assert mean["of"] == "score" and mean["lower"] is None and "`pass`" in mean["reason"]


def test_a_pass_rate_without_a_threshold_is_null_with_the_reason(alice: Caller) -> None:
    # Verdicts that an earlier release stored.
    insert(alice, [0.2, 0.9], evaluator_id="metrics-2026-11-28", profile_name="patronus:compute-bleu")
    for _ in range(2):
        ok(alice.evaluate("metrics/compute-bleu", output="a b", label="a b", app="shop"))

    share = asked(alice, {"of": "pass"}, "metrics/compute-bleu")
    assert (share["lower"], share["upper"], share["reason"]) == (None, None, "no threshold")
    assert "`pass`" not in asked(alice, {"strategy": "wilson"}, "metrics/compute-bleu")["reason"]
    history = ok(alice.get("/v1/history?evaluator=metrics&profile=compute-bleu"))
    assert (history["n"], history["pass_rate"], history["pass_reason"]) == (4, None, "no threshold")
    assert history["confidence_interval"]["of"] == "score"
    assert history["confidence_interval"]["lower"] is not None


@pytest.mark.parametrize("level", [0.8, 0.9, 0.99, 0.999])
def test_levels(alice: Caller, level: float) -> None:
    insert(alice, [float(i % 3 > 0) for i in range(300)])
    found = asked(alice, {"strategy": FULL, "level": level})

    tail = (1 - level) / 2
    assert found["alpha"] == level
    assert [found["lower"], found["upper"]] == pytest.approx(
        [binom.ppf(p, 300, 2 / 3) / 300 for p in (tail, 1 - tail)], abs=1e-9
    )
    assert found == of_history(alice, f"&strategy={FULL}&level={level}")


@pytest.mark.parametrize(
    ("strategy", "pointer"),
    [
        ("fullhistory", ""),
        ({"strategy": "fullhistory"}, "/strategy"),
        ({"levle": 0.9}, "/levle"),
        ({"level": 0.5}, "/level"),
        ({"level": "high"}, "/level"),
        ({"level": True}, "/level"),
        ({"of": "passes"}, "/of"),
        ({"scope": "app"}, "/scope"),
        ({"scope": {"apps": "x"}}, "/scope/apps"),
        ({"scope": {"app": "x", "project": "y"}}, "/scope"),
        ({"scope": {}}, "/scope"),
        ({"scope": {"app": 3}}, "/scope/app"),
        ({"scope": {"project": "nobody's"}}, "/scope/project"),
        ({"scope": {"experiment": "12"}}, "/scope/experiment"),
        ({"scope": {"tags": {}}}, "/scope/tags"),
        ({"scope": {"tags": {"a": 1}}}, "/scope/tags/a"),
        ({"since": "yesterday"}, "/since"),
        ({"since": "2026-11-22T10:00:00"}, "/since"),
        ({"since": {"score": 3}}, "/since/score"),
        ({"since": {"scores": 1}}, "/since/scores"),
        ({"since": {"scores": 5, "revision": 1}}, "/since"),
        ({"since": {"revision": 0}}, "/since/revision"),
        ({"include_experiments": "some"}, "/include_experiments"),
        (["full-history"], ""),
    ],
)
def test_what_cannot_be_asked_is_pointed_to(alice: Caller, strategy: Any, pointer: str) -> None:
    refused = alice.evaluate("exact-match", output="x", label="x", confidence_interval_strategy=strategy)

    assert refused.status_code == 422
    assert f"/confidence_interval_strategy{pointer}" in [error["pointer"] for error in refused.json()["errors"]]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("&level=0.5", "/level"),
        ("&level=x", "/level"),
        ("&of=passes", "/of"),
        ("&scope.apps=x", "/scope.apps"),
        ("&scope.app=x&scope.project=y", "/scope"),
        ("&since.scores=x", "/since.scores"),
        ("&since=yesterday", "/since"),
        ("&include_experiments=x", "/include_experiments"),
        ("&levle=0.9", "/levle"),
    ],
)
def test_what_a_query_cannot_ask_is_pointed_to(alice: Caller, query: str, pointer: str) -> None:
    refused = alice.get(PATH + query)

    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


def test_a_stored_request_answers_again_with_the_same_interval(alice: Caller) -> None:
    insert(alice, [1.0, 0.0, 1.0], app="shop")
    insert(alice, [0.0] * 5, app="desk")
    strategy = {"strategy": "wilson", "level": 0.9, "scope": {"app": "shop"}, "since": {"scores": 3}}
    answer = ok(alice.evaluate("exact-match", output="x", label="x", app="shop", confidence_interval_strategy=strategy))
    info = answer["results"][0]["evaluation_result"]["additional_info"]

    again = ok(alice.get(f"/v1/evaluate/{answer['id']}"))["results"][0]["evaluation_result"]["additional_info"]
    assert info["confidence_interval"]["n"] == 3
    assert again["confidence_interval"] == info["confidence_interval"]


def test_parts_that_differ_are_told(alice: Caller) -> None:
    insert(alice, [1.0] * 40)
    insert(alice, [0.0, 1.0] * 20, source="import")
    found = asked(alice, FULL)

    assert found["sources"]["evaluation"] == {"n": 40, "rate": 1.0}
    assert found["sources"]["import"] == {"n": 40, "rate": 0.5}
    assert found["sources"]["experiment"] == {"n": 0, "rate": None}
    assert n_of(found) == found["n"]
    assert "mixed_sources" in found["warnings"]
    assert "mixed_sources" not in asked(alice, {"since": {"scores": 40}})["warnings"]


def test_a_history_without_scores_names_the_profiles_that_have_some(alice: Caller, charlie: Caller) -> None:
    names = ["a", "b"]
    for name in names:
        insert(alice, [1.0], profile_name=name)

    assert ok(alice.get(PATH))["other_profiles"] == names
    assert ok(charlie.get(PATH))["other_profiles"] == []
    insert(alice, [1.0])
    assert "other_profiles" not in ok(alice.get(PATH))
    assert ok(alice.get(f"{PATH}&scope.app=elsewhere"))["other_profiles"] == names


def test_the_scope_of_an_app_that_is_none_is_told(alice: Caller, charlie: Caller) -> None:
    alice.evaluate("exact-match", output="x", label="x", app="shop")

    found = ok(alice.get(f"{PATH}&scope.app=shpo"))
    assert (found["n"], found["warnings"]) == (
        0, [{"pointer": "/scope.app", "detail": "No app is named 'shpo'.", "did_you_mean": ["shop"]}],
    )  # fmt: skip
    assert ok(charlie.get(f"{PATH}&scope.app=shop"))["warnings"][0]["did_you_mean"] == []
    assert "warnings" not in ok(alice.get(f"{PATH}&scope.app=shop"))
    assert ok(alice.get(f"{PATH}&scope=account"))["n"] == 1


def test_an_evaluator_without_a_default_names_the_profiles_that_have_scores(alice: Caller) -> None:
    path = "/v1/history?evaluator=metrics"
    said = [alice.get(path).json()["errors"]]
    insert(alice, [1.0], evaluator_id="metrics-2026-11-28", profile_name="patronus:compute-bleu")
    said.append(alice.get(path).json()["errors"])

    wanted = "Evaluator 'metrics' needs a `profile`; "
    assert said == [
        [{"pointer": "/profile", "detail": f"{wanted}none has scores yet."}],
        [{"pointer": "/profile", "detail": f"{wanted}with scores: patronus:compute-bleu."}],
    ]
