"""A client that a stranger generates from the OpenAPI document, against the real service."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

from tests.cli.peers import python_with
from tests.conftest import Caller
from tests.contract.openapi_generator import generate

PACKAGE = "generated_evalsvc"
# What follows the generation makes it pretty, and takes programs that nobody here needs.
SETTINGS = f"package_name_override: {PACKAGE}\npost_hooks: []\n"
EXACT = {
    "evaluators": [{"evaluator": "exact-match"}],
    "task_output": "Paris",
    "gold_answer": "Paris",
    "confidence_interval_strategy": "wilson",
}


@pytest.fixture(scope="module")
def generated(web: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What imports a module of the generated client."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(httpx.get(f"{web}/v1/openapi.json").content)
    (folder / "settings.yaml").write_text(SETTINGS)
    command: list[Any] = [Path(sys.executable).with_name("openapi-python-client"), "generate", "--path", "openapi.json"]
    command += ["--config", "settings.yaml", "--meta", "none", "--output-path", PACKAGE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    try:
        yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]


PROGRAM = """
import json, os
import other_evalsvc as made

configuration = made.Configuration(host=os.environ["URL"], api_key={"ApiKey": os.environ["KEY"]})
with made.ApiClient(configuration) as client:
    body = made.EvaluateBody(
        evaluators=[made.EvaluatorRef(evaluator="exact-match")],
        input=made.EvaluateBodyInput("Capital?"),
        output=made.EvaluateBodyOutput("Paris"),
        gold_answer=made.EvaluateBodyGoldAnswer("Paris"),
    )
    answer = made.EvaluationsApi(client).evaluate(body)
    try:
        made.EvaluationsApi(client).evaluate(made.EvaluateBody(evaluators=body.evaluators))
    except made.ApiException as refused:
        print(json.dumps([answer.results[0].evaluation_result.var_pass, refused.status, json.loads(refused.body)["code"]]))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_openapi_generator_makes_a_typed_evaluation(web: str, alice: Caller, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_bytes(httpx.get(f"{web}/v1/openapi.json").content)
    generate(tmp_path / "openapi.json", "python", tmp_path, "--package-name", "other_evalsvc")
    command = [python_with("openapi_generator"), "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, env={"URL": web, "KEY": alice.key}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, 422, "validation_failed"]


def connected(generated: Any, web: str, caller: Caller) -> Any:
    client = generated("client").AuthenticatedClient
    return client(base_url=web, token=caller.key, prefix="", auth_header_name="X-API-KEY")


def test_an_evaluation_and_its_interval_are_typed(generated: Any, web: str, alice: Caller, charlie: Caller) -> None:
    body = generated("models").EvaluateBody.from_dict({**EXACT, "app": "shop"})
    evaluate = generated("api.evaluations.evaluate")
    with connected(generated, web, alice) as client:
        for _ in range(3):
            answer = evaluate.sync(client=client, body=body)

    assert isinstance(answer, generated("models").EvaluateAnswer)
    (one,) = answer.results
    result, interval = one.evaluation_result, one.evaluation_result.additional_info.confidence_interval
    assert (one.status, result.pass_, result.score_raw) == ("success", True, 1.0)
    assert isinstance(interval, generated("models").ConfidenceInterval)
    assert (interval.n, interval.of, interval.alpha) == (2, "pass", 0.95)
    assert 0 < interval.lower < interval.upper == 1
    with connected(generated, web, charlie) as client:
        theirs = evaluate.sync(client=client, body=body)
    assert theirs.results[0].evaluation_result.additional_info.confidence_interval.n == 0


def test_a_refusal_is_a_typed_problem(generated: Any, web: str, alice: Caller) -> None:
    body = generated("models").EvaluateBody.from_dict({"evaluators": []})
    with connected(generated, web, alice) as client:
        problem = generated("api.evaluations.evaluate").sync(client=client, body=body)

    assert isinstance(problem, generated("models").Problem)
    assert (problem.status, problem.errors[0].pointer) == (422, "/evaluators")


def test_every_key_of_what_is_sent_is_a_field(generated: Any, web: str, alice: Caller) -> None:
    """What the generated models do not know they keep apart, as additional properties."""
    alice.evaluate("exact-match", output="Paris", gold_answer="Paris", app="keys")
    search = httpx.post(f"{web}/v1/evaluations/search", json={}, headers={"X-API-KEY": alice.key}).json()
    history = httpx.get(
        f"{web}/v1/history", params={"evaluator": "exact-match"}, headers={"X-API-KEY": alice.key}
    ).json()
    sent = httpx.post(f"{web}/v1/evaluate", json=EXACT, headers={"X-API-KEY": alice.key}).json()

    for name, answer in (("EvaluationPage", search), ("History", history), ("EvaluateAnswer", sent)):
        model = getattr(generated("models"), name).from_dict(answer)
        assert unknown_in(model) == set(), name
        assert json.loads(json.dumps(model.to_dict(), default=str)).keys() == answer.keys()


def unknown_in(model: Any) -> set[str]:
    """Return the keys that no field of the models holds, as far as the models say what they are."""
    if isinstance(model, list):
        return {key for one in model for key in unknown_in(one)}
    if not hasattr(model, "additional_properties"):
        return set()
    fields = [field.name for field in attrs.fields(type(model)) if field.name != "additional_properties"]
    # A model without fields is a mapping whose keys are the caller's own.
    own = set(model.additional_properties) if fields else set()
    return own.union(*(unknown_in(getattr(model, name)) for name in fields))
