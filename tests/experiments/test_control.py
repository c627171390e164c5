"""Stop, resume, clone, delete: alone, together, twice, and at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_connection, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]


def many(caller: Caller, id: str, verb: str, **body: Any) -> Any:
    return caller.post(f"/v1/experiments/{id}/configs/{verb}", {"config_ids": "all"} | body)


def test_it_stops_and_resumes_all_at_once_and_twice(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), TWO)
    first, second = (ok(many(alice, made["id"], "stop")) for _ in range(2))
    assert (len(first["changed"]), len(second["changed"])) == (2, 0)
    assert {config["stop_reason"] for config in second["configs"]} == {"user"}
    assert live(alice, made["id"])["experiment"]["state"] == "idle"
    assert len(ok(many(alice, made["id"], "resume"))["changed"]) == 2
    assert live(alice, made["id"])["experiment"]["state"] == "running"


def test_it_changes_nothing_when_an_epoch_is_old(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), TWO)
    ids = [config["id"] for config in made["configs"]]
    epochs = {id: 1 for id in ids}
    ok(many(alice, made["id"], "stop", config_ids=[ids[0]], expected_epochs=epochs))
    refused = ok(many(alice, made["id"], "stop", expected_epochs=epochs), 422)
    assert refused["code"] == "stale_epoch"
    assert by_name(live(alice, made["id"]))["b"]["state"] == "running"


def test_a_deleted_config_is_hidden_and_its_books_stay(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), TWO)
    Runner(alice, made).run()
    config = made["configs"][0]["id"]
    for _ in range(2):
        answer = alice.call("DELETE", f"/v1/experiments/{made['id']}/configs/{config}")
        assert answer.status_code in (204, 404)
    assert list(by_name(live(alice, made["id"]))) == ["b"]
    assert ok(alice.get(f"/v1/experiments/{made['id']}/results"))["results"] == []
    assert recounted(alice, made["id"]) == []
    again = {"configs": [{"name": "a", "kind": "push"}]}
    ok(alice.post(f"/v1/experiments/{made['id']}/configs", again))


def test_every_operation_is_in_the_audit_log(alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry
    from evalsvc.experiments.models import ControlOp

    made = make_experiment(alice, make_dataset(alice, n=5), TWO)
    ok(many(alice, made["id"], "stop"))
    ok(many(alice, made["id"], "resume"))
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone", {"name": "c"}))
    rows = AuditEntry.objects.using("system").filter(account=alice.account, action__startswith="config.")
    actions = list(rows.order_by("id").values_list("action", "target"))
    assert actions[2:] == [
        ("config.stop", "a"),
        ("config.stop", "b"),
        ("config.resume", "a"),
        ("config.resume", "b"),
        ("config.created", "c"),
    ]
    ops = ControlOp.objects.using("system").filter(experiment_id=made["id"]).order_by("id")
    assert [op.action for op in ops] == ["stop", "resume", "clone"]


def test_races_of_stop_and_resume_end_in_one_of_the_two(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), TWO)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda verb: many(alice, made["id"], verb).status_code, ["stop", "resume"] * 6))
    assert set(answers) == {200}
    states = {config["state"] for config in live(alice, made["id"])["configs"]}
    assert states in ({"stopped"}, {"running"})


def test_a_clone_starts_at_the_first_position_and_its_evidence_where_nobody_has_looked(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO)
    a, b = (Runner(alice, made, i) for i in range(2))
    for runner in (a, b):
        for _ in range(2):
            unit = runner.lease()["unit"]
            runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    body = {"name": "c", "changes": {"k": 3}}
    clone = ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/clone", body))["config"]
    assert (clone["parent_id"], clone["fresh_from"], clone["claim_pos"]) == (a.config, 20, 0)
    assert (clone["parameters"], clone["state"], clone["arrival"]) == ({"k": 3}, "running", 3)
    c = Runner(alice, {**made, "configs": [clone]})
    c.run(lambda e: e["expected"] if e["pos"] < 20 else "wrong")
    for runner in (a, b):
        runner.run()
    view = by_name(live(alice, made["id"]))["c"]
    metric = view["metrics"]["accuracy"]
    assert metric["seen_before_design"] == {"n": 20, "value": 1.0}
    assert (metric["n"], metric["N"], metric["value"], metric["designed_after"]) == (40, 40, 0.5, 20)
    assert metric["fresh"] == {"n": 20, "value": 0.0}
    assert (view["versus_leader"]["n"], view["versus_leader"]["delta"]) == (40, -0.5)
    assert view["versus_leader"]["evidence"]["n_fresh"] == 20
    assert recounted(alice, made["id"]) == []


def test_k_max_bounds_how_many_configs_there_can_be(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), TWO, k_max=3)
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    ok(alice.post(path, {}))
    assert "k_max" in ok(alice.post(path, {}), 422)["detail"]


def test_a_clone_with_a_bad_change_is_refused(alice: Caller) -> None:
    parameters = {"connection": make_connection(alice, "http://127.0.0.1:9/v1"), "prompt": "{{input}}"}
    made = make_experiment(alice, make_dataset(alice, n=5), [{"name": "a", "kind": "chat", "parameters": parameters}])
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    assert (
        ok(alice.post(path, {"changes": {"temperature": "hot"}}), 422)["errors"][0]["pointer"] == "/changes/temperature"
    )
    assert ok(alice.post(path, {"changes": {"prompt": None}}), 422)
