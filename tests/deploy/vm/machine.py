"""A Debian that is booted in a container, with systemd as its first process, and what is asked of it over https."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import CHECKOUT
from tests.deploy.containers import HOME, debian_image, podman

IMAGE = ("systemd", "systemd-sysv", "dbus", "ca-certificates", "procps", "iproute2", "libpam-systemd")
PRODUCT = (
    "evalsvc",
    "evaluators",
    "docs",
    "manage.py",
    "LICENSE",
    "pyproject.toml",
    "requirements",
    "scripts",
    "deploy/vm",
)
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Of this machine: where a proxy of its own stands before PyPI, pip and uv in the container must trust it, too."""
CA_FILE = "/etc/evalsvc/ca.crt"
BROKERS = {"bookworm": "redis-server", "trixie": "valkey-server"}

BUSY = """
import time
began, used = time.monotonic(), time.process_time()
while time.process_time() - used < 0.5: pass
print((time.monotonic() - began) / 0.5)
"""


def copy_of_product(folder: Path, version: str | None = None) -> Path:
    """Copy what an archive of the release holds, perhaps with another version in it."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in PRODUCT:
        source, target = CHECKOUT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    if version:
        (folder / "evalsvc/__init__.py").write_text(f'"""The service."""\n\n__version__ = "{version}"\n')
    return folder


@dataclass
class Machine:
    """One of them."""

    suite: str
    sources: Path = field(init=False)
    key: str = ""
    """Of the first account, once there is one."""
    password: str = ""
    """Of its operator, ada@example.com."""

    def __post_init__(self) -> None:
        self.sources = HOME / f"vm-{self.suite}"

    @property
    def name(self) -> str:
        return f"evalsvc-vm-{self.suite}"

    @property
    def broker(self) -> str:
        return BROKERS[self.suite]

    def boot(self) -> None:
        """Make it anew, and wait until it is up."""
        self.remove()
        image = debian_image(self.suite, *IMAGE)
        cache = HOME / "vm-cache"
        for folder in (self.sources, cache):
            folder.mkdir(parents=True, exist_ok=True)
        mounts = [f"{self.sources}:/src:ro", f"{cache}:/cache", f"{AUTHORITIES}:/authorities.pem:ro"]
        options = [part for mount in mounts for part in ("--volume", mount)]
        # Privileged, since else the kernel refuses namespaces, and systemd then leaves sandboxes out in silence.
        # A control group of its own: below podman's, a machine of ten processes had the share of a part of one.
        podman("run", "--detach", "--privileged", "--systemd=always", "--cgroup-parent=/", "--cpu-shares=8192",
               "--name", self.name, "--hostname", "vm",
               *options, image, "/lib/systemd/systemd")  # fmt: skip
        self.wait_until_up()

    def wait_until_up(self) -> None:
        """Wait until it has started all that starts with it."""
        deadline = time.monotonic() + 300
        while (state := self.run("systemctl is-system-running --wait", check=False)) not in ("running", "degraded"):
            assert time.monotonic() < deadline, state
            time.sleep(0.5)

    def reboot(self) -> None:
        """Stop it as a machine is stopped, and start it."""
        podman("stop", "--time", "120", self.name)
        podman("start", self.name)
        self.wait_until_up()

    def remove(self) -> None:
        """Remove it with all that is in it."""
        podman("rm", "--force", "--volumes", "--time", "5", self.name, check=False)

    def run(self, script: str, *, check: bool = True, timeout: float = 900) -> str:
        """Run shell commands as root; return what they print, errors among it."""
        trust = {"PIP_CERT": "/authorities.pem", "SSL_CERT_FILE": "/authorities.pem", "UV_CACHE_DIR": "/cache/uv"}
        options = [part for pair in trust.items() for part in ("--env", "=".join(pair))]
        command = ["exec", *options, self.name, "sh", "-c", f"exec 2>&1; {script}"]
        return podman(*command, check=check, timeout=timeout).stdout.strip()

    def told(self, unit: str, name: str) -> str:
        """Return what systemd says of a unit."""
        return self.run(f"systemctl show --property={name} --value {unit}")

    @property
    def units(self) -> list[str]:
        """Return the names of the services that run all the time."""
        listed = self.run("systemctl list-units --plain --no-legend 'evalsvc*.service'")
        return [line.split()[0] for line in listed.splitlines()]

    @property
    def postgres(self) -> str:
        """Return the unit of PostgreSQL's cluster."""
        version = self.run("pg_lsclusters --no-header | awk '$2 == \"evalsvc\" { print $1 }'")
        return f"postgresql@{version}-evalsvc.service"

    @property
    def address(self) -> str:
        """Return where this machine reaches it."""
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return podman("inspect", "--format", form, self.name).stdout.strip()

    def install(self, options: str = "", tree: str = "one") -> str:
        """Run the install script of one of the trees."""
        return self.run(f"/src/{tree}/deploy/vm/install {options}", timeout=1800)

    def slowness(self) -> float:
        """Return how many times longer than on a free core something takes there now: others may use the same cores."""
        return max(1.0, float(self.run(f"/usr/bin/python3 -c '{BUSY}'")))

    def connect(self, timeout: float = 60) -> http.client.HTTPSConnection:
        """Open a connection that trusts the machine's own authority, and nobody else."""
        context = ssl.create_default_context(cadata=self.run(f"cat {CA_FILE}"))
        connection = http.client.HTTPSConnection("localhost", timeout=timeout, context=context)
        plain = socket.create_connection((self.address, 443), timeout)
        connection.sock = context.wrap_socket(plain, server_hostname="localhost")
        return connection

    def evaluate(self, evaluator: str = "exact-match", output: str = "Canberra") -> dict[str, Any]:
        """Evaluate over https, from outside; return the first result."""
        with contextlib.closing(self.connect()) as connection:
            status, body = ask(connection, body_of(evaluator, output), self.key)
        assert status == 200, body
        return dict(body["results"][0])

    def evaluate_again(self, evaluator: str = "exact-match") -> None:
        """Evaluate until there is a verdict while the caller waits, as a caller does who tries again."""
        deadline, status = time.monotonic() + 120, 0
        while status != 200:
            assert time.monotonic() < deadline, status
            with (
                contextlib.suppress(OSError, http.client.HTTPException),
                contextlib.closing(self.connect()) as connection,
            ):
                status, _ = ask(connection, body_of(evaluator, "Canberra"), self.key)


def body_of(evaluator: str, output: str) -> Mapping[str, Any]:
    return {
        "evaluators": [{"evaluator": evaluator}],
        "evaluated_model_input": "What is the capital of Australia?",
        "evaluated_model_output": output,
        "evaluated_model_gold_answer": "Canberra",
        "evaluated_model_retrieved_context": ["Canberra is the capital of Australia."],
        "app": "demo",
        "confidence_interval_strategy": "full-history",
    }


def ask(connection: http.client.HTTPSConnection, body: Mapping[str, Any], key: str) -> tuple[int, dict[str, Any]]:
    """Post an evaluation; return the status and the answer."""
    headers = {"X-API-KEY": key, "Content-Type": "application/json"}
    connection.request("POST", "/v1/evaluate", json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())
