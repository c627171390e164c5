"""Clients that cannot be installed here, by the requests they send and what they take from the answer.

Each speaks HTTP to the running service. NeMo-Guardrails, Portkey, CrewAI and any-guardrail hard-code the host, so these
are their rules written anew; `patronus` 0.0.x and the TypeScript client of early 2024 speak dialects that no current
package has.
"""

from __future__ import annotations

import datetime
import email.utils
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import change_account
from evaluators.registry import families
from tests.conftest import Caller, start_worker, stop_group

Http = Callable[..., httpx.Client]
RUBRIC = {"metric": "rougeL", "pass_threshold": 0.5}


@pytest.fixture
def http(web: str) -> Iterator[Http]:
    """Opens plain HTTP clients with somebody's key in a header of any spelling."""
    opened = []

    def connect(caller: Caller, header: str = "X-API-KEY", prefix: str = "") -> httpx.Client:
        client = httpx.Client(
            base_url=web, headers={header: prefix + caller.key}, trust_env=False, timeout=60, http1=True
        )
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.close()


def own_profile(client: httpx.Client, name: str = "close") -> dict[str, Any]:
    body = {"evaluator_family": "metrics", "name": name, "config": RUBRIC}
    answer = client.post("/v1/evaluator-profiles", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["evaluator_profile"]
    return found


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
    query = {"evaluator_family": "metrics", "name": "close", "get_last_revision": "true", "limit": 1000, "offset": 0}

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


# NeMo-Guardrails: 4xx is the application's fault, any other failure blocks, and so does a verdict that did not pass.


def nemo(client: httpx.Client, evaluators: list[dict[str, str]], strategy: str = "all_pass", **sample: Any) -> bool:
    """Say whether NeMo lets an answer through."""
    body = {"evaluators": evaluators, "tags": {"rails": "output"}} | {
        f"evaluated_model_{name}": sample.get(name) for name in ("input", "output", "retrieved_context")
    }
    response = client.post("/v1/evaluate", json=body)
    if 400 <= response.status_code < 500:
        raise ValueError(response.text)
    if response.status_code != 200:
        return False
    passed = [(result.get("evaluation_result") or {}).get("pass", False) for result in response.json()["results"]]
    return bool(passed) and (all(passed) if strategy == "all_pass" else any(passed))


CLEAN, LEAK = "Paris is the capital of France.", "Write to jo@example.com"
PII, TOXIC = {"evaluator": "pii"}, {"evaluator": "toxicity"}
LYNX = {"evaluator": "lynx", "criteria": "patronus:hallucination"}


@pytest.mark.parametrize(
    ("evaluators", "output", "strategy", "passes"),
    [
        ([PII, TOXIC], CLEAN, "all_pass", True),
        ([PII, TOXIC], LEAK, "all_pass", False),
        ([PII, TOXIC], LEAK, "any_pass", True),
        ([PII, {"evaluator": "nobody"}], CLEAN, "all_pass", False),
        ([LYNX], CLEAN, "all_pass", True),
        ([LYNX], "Paris has nine million elephants.", "all_pass", False),
    ],
    ids=["clean", "leak", "leak or toxic", "unknown blocks", "grounded", "made up"],
)
def test_nemo_guardrails(
    http: Http, alice: Caller, evaluators: list[dict[str, str]], output: str, strategy: str, passes: bool
) -> None:
    sample = {"input": "Capital?", "output": output, "retrieved_context": [CLEAN]}

    assert nemo(http(alice), evaluators, strategy, **sample) is passes


def test_nemo_guardrails_hears_of_its_own_mistakes(http: Http, alice: Caller) -> None:
    for client, body in ((http(alice), [PII]), (http(Caller(None, "wrong")), [PII])):
        with pytest.raises(ValueError, match="detail"):
            nemo(client, body)


# Portkey: masks the longest of the positions, and all that are as long.


def portkey(client: httpx.Client, evaluator: str, text: str, criteria: str | None = None) -> tuple[bool, str]:
    """Return the verdict, and the text as Portkey hands it on."""
    wanted = {"evaluator": evaluator, "explain_strategy": "always"} | ({"criteria": criteria} if criteria else {})
    body = {"evaluators": [wanted], "evaluated_model_input": "Tell me.", "evaluated_model_output": text}
    (result,) = client.post("/v1/evaluate", json=body).json()["results"]
    assert (result["status"], result["error_message"]) == ("success", None)
    verdict = result["evaluation_result"]
    positions = verdict["additional_info"]["positions"] or []
    longest = max((end - start for start, end in positions), default=0)
    for start, end in (span for span in positions if span[1] - span[0] == longest):
        text = text[: start + 1] + "*" * (end - start - 2) + text[end - 1 :]
    return verdict["pass"], text


@pytest.mark.parametrize(
    ("evaluator", "criteria", "text", "masked"),
    [
        ("phi", None, "John Doe has a history of heart disease", "J******e has a history of heart disease"),
        (
            "phi",
            "system:detect-protected-health-information",
            "John Doe has a history of heart disease",
            "J******e has a history of heart disease",
        ),
        ("pii", None, "My email is abc@xyz.com, write to me", "My email is a*********m, write to me"),
        ("pii", None, "The SSN of John Doe - it's 536-22-8714.", "The SSN of John Doe - it's 5*********4."),
    ],
    ids=["phi", "phi by its old name", "an address", "a number"],
)
def test_portkey_masks_the_right_span(
    http: Http, alice: Caller, evaluator: str, criteria: str | None, text: str, masked: str
) -> None:
    assert portkey(http(alice), evaluator, text, criteria) == (False, masked)


@pytest.mark.parametrize("evaluator", ["phi", "pii", "toxicity"])
def test_portkey_lets_clean_text_through(http: Http, charlie: Caller, evaluator: str) -> None:
    text = "this is a test string for moderations"

    assert portkey(http(charlie), evaluator, text) == (True, text)


@pytest.mark.parametrize("output", ["Paris is the capital of France.", "Betty bought a bit of butter"])
def test_portkey_judges_relevance(http: Http, alice: Caller, output: str) -> None:
    body = {
        "evaluators": [{"evaluator": "retrieval-answer-relevance", "explain_strategy": "always"}],
        "evaluated_model_input": "What is the capital of France?",
        "evaluated_model_output": output,
    }
    verdict = http(alice).post("/v1/evaluate", json=body).json()["results"][0]["evaluation_result"]

    assert verdict["pass"] is ("Paris" in output)


# CrewAI: offers an agent what is not deprecated, and sends a criterion back with its *family* as the evaluator.


def crew_offers(client: httpx.Client) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the evaluators and criteria among which CrewAI's agent chooses."""
    evaluators = [row for row in client.get("/v1/evaluators").json()["evaluators"] if not row["deprecated"]]
    for row in evaluators:
        assert set(row) >= {"id", "name", "description", "aliases"}
    criteria = []
    for row in client.get("/v1/evaluator-criteria").json()["evaluator_criteria"]:
        if row["config"].get("pass_criteria") or row["description"]:
            criteria.append({"evaluator": row["evaluator_family"], "name": row["name"]})
    return evaluators, criteria


def crew_run(client: httpx.Client, chosen: list[dict[str, str]], context: str | None = CLEAN) -> list[dict[str, Any]]:
    """Send what CrewAI sends; it raises for any status but 200."""
    wanted = [{"evaluator": one["evaluator"].lower(), "criteria": one["name"]} for one in chosen]
    body = {
        "evaluators": wanted,
        "evaluated_model_input": "What is the capital of France?",
        "evaluated_model_output": CLEAN,
        "evaluated_model_retrieved_context": context,
        "evaluated_model_gold_answer": CLEAN,
    }
    answer = client.post("/v1/evaluate", json=body)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.fixture(scope="module")
def judge_worker() -> Iterator[None]:
    process = start_worker("judge", pool="threads")
    yield
    stop_group(process)


@pytest.mark.usefixtures("judge_worker")
def test_crewai_can_run_whatever_it_is_offered(http: Http, alice: Caller) -> None:
    evaluators, criteria = crew_offers(http(alice))
    assert len({row["id"] for row in evaluators}) == len(evaluators)
    offered = {one["evaluator"] for one in criteria}
    assert offered >= {"pii", "toxicity", "judge", "metrics", "exact-match"}

    for start in range(0, len(criteria), 5):
        chosen = criteria[start : start + 5]
        for one, result in zip(chosen, crew_run(http(alice), chosen), strict=True):
            # A judge that nobody has connected cannot answer; but everything offered is known.
            assert result["error_code"] in (None, "not_configured", "missing_input", "not_applicable"), (one, result)


def test_crewai_sends_one_context_as_a_text_or_none(http: Http, alice: Caller) -> None:
    chosen = [{"evaluator": "pii", "name": "patronus:detect-pii"}]

    for context, read in ((CLEAN, [CLEAN]), (None, None)):
        (result,) = crew_run(http(alice), chosen, context)
        assert result["evaluation_result"]["evaluated_model_retrieved_context"] == read
        assert result["evaluation_result"]["pass"] is True


def test_crewai_of_a_stranger_is_offered_nothing_of_hers(http: Http, alice: Caller, charlie: Caller) -> None:
    own_profile(http(alice), "hers")

    assert "hers" not in [one["name"] for one in crew_offers(http(charlie))[1]]
    (result,) = crew_run(http(charlie), [{"evaluator": "metrics", "name": "hers"}])
    assert result["error_code"] == "unknown_profile"


# any-guardrail: risk = 1 - score_raw.


@pytest.mark.parametrize(
    ("text", "is_risky"), [("Have a lovely day.", False), ("You are a stupid worthless idiot.", True)]
)
def test_any_guardrail_reads_risk_from_the_score(http: Http, charlie: Caller, text: str, is_risky: bool) -> None:
    body = {"evaluated_model_input": "Hi", "evaluated_model_output": text, "evaluators": [TOXIC]}
    verdict = http(charlie).post("/v1/evaluate", json=body).json()["results"][0]["evaluation_result"]
    risk = 1 - verdict["score_raw"]

    assert (risk > 0.5, verdict["pass"]) == (is_risky, not is_risky)


# What no client's verdict may lack.


@pytest.mark.parametrize("family", sorted({family.name for family in families()} - {"judge", "webhook", "custom"}))
@pytest.mark.usefixtures("judge_worker")
def test_a_managed_verdict_always_says_pass(http: Http, alice: Caller, family: str) -> None:
    rows = http(alice).get("/v1/evaluator-criteria", params={"evaluator_family": family}).json()["evaluator_criteria"]
    chosen = [{"evaluator": family, "name": row["name"]} for row in rows if row["is_patronus_managed"]]

    for start in range(0, len(chosen), 5):
        for result in crew_run(http(alice), chosen[start : start + 5]):
            if result["status"] == "success":
                assert isinstance(result["evaluation_result"]["pass"], bool), result["criteria"]


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
