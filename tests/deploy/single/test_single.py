"""One container with the whole service, built without a network: a verdict with an interval, a stop, a second start."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.conftest import wait_until
from tests.deploy.compose.stack import free_port
from tests.deploy.containers import podman
from tests.deploy.images import single_image

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1800)]

READY_SECONDS = 180
SAMPLE = {
    "evaluators": [{"evaluator": "exact-match"}],
    "output": "Paris",
    "gold_answer": "Paris",
    "app": "single",
    "confidence_interval_strategy": "full-history",
}


class Container:
    """A container of the image with a volume for its data."""

    def __init__(self, volume: str) -> None:
        self.volume, self.name, self.port = volume, f"evalsvc-single-{secrets.token_hex(4)}", free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it as the documentation says, and wait until it is ready."""
        published = f"127.0.0.1:{self.port}:8000"
        podman("run", "--detach", "--name", self.name, "--publish", published, "--volume", f"{self.volume}:/data",
               single_image())  # fmt: skip
        wait_until(self.is_ready, seconds=READY_SECONDS, pause=0.5)

    def is_ready(self) -> bool:
        """Return whether the service answers, with a first verdict of the demo account in it."""
        assert podman("inspect", self.name, "--format", "{{.State.Running}}").stdout.strip() == "true", self.logs()
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200 and "demo.env" in self.logs()
        except httpx.TransportError:
            return False

    def key(self) -> str:
        """Return the key of the demo account, read as the documentation says."""
        printed = podman("exec", self.name, "cat", "/data/demo.env").stdout
        pairs = (word.partition("=") for word in shlex.split(printed))
        return next(value for name, _, value in pairs if name == "EVALSVC_API_KEY")

    def evaluate(self) -> dict[str, Any]:
        """Return the result of a sample."""
        answer = httpx.post(f"{self.url}/v1/evaluate", json=SAMPLE, headers={"X-API-KEY": self.key()}, timeout=60)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["results"][0]["evaluation_result"]
        return result

    def stop(self) -> tuple[int, str]:
        """Stop it as `docker stop` does; return its exit code and its logs, and remove it."""
        podman("stop", "--time", "90", self.name)
        code = int(podman("inspect", self.name, "--format", "{{.State.ExitCode}}").stdout)
        logs = self.logs()
        podman("rm", self.name)
        return code, logs

    def logs(self) -> str:
        """Return what it has printed."""
        told = podman("logs", self.name, check=False)
        return told.stdout + told.stderr


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"evalsvc-single-{secrets.token_hex(4)}"
    podman("volume", "create", name)
    yield name
    containers = podman("ps", "--all", "--quiet", "--filter", f"volume={name}").stdout.split()
    if containers:
        podman("rm", "--force", *containers)
    podman("volume", "rm", name)


def test_it_answers_stops_and_keeps_its_data(volume: str) -> None:
    first = Container(volume)
    first.start()
    for _ in range(3):
        result = first.evaluate()
    interval = result["additional_info"]["confidence_interval"]
    user = podman("exec", first.name, "id", "--user").stdout.strip()
    health = podman("healthcheck", "run", first.name, check=False)
    code, logs = first.stop()

    assert result["pass"] is True
    assert interval["advice"]["lower"] < interval["advice"]["upper"] == 1
    assert user == "10001"
    assert health.returncode == 0, health.stdout
    assert code == 0, logs
    assert "Traceback" not in logs

    second = Container(volume)
    second.start()
    again = second.evaluate()
    second.stop()

    assert again["additional_info"]["confidence_interval"]["n"] == interval["n"] + 1


def test_the_image_writes_nothing_beside_its_volume(volume: str) -> None:
    """Its file system may be read-only but for the folders of temporary files."""
    container = Container(volume)
    container.start()
    container.evaluate()
    changes = podman("diff", container.name).stdout.split("\n")
    container.stop()

    written = {line.split(" ", 1)[1] for line in changes if line.startswith("A ")}
    assert not {path for path in written if not path.startswith(("/tmp", "/run", "/etc", "/dev", "/data", "/proc"))}
