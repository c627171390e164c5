"""The dialects of old `patronus` clients, by the requests they send and what they take from the answer.

`patronus` 0.0.x and the TypeScript client of early 2024 cannot be installed here, and no current package speaks as they
do. How requests travel is here too.
"""

from __future__ import annotations

import datetime
import email.utils
import uuid
from typing import Any

import httpx
import pytest

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import change_account
from tests.conftest import Caller
from tests.contract.older import PII, RUBRIC, Http, own_profile

# patronus 0.0.x: every field of its models must be there, and most may be null.

TEXT, AWARE = "text", "aware time"
OLD_VERDICT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("id", "project_id", "experiment_id", "evaluator_id", "evaluator_family"), (str,)),
    "evaluator_profile_public_id": (str,),
    "created_at": (AWARE,),
    "pass": (bool, None),
    "score_raw": (float, int, None),
    "additional_info": (dict,),
    "evaluated_model_retrieved_context": (list, None),
    "dataset_sample_id": (int, None),
    "tags": (dict, None),
    **dict.fromkeys(
        (
            *("evaluated_model_system_prompt", "evaluated_model_input", "evaluated_model_output", "explanation"),
            *("evaluated_model_gold_answer", "evaluation_duration", "explanation_duration", "dataset_id"),
        ),
        (str, None),
    ),
}


def assert_fits(row: dict[str, Any], model: dict[str, tuple[Any, ...]]) -> None:
    """Hold a row to a model without defaults."""
    for name, kinds in model.items():
        value = row[name]
        if AWARE in kinds:
            assert datetime.datetime.fromisoformat(value).tzinfo is not None, name
        else:
            fits = (value is None) if None in kinds and value is None else type(value) in kinds
            assert fits, (name, value)


def old_run(client: httpx.Client, *, evaluator: str, profile_name: str | None, **sample: Any) -> httpx.Response:
    """What `patronus` 0.0.x does for one row of an experiment."""
    project = client.post("/v1/projects", json={"name": "old"}).json()
    made = client.post("/v1/experiments", json={"project_id": project["id"], "name": "old-1"}).json()["experiment"]
    assert made["project_id"] == project["id"]
    body = {
        "evaluators": [{"evaluator": evaluator, "profile_name": profile_name, "explain_strategy": "always"}],
        **dict.fromkeys(("evaluated_model_system_prompt", "evaluated_model_retrieved_context"), None),
        "evaluated_model_input": "Capital?",
        "evaluated_model_output": "Paris",
        "evaluated_model_gold_answer": "Paris",
        "experiment_id": made["id"],
        "capture": "all",
        "dataset_id": None,
        "dataset_sample_id": 1,
        "tags": {},
    }
    return client.post("/v1/evaluate", json=body | sample)


def old_default(client: httpx.Client, evaluator: str) -> tuple[str, str]:
    """Find an evaluator and its only managed profile as 0.0.12 does; more or fewer than one is an error to it."""
    rows = client.get("/v1/evaluators").json()["evaluators"]
    assert all(isinstance(row[name], str) for row in rows for name in ("id", "name", "evaluator_family"))
    found = next(row for row in rows if evaluator == row["id"] or evaluator in row["aliases"])
    query = {"evaluator_family": found["evaluator_family"], "is_patronus_managed": "true", "limit": 1000, "offset": 0}
    (profile,) = client.get("/v1/evaluator-profiles", params=query).json()["evaluator_profiles"]
    assert set(profile) >= {"public_id", "config", "description", "created_at", "revision"}
    return found["id"], profile["name"]


def test_patronus_0_0_runs_an_experiment(http: Http, alice: Caller) -> None:
    client = http(alice)
    evaluator, profile = old_default(client, "exact-match")
    answer = old_run(client, evaluator=evaluator, profile_name=profile)
    (result,) = answer.json()["results"]

    assert (result["status"], result["error_message"], result["profile_name"]) == ("success", None, profile)
    assert_fits(result["evaluation_result"], OLD_VERDICT)
    assert set(result["evaluation_result"]["additional_info"]) == {"positions", "extra", "confidence_interval"}
    assert result["evaluation_result"]["dataset_sample_id"] == 1


def test_patronus_0_0_gets_null_where_there_is_no_verdict(http: Http, alice: Caller) -> None:
    (result,) = old_run(http(alice), evaluator="nobody", profile_name=None).json()["results"]

    assert (result["status"], result["profile_name"], result["evaluation_result"]) == ("validation_error", "", None)
    assert isinstance(result["error_message"], str)


def test_patronus_0_0_keeps_profiles(http: Http, alice: Caller) -> None:
    client = http(alice)
    made = own_profile(client)
    path = f"/v1/evaluator-profiles/{made['public_id']}"
    second = client.post(f"{path}/revision", json={"config": RUBRIC | {"pass_threshold": 0.9}}).json()
    query: dict[str, Any] = {
        "evaluator_family": "metrics",
        "name": "close",
        "get_last_revision": "true",
        "limit": 1000,
        "offset": 0,
    }

    (last,) = client.get("/v1/evaluator-profiles", params=query).json()["evaluator_profiles"]
    assert last == second["evaluator_profile"]
    first = old_run(client, evaluator="metrics", profile_name="close:1").json()["results"][0]
    assert first["evaluation_result"]["criteria_revision"] == 1
    assert len(client.patch(f"{path}/archive").json()["evaluator_profiles"]) == 2


