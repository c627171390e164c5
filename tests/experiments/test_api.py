"""Creating, reading, changing and deleting experiments; what is refused, and what a stranger sees."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, chat, make_connection, make_dataset, make_experiment, ok

NOWHERE = "http://127.0.0.1:9/v1"


def refused(response: Any) -> dict[str, str]:
    body = ok(response, 422)
    return {error["pointer"]: error["detail"] for error in body["errors"]}


def plan(dataset_id: str, **fields: Any) -> dict[str, Any]:
    return {"name": "x", "plan": {"dataset_id": dataset_id, "metrics": [EXACT]} | fields}


def test_it_makes_a_passive_experiment_in_the_shape_of_the_wire(alice: Caller) -> None:
    body = {"name": "nightly", "project_name": "search", "tags": {"a": "b"}, "metadata": {"k": 1}}
    made = ok(alice.post("/v1/experiments", body))["experiment"]
    assert (made["name"], made["tags"], made["metadata"], made["plan"]) == ("nightly", {"a": "b"}, {"k": 1}, None)
    assert ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"] == made
    for method in (alice.patch, alice.post):
        changed = ok(method(f"/v1/experiments/{made['id']}", {"metadata": {"k": 2}}))["experiment"]
        assert changed["metadata"] == {"k": 2}
    assert alice.call("DELETE", f"/v1/experiments/{made['id']}").status_code == 204
    assert alice.get(f"/v1/experiments/{made['id']}").status_code == 404


def test_it_lists_by_project_name_and_cursor(alice: Caller) -> None:
    for i in range(3):
        ok(alice.post("/v1/experiments", {"name": f"n{i}", "project_name": "p"}))
    ok(alice.post("/v1/experiments", {"name": "other"}))
    first = ok(alice.get("/v1/experiments?limit=2"))
    rest = ok(alice.get(f"/v1/experiments?limit=2&cursor={first['next_cursor']}"))
    assert [row["name"] for row in first["experiments"] + rest["experiments"]] == ["other", "n2", "n1", "n0"]
    assert [row["name"] for row in ok(alice.get("/v1/experiments?offset=1&limit=2"))["experiments"]] == ["n2", "n1"]
    project = first["experiments"][1]["project_id"]
    assert len(ok(alice.get(f"/v1/experiments?project_id={project}"))["experiments"]) == 3
    assert len(ok(alice.get("/v1/experiments?name=n1"))["experiments"]) == 1


def test_it_hides_everything_from_strangers(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), [{"name": "mine", "kind": "push"}])
    id, config = made["id"], made["configs"][0]["id"]
    lease = ok(alice.post(f"/v1/experiments/{id}/configs/{config}/lease", {}))["unit"]
    reads = ["", "/live", "/looks", "/decisions", "/recount", "/results", "/configs", f"/configs/{config}"]
    missing = charlie.get("/v1/experiments/1").json() | {"request_id": None}
    for path in reads:
        answer = charlie.get(f"/v1/experiments/{id}{path}")
        assert answer.status_code == 404, path
        assert answer.json() | {"request_id": None} == missing
    many = {"config_ids": [config]}
    writes = [("/start", None), ("/configs", {"configs": [{"kind": "push"}]}), (f"/configs/{config}/stop", {})]
    writes += [(f"/configs/{config}/{verb}", {}) for verb in ("resume", "clone", "lease")]
    writes += [(f"/configs/{verb}", many) for verb in ("stop", "resume", "delete")]
    writes += [(f"/units/{lease['id']}/outputs", {"token": lease["token"], "outputs": []})]
    for path, body in writes:
        assert charlie.post(f"/v1/experiments/{id}{path}", body).status_code == 404, path
    assert charlie.patch(f"/v1/experiments/{id}", {"name": "mine"}).status_code == 404
    for path in ("", f"/configs/{config}"):
        assert charlie.call("DELETE", f"/v1/experiments/{id}{path}").status_code == 404
    assert ok(charlie.get("/v1/experiments"))["experiments"] == []
    assert ok(alice.get(f"/v1/experiments/{id}/configs/{config}"))["config"]["state"] == "running"


def test_it_refuses_a_config_of_another_experiment_of_the_same_account(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    one, other = (make_experiment(alice, dataset, [{"name": "a", "kind": "push"}]) for _ in range(2))
    config = other["configs"][0]["id"]
    assert alice.post(f"/v1/experiments/{one['id']}/configs/{config}/stop", {}).status_code == 404
    assert "/config_ids" in refused(alice.post(f"/v1/experiments/{one['id']}/configs/stop", {"config_ids": [config]}))
    unit = ok(alice.post(f"/v1/experiments/{other['id']}/configs/{config}/lease", {}))["unit"]
    body = {"token": unit["token"], "outputs": []}
    assert alice.post(f"/v1/experiments/{one['id']}/units/{unit['id']}/outputs", body).status_code == 404


def test_it_refuses_writes_of_a_reading_key(alice: Caller, bob: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), [{"name": "a", "kind": "push"}])
    config = made["configs"][0]["id"]
    for path in ("", f"/{made['id']}/configs/{config}/stop", f"/{made['id']}/configs/{config}/lease"):
        assert bob.post(f"/v1/experiments{path}", {"name": "x"}).status_code == 403
    assert bob.get(f"/v1/experiments/{made['id']}/live").status_code == 200


def test_it_refuses_datasets_of_others(alice: Caller, charlie: Caller) -> None:
    assert "/plan/dataset_id" in refused(charlie.post("/v1/experiments", plan(make_dataset(alice, n=3))))
    assert "/plan/dataset_id" in refused(alice.post("/v1/experiments", plan(str(uuid.uuid4()))))


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"metrics": []}, "/plan/metrics"),
        ({"metrics": [{"name": "a", "evaluator": "no-such"}]}, "/plan/metrics/0/evaluator"),
        ({"metrics": [EXACT, EXACT]}, "/plan/metrics/1/name"),
        ({"metrics": [{"name": "a", "source": "client", "surprise": 1}]}, "/plan/metrics/0/surprise"),
        ({"metrics": [{"name": "a", "source": "nonsense"}]}, "/plan/metrics/0/source"),
        ({"metrics": [{"name": "a"}]}, "/plan/metrics/0"),
        ({"metrics": [{"name": "a", "source": "client", "value_range": [1, 0]}]}, "/plan/metrics/0/value_range"),
        (
            {"metrics": [{"name": "a", "evaluator": "metrics", "criteria": "compute-bleu", "source": "pass"}]},
            "/plan/metrics/0/source",
        ),
        ({"metrics": [{"name": "a", "source": "client", "strategy": "exact"}]}, "/plan/metrics/0/strategy"),
        (
            {"metrics": [{"name": "a", "source": "client", "type": "ratio"}], "strategy": "wilson"},
            "/plan/metrics/0/strategy",
        ),
        ({"metrics": [{"name": "a", "source": "latency_ms"}], "policy": "race_default"}, "/plan/policy"),
        ({"primary_metric": "other"}, "/plan/primary_metric"),
        ({"level": 1.5}, "/plan/level"),
        ({"level": 0.9, "online_strategy_kwargs": {"confidence_level": 0.9}}, "/plan/level"),
        ({"online_strategy_kwargs": {"strategy_name": "bayes"}}, "/plan/online_strategy_kwargs/strategy_name"),
        ({"baseline": "none of them"}, "/plan/baseline"),
        ({"sample": {"input": "question"}}, "/plan/sample/input"),
        ({"budget": {"queries": 0}}, "/plan/budget/queries"),
        ({"micro_batch": 0}, "/plan/micro_batch"),
    ],
)
def test_it_points_to_what_is_wrong_with_a_plan(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert pointer in refused(alice.post("/v1/experiments", plan(make_dataset(alice, n=3), **fields)))


@pytest.mark.parametrize(
    ("config", "pointer"),
    [
        ({"kind": "other"}, "/configs/0/kind"),
        ({"kind": "chat", "parameters": {"prompt": "{{input}}"}}, "/configs/0/parameters/connection"),
        ({"kind": "chat", "parameters": {"connection": "c"}}, "/configs/0/parameters"),
        ({"kind": "chat", "parameters": {"connection": "c", "prompt": "{{expected}}"}}, "/configs/0/parameters"),
        ({"kind": "chat", "parameters": {"connection": "c", "prompt": "{{input.nothing}}"}}, "/configs/0/parameters"),
        ({"kind": "chat", "parameters": {"connection": "c", "prompt": "x", "temperature": "hot"}}, "/configs/0/parameters/temperature"),
        ({"kind": "chat", "parameters": {"connection": "c", "prompt": "x", "stream": True}}, "/configs/0/parameters/stream"),
        ({"kind": "http", "parameters": {"url": "file:///etc/passwd"}}, "/configs/0/parameters/url"),
        ({"kind": "http", "parameters": {"url": "https://e.com", "output": {"output": "x"}}}, "/configs/0/parameters/output/output"),
        ({"kind": "push", "search": {"k": []}}, "/configs/0/search"),
        ({"kind": "push", "search": {"k": [1]}, "method": "random"}, "/configs/0/search"),
        ({"kind": "push", "search": {"k": list(range(300))}}, "/configs"),
    ],
)  # fmt: skip
def test_it_points_to_what_is_wrong_with_a_config(alice: Caller, config: dict[str, Any], pointer: str) -> None:
    make_connection(alice, NOWHERE, name="c")
    body = plan(make_dataset(alice, n=3)) | {"configs": [config]}
    assert pointer in refused(alice.post("/v1/experiments", body))
    assert ok(alice.get("/v1/experiments"))["experiments"] == []


def test_a_config_names_a_connection_that_is_there(alice: Caller, charlie: Caller) -> None:
    theirs = make_connection(charlie, NOWHERE)
    gone = make_connection(alice, NOWHERE)
    (row,) = ok(alice.get("/v1/connections"))["connections"]
    off = make_connection(alice, NOWHERE, is_enabled=False)
    assert alice.call("DELETE", f"/v1/connections/{row['id']}").status_code == 204
    dataset = make_dataset(alice, n=3)

    for name in ("typo", theirs, gone, row["id"]):
        for path in ("/v1/experiments", "/v1/experiments/preview"):
            body = plan(dataset) | {"configs": [chat(off, "m", "off"), chat(name, "m", "x")]}
            assert list(refused(alice.post(path, body))) == ["/configs/1/parameters/connection"]
    assert ok(alice.get("/v1/experiments"))["experiments"] == []
    made = ok(alice.post("/v1/experiments", plan(dataset, start=False) | {"configs": [chat(off, "m", "off")]}))
    made = made["experiment"]
    more = {"configs": [chat(theirs, "m", "more")]}
    assert list(refused(alice.post(f"/v1/experiments/{made['id']}/configs", more))) == [
        "/configs/0/parameters/connection"
    ]
    clone = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    assert list(refused(alice.post(clone, {"changes": {"connection": theirs}}))) == ["/changes/connection"]


@pytest.mark.parametrize(("knob", "value"), [("max_tokens", 0), ("max_completion_tokens", -1), ("top_k", -1)])
def test_it_refuses_counts_that_no_request_can_have(alice: Caller, knob: str, value: int) -> None:
    parameters = {"connection": make_connection(alice, NOWHERE), "prompt": "{{input}}", knob: value}
    body = plan(make_dataset(alice, n=3)) | {"configs": [{"kind": "chat", "parameters": parameters}]}
    for path in ("/v1/experiments", "/v1/experiments/preview"):
        found = refused(alice.post(path, body))
        assert list(found) == [f"/configs/0/parameters/{knob}"]
        assert f"or more, and not {value}" in found[f"/configs/0/parameters/{knob}"]


def test_lists_have_an_end(alice: Caller) -> None:
    """As long as the API page says: one more is refused as a whole, and nothing is stored."""
    dataset = make_dataset(alice, n=3)
    metrics = [{**EXACT, "name": f"m{i}"} for i in range(51)]
    configs = [{"kind": "push", "name": f"c{i}"} for i in range(257)]
    paths = ("/v1/experiments", "/v1/experiments/preview")
    for path in paths:
        assert list(refused(alice.post(path, plan(dataset, metrics=metrics)))) == ["/plan/metrics"]
        assert list(refused(alice.post(path, plan(dataset) | {"configs": configs}))) == ["/configs"]
    made = make_experiment(alice, dataset, [{"kind": "push"}])
    own = f"/v1/experiments/{made['id']}"
    assert list(refused(alice.post(f"{own}/metrics", {"metrics": metrics}))) == ["/metrics"]
    assert list(refused(alice.post(f"{own}/configs", {"configs": configs}))) == ["/configs"]
    scores = [{"output_id": "1", "value": 1}] * 1001
    assert list(refused(alice.post(f"{own}/scores", {"metric": "accuracy", "scores": scores}))) == ["/scores"]
    unit = ok(alice.post(f"{own}/configs/{made['configs'][0]['id']}/lease", {"n": 3}))["unit"]
    outputs = [{"pos": i, "output": "x"} for i in range(101)]
    answer = alice.post(f"{own}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs})
    assert list(refused(answer)) == ["/outputs"]
    assert [row["id"] for row in ok(alice.get("/v1/experiments"))["experiments"]] == [made["id"]]


def test_it_expands_a_grid_and_draws_from_it_without_repeats(alice: Caller) -> None:
    search = {"k": [1, 2, 3], "model": ["a", "b"]}
    dataset = make_dataset(alice, n=3)
    grid = make_experiment(alice, dataset, [{"kind": "push", "search": search}], start=False)
    assert len({config["name"] for config in grid["configs"]}) == 6
    assert grid["configs"][1]["parameters"] == {"k": 1, "model": "b"}
    drawn = {"kind": "push", "search": search, "method": "random", "n": 4, "seed": 7}
    twice = [make_experiment(alice, dataset, [drawn], start=False)["configs"] for _ in range(2)]
    assert [c["parameters"] for c in twice[0]] == [c["parameters"] for c in twice[1]]
    assert len({str(c["parameters"]) for c in twice[0]}) == 4


def test_a_preview_counts_queries_tokens_and_cost_and_stores_nothing(alice: Caller) -> None:
    connection = make_connection(alice, NOWHERE, price_input_per_million=1.0, price_output_per_million=2.0)
    config = {"kind": "chat", "parameters": {"connection": connection, "prompt": "{{input}}", "max_tokens": 10}}
    body = plan(make_dataset(alice, n=20)) | {"configs": [config | {"search": {"temperature": [0, 1]}}]}
    found = ok(alice.post("/v1/experiments/preview", body))
    assert (found["n_configs"], found["n_queries"]) == (2, 40)
    assert found["n_tokens"] > 40 * 10
    assert found["is_upper_bound"] is True
    # The answers at their own price, and not the prompts too.
    assert found["cost"] == pytest.approx(((found["n_tokens"] - 400) * 1.0 + 400 * 2.0) / 1e6)
    assert 0 < found["likely"]["cost"] <= found["cost"]
    assert ok(alice.get("/v1/experiments"))["experiments"] == []


def test_a_preview_without_max_tokens_has_no_upper_bound_and_says_so(alice: Caller) -> None:
    """1024 tokens an answer were called the most that it could cost: 3.36 for a run that cost .02."""
    connection = make_connection(alice, NOWHERE, price_input_per_million=1.0, price_output_per_million=100.0)
    config = {"kind": "chat", "parameters": {"connection": connection, "prompt": "{{input}}"}}
    found = ok(alice.post("/v1/experiments/preview", plan(make_dataset(alice, n=20)) | {"configs": [config]}))
    assert (found["cost"], found["n_tokens"], found["is_upper_bound"]) == (None, None, False)
    assert found["warnings"] == ["no_max_tokens"]
    (one,) = found["configs"]
    assert one["likely"]["rests_on"] == "answers as long as the expected ones"
    assert 0 < found["likely"]["cost"] < 20 * 20 * 100.0 / 1e6


def test_experiments_are_found_by_tags_and_metadata(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = {}
    for name, tags, metadata in [
        ("one", {"team": "search", "stage": "a:b"}, {"k": 3, "deep": {"beta": True}}),
        ("two", {"team": "search"}, {"k": "3"}),
        ("three", {}, None),
    ]:
        body = {"name": name, "tags": tags, "metadata": metadata}
        made[name] = ok(alice.post("/v1/experiments", body))["experiment"]["id"]
        ok(charlie.post("/v1/experiments", body))

    def found(**query: str) -> list[str]:
        rows = ok(bob.get(f"/v1/experiments?{urlencode(query)}"))["experiments"]
        assert all(row["id"] == made[row["name"]] for row in rows)
        return sorted(row["name"] for row in rows)

    assert found(tags="team:search") == ["one", "two"]
    assert found(tags="stage:a:b") == ["one"]
    assert found(tags='{"team": "search", "stage": "a:b"}') == ["one"]
    assert found(tags="team:sea") == []
    assert found(metadata="k:3") == ["one"]
    assert found(metadata='{"k": "3"}') == ["two"]
    assert found(metadata='{"deep": {"beta": true}}') == ["one"]
    assert found(tags="team:search", metadata='{"k": "3"}') == ["two"]


@pytest.mark.parametrize(
    "query", ["tags=x", "tags={", 'tags={"a": 1}', "tags=:x", "tags=a:%00", "metadata=x", "metadata={]"]
)
def test_what_is_no_tag_is_refused_with_the_way_to_write_it(alice: Caller, query: str) -> None:
    answer = alice.get(f"/v1/experiments?{query.replace(' ', '%20')}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] in ("/tags", "/metadata")


def test_it_keeps_the_seeds_own_words_for_the_strategy(alice: Caller) -> None:
    words = {"strategy_name": "wilson", "confidence_level": 0.9, "use_fpc": False}
    made = make_experiment(alice, make_dataset(alice, n=3), [], start=False, online_strategy_kwargs=words)
    assert (made["plan"]["strategy"], made["plan"]["level"], made["plan"]["use_fpc"]) == ("wilson", 0.9, False)


def test_it_starts_once_and_only_with_configs(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [], start=False)
    assert "/configs" in refused(alice.post(f"/v1/experiments/{made['id']}/start"))
    ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"kind": "push", "name": "a"}]}))
    for _ in range(2):
        assert ok(alice.post(f"/v1/experiments/{made['id']}/start"))["experiment"]["plan"]["state"] == "running"


def test_a_dataset_that_an_experiment_uses_cannot_be_deleted(alice: Caller) -> None:
    dataset = make_dataset(alice, n=3)
    made = make_experiment(alice, dataset, [{"kind": "push"}])
    assert ok(alice.call("DELETE", f"/v1/datasets/{dataset}"), 422)["code"] == "in_use"
    assert alice.call("DELETE", f"/v1/experiments/{made['id']}").status_code == 204
    assert alice.call("DELETE", f"/v1/datasets/{dataset}").status_code == 204


def test_it_makes_one_experiment_for_one_idempotency_key(alice: Caller) -> None:
    make_connection(alice, NOWHERE, name="c")
    body = plan(make_dataset(alice, n=3)) | {"configs": [chat("c", "m")]}
    key = {"Idempotency_Key": uuid.uuid4().hex}
    ids = {ok(alice.post("/v1/experiments", body, **key))["experiment"]["id"] for _ in range(3)}
    assert len(ids) == len(ok(alice.get("/v1/experiments"))["experiments"]) == 1
