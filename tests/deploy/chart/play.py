"""A stand-in for a cluster: what the chart renders runs under `podman play kube`, with PostgreSQL and Valkey beside it.

Podman 4.3 lacks some of what kubelet does. `adapted` says what is changed in a manifest for it, and why; the rest is as
rendered.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import secrets
import time
from collections.abc import Callable
from typing import Any

import yaml

from tests.deploy.chart.helm import RELEASE, Manifest, render
from tests.deploy.chart.policy import of_kind
from tests.deploy.containers import HOME, debian_image, install, podman
from tests.deploy.images import app_image

NETWORK, POSTGRES, VALKEY = f"{RELEASE}-net", f"{RELEASE}-postgres", f"{RELEASE}-valkey"
SERVE_POSTGRES = """set -e
bin=$(echo /usr/lib/postgresql/*/bin)
echo "$PASSWORD" > /tmp/password
"$bin/initdb" -D /tmp/data --auth=scram-sha-256 --pwfile=/tmp/password > /tmp/initdb.log
echo "host all all all scram-sha-256" >> /tmp/data/pg_hba.conf
exec "$bin/postgres" -D /tmp/data -c listen_addresses='*' -c unix_socket_directories=/tmp
"""


class Cluster:
    """Servers, secrets, and pods that were played."""

    def __init__(self, values: Manifest) -> None:
        repository, _, tag = app_image().rpartition(":")
        install("catatonit")  # what pods of podman wait in
        self.manifests = render(values | {"image": {"repository": repository, "tag": tag}})
        password = secrets.token_urlsafe(16)
        self.secret = make_secret(password)
        self.others: dict[str, dict[str, str]] = {}
        self.played: list[str] = []
        self.remove()
        podman("network", "create", NETWORK)
        image = debian_image("trixie", "postgresql", "valkey-server")
        run = ("run", "--detach", "--network", NETWORK, "--name")
        command = ("sh", "-c", SERVE_POSTGRES)
        podman(*run, POSTGRES, "--user", "postgres", "--env", f"PASSWORD={password}", image, *command)
        podman(*run, VALKEY, image, "valkey-server", "--protected-mode", "no", "--save", "")
        wait_for(lambda: "accept connections" in podman("logs", POSTGRES).stderr, 60)

    def remove(self) -> None:
        """Take away what is there, also of an earlier run that was killed."""
        named = ("--format", "{{.Name}}", "--filter", f"name=^{RELEASE}-")
        for pod in podman("pod", "ps", *named).stdout.split():
            podman("pod", "rm", "--force", "--time", "1", pod, check=False)
        for name in (POSTGRES, VALKEY):
            podman("rm", "--force", "--time", "1", "--volumes", name, check=False)
        for kind in ("volume", "secret"):
            left = podman(kind, "ls", "--format", "{{.Name}}").stdout.split()
            for name in [name for name in left if name.startswith(f"{RELEASE}-")]:
                podman(kind, "rm", name, check=False)
        podman("network", "rm", NETWORK, check=False)

    def pod(self, component: str) -> Manifest:
        """Return a pod of the chart, by what it is for."""
        name = f"{RELEASE}-{component}"
        [found] = [one for kind in ("Pod", "Job", "CronJob", "Deployment") for one in of_kind(self.manifests, kind)
                   if one["metadata"]["name"] == name]  # fmt: skip
        spec = found["spec"]
        for key in ("jobTemplate", "spec", "template"):
            spec = spec.get(key, spec)
        pod = spec if "metadata" in spec and "spec" in spec else found
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {**pod["metadata"], "name": name}, "spec": pod["spec"]}

    def play(self, component: str, change: Callable[[Manifest], None] = lambda pod: None) -> None:
        """Run a pod of the chart, and go on once it has started."""
        pod = self.adapted(component)
        change(pod)
        file = HOME / f"{RELEASE}-{component}.yaml"
        file.write_text(yaml.safe_dump(pod), encoding="utf-8")
        podman("play", "kube", "--network", NETWORK, file)
        file.unlink()
        self.played.append(component)

    def adapted(self, component: str) -> Manifest:
        """Return a pod as podman 4.3 plays it.

        Its emptyDirs are volumes of one name for all pods, so names get the pod's in front. It mounts all keys of a
        secret, whatever `items` says: each pod gets a secret with its items only, whose values are not in base64. It
        knows no probe of gRPC, and its probes need systemd: the test runs them itself. A port of a container would be
        published on this machine.
        """
        pod = copy.deepcopy(self.pod(component))
        name = pod["metadata"]["name"]
        pod["metadata"].pop("annotations", None)
        for volume in pod["spec"]["volumes"]:
            volume["name"] = f"{name}-{volume['name']}"
            if "secret" in volume:
                self._keep(volume["name"], volume["secret"])
                volume["secret"] = {"secretName": volume["name"], "optional": False}
        for container in pod["spec"]["containers"]:
            for mount in container["volumeMounts"]:
                mount["name"] = f"{name}-{mount['name']}"
            for key in ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "ports"):
                container.pop(key, None)
        return pod

    def _keep(self, name: str, volume: Manifest) -> None:
        there = self.secret if volume["secretName"] == "evalsvc" else self.others[volume["secretName"]]
        items = [item["key"] for item in volume["items"]] if "items" in volume else list(there)
        secret = {"apiVersion": "v1", "kind": "Secret", "data": {key: there[key] for key in items}}
        podman("secret", "rm", name, check=False)
        podman("secret", "create", name, "-", stdin=yaml.safe_dump(secret))

    def container(self, component: str) -> str:
        """Return the name of a pod's container."""
        return f"{RELEASE}-{component}-{component}"

    def run(self, component: str, *command: str, check: bool = True) -> str:
        """Run a command in a pod's container; return what it prints to both outputs."""
        done = podman("exec", self.container(component), *command, check=check)
        return done.stdout + done.stderr

    def succeeds(self, component: str, command: list[str]) -> bool:
        """Say whether a command in a pod's container ends with 0."""
        return podman("exec", self.container(component), *command, check=False).returncode == 0

    def end_of(self, component: str, seconds: float) -> tuple[int, str]:
        """Wait for a pod that ends by itself; return its exit code and what it printed."""
        name = self.container(component)

        def has_ended() -> bool:
            return podman("inspect", "--format", "{{.State.Status}}", name).stdout.strip() == "exited"

        wait_for(has_ended, seconds)
        logs = podman("logs", name)
        code = int(podman("inspect", "--format", "{{.State.ExitCode}}", name).stdout)
        podman("pod", "rm", "--force", f"{RELEASE}-{component}")
        return code, logs.stdout + logs.stderr

    def started(self, component: str) -> str:
        """Return when a pod's container started last."""
        return podman("inspect", "--format", "{{.State.StartedAt}}", self.container(component)).stdout.strip()

    def address(self, component: str) -> str:
        """Return a pod's address."""
        infra = podman("pod", "inspect", "--format", "{{.InfraContainerID}}", f"{RELEASE}-{component}").stdout.strip()
        networks = json.loads(podman("inspect", infra).stdout)[0]["NetworkSettings"]["Networks"]
        return str(networks[NETWORK]["IPAddress"])


def make_secret(password: str) -> dict[str, str]:
    """Return the keys of the secret that the chart asks for, with URLs of roles that are still to be made."""
    roles = {
        "DATABASE_URL": "evalsvc_app",
        "DATABASE_SYSTEM_URL": "evalsvc_system",
        "DATABASE_SIGNIN_URL": "evalsvc_signin",
        "DATABASE_MIGRATION_URL": "evalsvc_owner",
    }
    urls = {key: f"postgresql://{role}:{secrets.token_urlsafe(16)}@{POSTGRES}/evalsvc" for key, role in roles.items()}
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "KEY_PEPPER": secrets.token_urlsafe(48),
        "ENCRYPTION_KEYS": base64.urlsafe_b64encode(os.urandom(32)).decode(),
        "DATABASE_ADMIN_URL": f"postgresql://postgres:{password}@{POSTGRES}/postgres",
        "REDIS_URL": f"redis://{VALKEY}:6379/0",
        "EVALSVC_METRICS_KEY": secrets.token_urlsafe(32),
        **urls,
    }


def wait_for(is_so: Callable[[], Any], seconds: float) -> float:
    """Wait until something is so; return how long that took. Raises AssertionError."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, f"not within {seconds:g} s"
        time.sleep(0.5)
    return time.monotonic() - began