def test_patronus_0_0_of_a_stranger(http: Http, alice: Caller, charlie: Caller) -> None:
    own_profile(http(alice))
    (result,) = old_run(http(charlie), evaluator="metrics", profile_name="close").json()["results"]

    assert (result["status"], result["error_code"]) == ("validation_error", "unknown_profile")
    assert http(charlie).get("/v1/evaluator-profiles?name=close").json() == {"evaluator_profiles": []}


# The first half of 2024: evaluator_id, profile_inline, input, output, label, and one `explain` for all.


def test_the_dialect_of_early_2024(http: Http, alice: Caller, charlie: Caller) -> None:
    body = {
        "evaluators": [{"evaluator_id": "exact-match"}, {"evaluator_id": "metrics", "profile_inline": RUBRIC}],
        **{"input": "Capital?", "output": "Paris", "label": "Paris", "explain": "on-success", "app": "early"},
    }
    for caller in (alice, charlie):
        results = http(caller).post("/v1/evaluate", json=body).json()["results"]
        verdicts = [result["evaluation_result"] for result in results]

        assert [result["criterion_id"] for result in results] == [
            verdict["evaluator_profile_public_id"] for verdict in verdicts
        ]
        assert [(verdict["pass"], verdict["explain"]) for verdict in verdicts] == [(True, True)] * 2
        assert all(verdict["score_normalized"] is not None for verdict in verdicts)
        assert verdicts[0]["explanation"]


def test_a_judge_is_told_its_criteria_in_the_request(http: Http, alice: Caller) -> None:
    wanted = [{"evaluator_id": "custom-large", "profile_inline": {"pass_criteria": "It is polite."}}]
    answer = http(alice).post("/v1/evaluate", json={"evaluators": wanted, "input": "Hi", "output": "Hello"})

    assert answer.status_code == 200
    assert answer.json()["results"][0]["status"] == "validation_error"  # nobody has connected a model


# Transport.


@pytest.mark.parametrize(
    ("header", "prefix"),
    [("x-api-key", ""), ("X-Api-Key", ""), ("Authorization", "Bearer "), ("AUTHORIZATION", "bearer ")],
)
def test_a_key_comes_in_any_spelling(http: Http, alice: Caller, header: str, prefix: str) -> None:
    caller = http(alice, header, prefix).get("/v1/whoami").json()["caller"]

    assert caller["api_key"]["account"] == {"id": str(alice.account.pk), "name": alice.account.name}
    assert caller["user"] is None


@pytest.mark.parametrize("path", ["projects", "experiments", "datasets"])
def test_a_deletion_is_answered_with_nothing(http: Http, alice: Caller, path: str) -> None:
    client = http(alice)
    bodies = {"datasets": {"dataset_name": uuid.uuid4().hex, "examples": [{"input": "x"}]}}
    made = client.post(f"/v1/{path}", json=bodies.get(path, {"name": "x"})).json()
    made = made.get(path.removesuffix("s"), made)
    answer = client.delete(f"/v1/{path}/{made['id']}", headers={"Accept": "*/*"})

    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"/v1/{path}/{made['id']}").status_code == 404


def test_the_update_that_forgets_the_slash(http: Http, alice: Caller, charlie: Caller) -> None:
    made = http(alice).post("/v1/experiments", json={"name": "x", "tags": {"a": ""}}).json()["experiment"]
    metadata = {"k": [1, {"deep": None}]}

    answers = [
        http(alice).post(f"/v1/experiments{made['id']}", json={"metadata": metadata}),
        http(alice).post(f"/v1/experiments/{made['id']}", json={"metadata": metadata}),
        http(alice).patch(f"/v1/experiments/{made['id']}", json={"metadata": metadata}),
    ]
    assert [answer.json()["experiment"] for answer in answers] == [made | {"metadata": metadata}] * 3
    assert http(charlie).post(f"/v1/experiments{made['id']}", json={"metadata": {}}).status_code == 404


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/experiments/none", "/v1/projects/12", "/v2/evaluate"])
def test_an_unknown_address_is_a_problem(http: Http, alice: Caller, path: str) -> None:
    answer = http(alice).get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("limits", "exhausted", "left"),
    [
        ({"rpm_limit": 0, "monthly_limit": 1000}, "rpm", "monthly"),
        ({"rpm_limit": 1000, "monthly_limit": 0}, "monthly", "rpm"),
    ],
    ids=["minute", "month"],
)
def test_a_client_can_tell_which_limit_it_has_met(
    http: Http, alice: Caller, limits: dict[str, int], exhausted: str, left: str
) -> None:
    """`patronus` gives up when the month is over, and for a minute sleeps till the next by the answer's own date."""
    account = Account(id=alice.account.pk)
    change_account(account=account, name=alice.account.name, **limits, actor="system")
    answer = http(alice).post("/v1/evaluate", json={"evaluators": [PII], "output": "x"})

    assert answer.status_code == 429
    assert int(answer.headers[f"x-ratelimit-{exhausted}-remaining-requests"]) == 0
    assert int(answer.headers[f"x-ratelimit-{left}-remaining-requests"]) > 0
    now = email.utils.parsedate_to_datetime(answer.headers["date"])
    assert now.tzinfo is not None
    assert datetime.datetime.strptime(answer.headers["date"], "%a, %d %b %Y %H:%M:%S %Z").second == now.second
    assert int(answer.headers["retry-after"]) > 0
