"""What the chart renders runs: migration, every role, an evaluation, the hardening, a backup, the check, the stop."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.deploy.chart.helm import RELEASE, Manifest
from tests.deploy.chart.play import Cluster, wait_for
from tests.deploy.containers import podman

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(900)]

HOST = "evals.example.com"
VALUES: Manifest = {
    "hosts": [HOST],
    "secrets": {"optional": ["DATABASE_ADMIN_URL", "EVALSVC_METRICS_KEY"]},
    "monitoring": {"enabled": True},
    "backup": {"enabled": True, "keep": 2},
    "test": {"keySecret": "evalsvc-test"},
}
WORKERS = ("worker-cpu", "worker-judge", "worker-experiments", "worker-system")
ROLES = ("web", "otlp-grpc", *WORKERS, "beat")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(VALUES)
    yield cluster
    cluster.remove()


@pytest.fixture(scope="module")
def running(cluster: Cluster) -> Cluster:
    """The same with every role; each test that comes first waits for them."""
    if "web" not in cluster.played:
        for role in ROLES:
            cluster.play(role)
    return cluster


def ask(cluster: Cluster, path: str, body: Any = None, *, host: str = HOST, **headers: str) -> tuple[int, Any]:
    """Call web as a proxy in front of it does; return status and answer."""
    sent = {"Host": host, "X-Forwarded-Proto": "https", "Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{cluster.address('web')}:8000{path}", data, sent)
    try:
        with urllib.request.urlopen(request, timeout=90) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        status, text = refused.code, refused.read().decode()
    return status, json.loads(text) if text.startswith("{") else text


def exact_match(text: str) -> Manifest:
    return {
        "evaluators": [{"evaluator": "exact-match"}],
        "evaluated_model_output": text,
        "evaluated_model_gold_answer": text,
        "app": "chart",
    }


def probe(cluster: Cluster, role: str, name: str) -> bool:
    """Do what kubelet does for a probe of the rendered pod; gRPC's by what the image has for it."""
    [container] = cluster.pod(role)["spec"]["containers"]
    kind = container[name]
    if "exec" in kind:
        return cluster.succeeds(role, kind["exec"]["command"])
    if "grpc" in kind:
        return cluster.succeeds(role, ["healthy", "otlp-grpc"])
    url = f"http://{cluster.address(role)}:{kind['httpGet']['port']}{kind['httpGet']['path']}"
    try:
        with urllib.request.urlopen(url, timeout=kind["timeoutSeconds"]) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_the_hook_makes_roles_database_and_tables_and_may_run_again(cluster: Cluster) -> None:
    for _ in range(2):
        began = time.monotonic()
        cluster.play("migrate")
        code, printed = cluster.end_of("migrate", 300)

        print(f"the migration's pod: {time.monotonic() - began:.1f} s")
        assert code == 0, printed


def test_every_role_starts_and_answers_its_probes(running: Cluster) -> None:
    for role in ROLES:
        [container] = running.pod(role)["spec"]["containers"]
        start = container["startupProbe"]
        allowed = start["periodSeconds"] * start["failureThreshold"]
        took = wait_for(partial(probe, running, role, "startupProbe"), allowed)
        print(f"{role}: {took:.1f} s more until its start is probed ({allowed} s are allowed)")
        assert probe(running, role, "livenessProbe")
    wait_for(lambda: probe(running, "web", "readinessProbe"), 60)
    wait_for(lambda: ask(running, "/readyz")[1].get("status") == "ready", 60)


def test_the_first_account_is_made_as_the_notes_say(running: Cluster) -> None:
    printed = running.run("web", "python", "manage.py", "create_account", "Acme", "--operator", "ada@example.com")

    running.others["evalsvc-test"] = {"EVALSVC_API_KEY": printed.partition("EVALSVC_API_KEY=")[2].split()[0]}


def test_an_evaluation_is_answered_over_https_and_refused_without(running: Cluster) -> None:
    key = running.others["evalsvc-test"]["EVALSVC_API_KEY"]

    status, told = ask(running, "/v1/evaluate", exact_match("4"), X_API_KEY=key)
    assert (status, told["results"][0]["evaluation_result"]["pass"]) == (200, True), told

    assert ask(running, "/v1/evaluate", exact_match("4"), X_API_KEY=key, X_Forwarded_Proto="http")[0] == 403
    assert ask(running, "/v1/evaluate", exact_match("4"), X_API_KEY=key, host="elsewhere.example.com")[0] == 400


def test_the_cpu_lane_answers(running: Cluster) -> None:
    key = running.others["evalsvc-test"]["EVALSVC_API_KEY"]
    # Too long for the web process.
    status, told = ask(running, "/v1/evaluate", exact_match("four " * 8000), X_API_KEY=key, Prefer="wait=60")
    assert (status, told["results"][0]["evaluation_result"]["pass"]) == (200, True), str(told)[:500]
    model = {"evaluators": [{"evaluator": "toxicity"}], "evaluated_model_output": "Thank you, have a lovely day."}
    status, told = ask(running, "/v1/evaluate", model, X_API_KEY=key, Prefer="wait=60")
    assert (status, told["results"][0]["evaluation_result"]["pass"]) == (200, True), told


