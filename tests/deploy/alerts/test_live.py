"""The running stack, its own Prometheus and Alertmanager: one part stops, its alert fires, and no other."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.conftest import wait_until
from tests.deploy.compose.load import calling
from tests.deploy.compose.stack import SERVICES, Stack, build_images, running
from tests.deploy.containers import podman
from tests.deploy.standins import DEBIANS

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1800)]

STOPPED = {
    "beat": ("EvalsvcClockStopped", ""),
    "worker-cpu": ("EvalsvcWorkersGone", "cpu"),
    "valkey": ("EvalsvcValkeyDown", ""),
    "postgres": ("EvalsvcDatabaseDown", ""),
}
FIRING = 'ALERTS{alertstate="firing"}'
HOLDS_SECONDS = 45


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    build_images(*(name for name in DEBIANS if "/prom/" in name))
    with running(tmp_path_factory.mktemp("alerts"), "evalsvc-alerts", "--monitoring") as started:
        started.wait_for("prometheus", "alertmanager")
        yield started


def firing(stack: Stack) -> set[tuple[str, str]]:
    """Return the alerts that fire in Prometheus now, each with its queue."""
    told = podman(
        "exec", stack.container("prometheus"), "promtool", "query", "instant", "--format=json", "http://127.0.0.1:9090", FIRING
    ).stdout  # fmt: skip
    series = [one["metric"] for one in json.loads(told or "[]")]
    return {(one["alertname"], one.get("queue", "")) for one in series}


def told(stack: Stack) -> set[str]:
    """Return the names of the alerts that Alertmanager was told of."""
    shown = podman(
        "exec", stack.container("alertmanager"), "amtool", "alert", "query", "--output=json",
        "--alertmanager.url=http://127.0.0.1:9093",
    ).stdout  # fmt: skip
    return {one["labels"]["alertname"] for one in json.loads(shown)}


def test_all_is_well_and_nothing_fires(stack: Stack) -> None:
    def targets() -> list[str]:
        shown = podman(
            "exec", stack.container("prometheus"), "promtool", "query", "instant", "--format=json",
            "http://127.0.0.1:9090", "up == 1",
        ).stdout  # fmt: skip
        return [one["metric"]["instance"] for one in json.loads(shown or "[]")]

    wait_until(lambda: len(targets()) == 5, seconds=120, pause=2)
    assert firing(stack) == set()


@pytest.mark.parametrize("service", STOPPED)
def test_what_stops_is_told_and_nothing_else(stack: Stack, service: str) -> None:
    expected = STOPPED[service]
    wait_until(lambda: firing(stack) == set(), seconds=300, pause=2)
    with calling(stack.client, "exact-match", pause=1):
        began = time.monotonic()
        stack.compose("stop", service)
        wait_until(lambda: firing(stack), seconds=300, pause=2)
        after = time.monotonic() - began
        until = time.monotonic() + HOLDS_SECONDS
        while time.monotonic() < until:
            assert firing(stack) == {expected}
            time.sleep(3)
        assert told(stack) == {expected[0]}
        stack.compose("start", service)
        stack.wait_for(service)
    wait_until(lambda: firing(stack) == set(), seconds=300, pause=2)
    print(f"\n{service}: {expected[0]} fired {after:.0f} s after it was stopped, alone")


def test_nothing_was_lost(stack: Stack) -> None:
    stack.wait_for(*SERVICES)
    assert json.loads(stack.manage("verify", "--json").splitlines()[-1]) == []


def test_logs_hold_no_key_and_no_text(stack: Stack) -> None:
    written = stack.logs()

    secrets = [path.read_text().strip() for path in (stack.compose_folder / "secrets").iterdir()]
    assert "v1/evaluate" in written
    assert not [text for text in (*secrets, stack.account["EVALSVC_API_KEY"], "Have a lovely day.") if text in written]
