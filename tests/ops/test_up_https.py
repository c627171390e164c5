"""`make up HTTPS=1`: what callers that trust Caddy's authority do, and what it keeps from others."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from django.conf import settings

from evalsvc.local.supervisor.front.caddy import find_caddy
from tests.conftest import wait_until
from tests.installation import Installation, Running, installed
from tests.programs import GRPC, PATRONUS

PATIENCE = 100.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not shutil.which("make"), reason="needs make"),
    pytest.mark.skipif(not shutil.which("curl"), reason="needs curl"),
]


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    assert find_caddy(), "the development lock has it"
    with installed("HTTPS=1", is_new=False) as copy:
        yield copy


@pytest.fixture
def running(installation: Installation) -> Running:
    return installation.service or installation.start()


def shell(running: Running, **more: str) -> dict[str, str]:
    """Return the environment of a shell that has read demo.env, and knows of no other authority."""
    foreign = ("SSL_CERT", "CURL_CA", "REQUESTS_CA", "EVALSVC_", "OTEL_", "GRPC_")
    ours = {name: value for name, value in os.environ.items() if not name.upper().startswith((*foreign, "HTTP"))}
    return {**ours, **running.demo, "NO_PROXY": "*", **more}


def curl(running: Running, *arguments: str, path: str = "/readyz") -> tuple[int, str]:
    """Return curl's exit code, and status and version of the answer."""
    env = {name: value for name, value in shell(running).items() if name != "SSL_CERT_FILE"}
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code} %{http_version}", "--max-time", "60", *arguments]
    done = subprocess.run(
        [*command, running.demo["EVALSVC_URL"] + path], env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def run(running: Running, program: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env=shell(running, **more), capture_output=True, text=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def client(running: Running) -> httpx.Client:
    trusted = ssl.create_default_context(cafile=running.demo["EVALSVC_CA_FILE"])
    headers = {"X-API-KEY": running.demo["EVALSVC_API_KEY"]}
    return httpx.Client(base_url=running.demo["EVALSVC_URL"], verify=trusted, headers=headers, timeout=PATIENCE)


def metrics(running: Running) -> str:
    with client(running) as web:
        return web.get("/metrics", headers={"Authorization": f"Bearer {settings.METRICS_KEY}"}).text


def test_curl_trusts_the_authority_and_nobody_else_does(running: Running) -> None:
    authority = running.demo["EVALSVC_CA_FILE"]

    assert curl(running, "--cacert", authority) == (0, "200 2")
    assert curl(running, "--cacert", authority, "--http1.1") == (0, "200 1.1")
    assert curl(running)[0] == 60
    assert authority in running.output
    assert running.demo["EVALSVC_URL"].startswith("https://127.0.0.1:")


def test_the_patronus_client_needs_one_variable(running: Running) -> None:
    assert run(running, PATRONUS) == "PASSED True"


def test_the_shell_still_trusts_whom_the_system_trusts(running: Running) -> None:
    """pip, for instance, reads SSL_CERT_FILE too."""
    bundle = Path(running.demo["SSL_CERT_FILE"]).read_text()
    own = Path(running.demo["EVALSVC_CA_FILE"]).read_text().strip()
    roots = ssl.create_default_context().cert_store_stats()["x509_ca"]

    assert bundle.count(own) == 1
    assert bundle.count("BEGIN CERTIFICATE") >= max(2, roots)
    assert ssl.create_default_context(cadata=bundle).cert_store_stats()["x509_ca"] > roots


def test_spans_come_over_grpc_through_tls(running: Running) -> None:
    found = run(running, GRPC, OTEL_EXPORTER_OTLP_CERTIFICATE=running.demo["EVALSVC_CA_FILE"])
    trace_id = found.partition("FOUND")[2]

    with client(running) as web:
        spans = wait_until(lambda: web.get(f"/v1/traces/{trace_id}").json().get("spans"))
    assert [span["span_name"] for span in spans] == ["through tls"]
    assert f"OTLP over gRPC: {running.demo['EVALSVC_URL']}" in running.output


def test_people_sign_in(running: Running) -> None:
    demo = running.demo
    with client(running) as web:
        page = web.get("/console/sign-in")
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]
        form = {"username": demo["EVALSVC_ADMIN_USER"], "password": demo["EVALSVC_ADMIN_PASSWORD"]}
        form |= {"csrfmiddlewaretoken": token, "next": "/admin/"}
        origin = {"Origin": demo["EVALSVC_URL"], "Referer": f"{demo['EVALSVC_URL']}/console/sign-in"}
        strange = web.post("/console/sign-in", data=form, headers=origin | {"Origin": "https://elsewhere.example"})
        signed_in = web.post("/console/sign-in", data=form, headers=origin)
        inside = web.get("/admin/")

    assert strange.status_code == 403
    assert (signed_in.status_code, signed_in.headers["Location"]) == (302, "/admin/")
    assert "Secure" in signed_in.headers["Set-Cookie"]
    assert inside.status_code == 200
    # It would hold for every port of this machine, and for a year.
    assert "Strict-Transport-Security" not in inside.headers


def test_by_another_name_nothing_is_answered(running: Running) -> None:
    with client(running) as web, pytest.raises(httpx.RemoteProtocolError):
        web.get("/v1/whoami", headers={"Host": "elsewhere.example"})


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_asks_by_address(running: Running, path: str) -> None:
    with client(running) as web:
        assert web.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200


def test_a_key_in_plain_text_is_refused(running: Running) -> None:
    caddyfile = (running.installation.home / "caddy" / "Caddyfile").read_text()
    inside = re.findall(r"reverse_proxy (127\.0\.0\.1:\d+)", caddyfile)[0]

    with httpx.Client(headers={"X-API-KEY": running.demo["EVALSVC_API_KEY"]}, timeout=PATIENCE) as web:
        answer = web.get(f"http://{inside}/v1/whoami")
        assert (answer.status_code, answer.json()["code"]) == (403, "https_required")
        assert web.get(running.demo["EVALSVC_URL"].replace("https://", "http://")).status_code == 400


def test_caddy_sees_no_secret(running: Running) -> None:
    names = set(running.child("caddy run").environ())

    assert names - {"LC_CTYPE"} == {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}


def test_a_killed_caddy_comes_back_on_its_port(running: Running) -> None:
    authority = running.demo["EVALSVC_CA_FILE"]
    running.child("caddy run").kill()

    assert wait_until(lambda: curl(running, "--cacert", authority) == (0, "200 2"))


def test_a_stop_answers_who_waits_and_waits_for_nobody(running: Running) -> None:
    """Caddy would wait for them, as long as it is let; the service ends their wait at the same time."""
    workers = [process for process in running.processes() if "-Q cpu" in " ".join(process.cmdline())]
    caddy = running.child("caddy run")
    body: dict[str, Any] = {"evaluators": [{"evaluator": "toxicity"}], "evaluated_model_output": "Good day."}
    with client(running) as web, ThreadPoolExecutor(4) as pool:
        for process in workers:
            process.suspend()
        asked = [pool.submit(web.post, "/v1/evaluate", json=body, headers={"Prefer": "wait=60"}) for _ in range(4)]
        wait_until(lambda: "\nevalsvc_waiters 4.0\n" in metrics(running))
        os.kill(running.supervisor().pid, signal.SIGINT)
        answers = [one.result(PATIENCE) for one in asked]
        wait_until(lambda: not caddy.is_running() or caddy.status() == psutil.STATUS_ZOMBIE)
        still_there = [process for process in workers if process.is_running()]
        for process in still_there:
            process.resume()

    assert [answer.json()["results"][0]["status"] for answer in answers] == ["pending"] * 4
    # The workers had 20 s to end, and Caddy did not wait for that.
    assert still_there
    running.installation.stop()