def test_figures_are_told_by_web_with_the_key_and_by_workers(running: Cluster) -> None:
    assert ask(running, "/metrics")[0] == 404
    key = running.secret["EVALSVC_METRICS_KEY"]
    status, text = ask(running, "/metrics", Authorization=f"Bearer {key}")
    assert status == 200
    assert 'evalsvc_queue_depth{lane="cpu"}' in text
    for queue in ("cpu", "judge", "experiments", "system", "beat"):
        assert f'evalsvc_workers_alive{{queue="{queue}"}} 1.0' in text
    for role in WORKERS:
        with urllib.request.urlopen(f"http://{running.address(role)}:9100/metrics", timeout=20) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("role", ROLES)
def test_a_role_runs_as_the_restricted_standard_asks(running: Cluster, role: str) -> None:
    status = dict(
        line.split(":\t", 1) for line in running.run(role, "cat", "/proc/1/status").splitlines() if ":\t" in line
    )

    assert status["Uid"].split() == ["10001"] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert "Read-only file system" in running.run(role, "touch", "/opt/evalsvc/app/x", check=False)
    assert "Read-only file system" in running.run(role, "touch", "/etc/x", check=False)
    environment = running.run(role, "cat", "/proc/1/environ")
    assert not [name for name, value in running.secret.items() if value in environment]
    keys = set(running.run(role, "ls", "/run/secrets/evalsvc").split())
    assert "DATABASE_ADMIN_URL" not in keys and "DATABASE_MIGRATION_URL" not in keys
    assert ("EVALSVC_METRICS_KEY" in keys) == (role == "web")


def test_the_check_of_helm_test_passes(running: Cluster) -> None:
    # Nobody answers to the Service's name here.
    def at_the_pod(pod: Manifest) -> None:
        [url] = [one for one in pod["spec"]["containers"][0]["env"] if one["name"] == "URL"]
        assert url["value"] == f"http://{RELEASE}-web"
        url["value"] = f"http://{running.address('web')}:8000"

    running.play("test", at_the_pod)
    code, printed = running.end_of("test", 90)

    assert code == 0, printed
    assert "evaluation:" in printed


def test_backups_are_made_and_the_newest_kept(running: Cluster) -> None:
    volume = f"{RELEASE}-backup"
    podman("volume", "create", "--opt", "o=uid=10001,gid=10001", volume)
    seen = []
    for _ in range(3):
        running.play("backup")
        code, printed = running.end_of("backup", 300)
        assert code == 0, printed
        [folder] = [line.split(":")[0] for line in printed.splitlines() if line.startswith("/backups/")]
        seen.append(folder.rpartition("/")[2])
    image = running.pod("web")["spec"]["containers"][0]["image"]
    look = ("run", "--rm", "--volume", f"{volume}:/backups", image, "sh", "-c", "cd /backups && ls -d */manifest.json")
    kept = podman(*look).stdout.split()

    assert kept == [f"{name}/manifest.json" for name in sorted(seen)[1:]]


def test_memory_is_within_what_is_asked_for(running: Cluster) -> None:
    names = [running.container(role) for role in ROLES]
    for line in podman("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}", *names).stdout.splitlines():
        print(line)
    for role in ROLES:
        assert podman("inspect", "--format", "{{.State.OOMKilled}}", running.container(role)).stdout.strip() == "false"


def test_a_worker_that_stands_still_is_seen(running: Cluster) -> None:
    podman("kill", "--signal", "STOP", running.container("worker-cpu"))
    try:
        wait_for(lambda: not probe(running, "worker-cpu", "livenessProbe"), 60)
    finally:
        podman("kill", "--signal", "CONT", running.container("worker-cpu"))
    wait_for(lambda: probe(running, "worker-cpu", "livenessProbe"), 60)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_that_is_killed_comes_back(running: Cluster, role: str) -> None:
    began = running.started(role)
    # podman would take a SIGKILL of its own for the user's wish that it stays away.
    os.kill(int(podman("inspect", "--format", "{{.State.Pid}}", running.container(role)).stdout), signal.SIGKILL)

    wait_for(lambda: running.started(role) != began, 60)
    # What the first one left in its folders must not pass for this one's, nor stand in its way.
    took = wait_for(partial(probe, running, role, "livenessProbe"), 120)
    print(f"{role}: alive {took:.1f} s after its new start")


def test_work_goes_on_after_that(running: Cluster) -> None:
    key = running.others["evalsvc-test"]["EVALSVC_API_KEY"]
    wait_for(lambda: ask(running, "/readyz")[1].get("status") == "ready", 60)
    status, told = ask(running, "/v1/evaluate", exact_match("five " * 8000), X_API_KEY=key, Prefer="wait=60")

    assert (status, told["results"][0]["evaluation_result"]["pass"]) == (200, True), str(told)[:500]


@pytest.mark.parametrize("role", ("web", *WORKERS, "otlp-grpc", "beat"))
def test_a_role_stops_within_its_grace(running: Cluster, role: str) -> None:
    pod = running.pod(role)
    [container] = pod["spec"]["containers"]
    if "lifecycle" in container:
        running.run(role, *container["lifecycle"]["preStop"]["exec"]["command"])
    if role == "web":
        wait_for(lambda: ask(running, "/readyz")[0] == 503, 10)
        assert ask(running, "/readyz")[1]["status"] == "draining"
    began = time.monotonic()
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    podman("stop", "--time", str(grace), running.container(role))
    took = time.monotonic() - began
    code = podman("inspect", "--format", "{{.State.ExitCode}}", running.container(role)).stdout.strip()

    print(f"{role}: stopped after {took:.1f} s of {grace}, podman's own time in it; exit code {code}")
    # 137 would say that it was killed.
    assert code != "137"
