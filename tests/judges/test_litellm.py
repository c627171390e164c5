"""The newest LiteLLM proxy, in an environment of its own, in front of scripted endpoints: its models give verdicts."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Caller, new_caller
from tests.judges.asking import PRICES, Judge, question
from tests.judges.conftest import made
from tests.judges.endpoint.replies import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TEXT,
    VERDICT,
    Reply,
    Script,
    completion,
    error,
    reply,
)
from tests.judges.endpoint.server import Endpoint, running_endpoint
from tests.judges.endpoint.verdicts import (
    always,
    arguments,
    format_is,
    has,
    has_system,
    message,
    once,
    refusing,
    thinking,
    tool_only,
)

KEY = "sk-litellm-0123456789-master"
START_SECONDS = 120


def answer_as_groq(body: Mapping[str, Any], n: int) -> Reply:
    """Name the service tier, as Groq does; LiteLLM asks Groq for a schema by a tool."""
    if "tools" not in body:
        return reply(completion(TEXT, service_tier="on_demand"))
    called = {"role": "assistant", "content": None, **arguments(TEXT)}
    return reply(completion(called, "tool_calls", service_tier="on_demand"))


# LiteLLM writes each provider's requests, and reads its answers, in its own way.
MODELS: dict[str, tuple[str, Script]] = {
    "plain": ("openai/gpt-4o-mini", always(completion(TEXT))),
    "thinking": ("openai/o4-mini", thinking(5000)),
    "new-limit": ("openai/gpt-5-mini", refusing(has("max_tokens"), error("Unsupported parameter: 'max_tokens'."))),
    "vllm": ("hosted_vllm/qwen3-8b", message(content=None, reasoning_content=TEXT)),
    "deepseek": (
        "deepseek/deepseek-chat",
        refusing(format_is("json_schema"), error("This response_format type is unavailable now")),
    ),
    "mistral": ("mistral/mistral-small-latest", always(completion([{"type": "text", "text": TEXT}]))),
    "groq": ("groq/llama-3.3-70b-versatile", answer_as_groq),
    "openrouter": ("openrouter/meta-llama/llama-3-8b", once(reply(error("Provider returned error"), 502))),
    "tools": ("openai/in-house-tools", tool_only(lambda: arguments(TEXT))),
    "no-system": ("openai/gemma-2", refusing(has_system, error("System role not supported"))),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the proxy of an environment that has it; `EVALSVC_LITELLM` names one that is there."""
    if folder := os.environ.get("EVALSVC_LITELLM"):
        return Path(folder, "bin/litellm")
    folder_of_test = tmp_path_factory.mktemp("litellm")
    venv.create(folder_of_test, with_pip=True)
    command = [str(folder_of_test / "bin/python"), "-m", "pip", "install", "--quiet", "litellm[proxy]"]
    subprocess.run(command, capture_output=True, text=True, timeout=540, check=True)
    return folder_of_test / "bin/litellm"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint({name: script for name, (_, script) in MODELS.items()}) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(program: Path, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("proxy")
    rows = [
        {"model_name": name, "litellm_params": {"model": model, "api_base": endpoint.base_url(name), "api_key": "x"}}
        for name, (model, _) in MODELS.items()
    ]
    settings = {"model_list": rows, "litellm_settings": {"num_retries": 0}, "general_settings": {"master_key": KEY}}
    (folder / "config.yaml").write_text(json.dumps(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # None of the tests' own settings: with a database URL the proxy wants tables.
    environment = {
        "PATH": os.environ["PATH"],
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "HOME": str(folder),
    }
    command = [str(program), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/health/liveliness", process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(START_SECONDS * 5):
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])


class ProxyJudge(Judge):
    """An account whose connection leads to the proxy."""

    def __init__(self, base_url: str, model: str, **fields: Any) -> None:
        self.caller: Caller = new_caller(name="litellm")
        given = {"key": KEY, "model": model, **PRICES, "timeout_seconds": 60, **fields}
        self.connection = made(self.caller, base_url=base_url, **given)


# It fetches the proxy: minutes where machine and line are busy.
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_behind_the_proxy_gives_verdicts(proxy: str, model: str) -> None:
    judge = ProxyJudge(f"{proxy}/v1", model)

    first = judge.ask(model, question(max_output_tokens=1024))
    again = judge.ask(model, question(max_output_tokens=1024))

    assert first.data == again.data == VERDICT
    used = again.provenance
    assert used["calls"] == 1 and used["input_tokens"] == INPUT_TOKENS
    assert used["output_tokens"] == OUTPUT_TOKENS + (5000 if model == "thinking" else 0)
    assert "usage_estimated" not in used


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_proxy_s_own_errors_are_named(proxy: str) -> None:
    def test(base_url: str = f"{proxy}/v1", **fields: Any) -> Any:
        judge = ProxyJudge(base_url, **({"model": "plain"} | fields))
        return judge.caller.post(f"/v1/connections/{judge.connection['id']}/test").json()

    unknown, refused = test(model="gpt-unheard-of"), test(key="sk-wrong-0123456789")
    assert unknown["error"]["code"] == refused["error"]["code"] == "not_configured"
    assert "gpt-unheard-of" in unknown["error"]["detail"]
    assert "sk-wrong" not in refused["error"]["detail"] and KEY not in str(refused)
    assert test(extra_body={"metadata": {"tags": ["a"]}})["ok"] is True
