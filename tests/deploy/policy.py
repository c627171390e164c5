"""What the compose stack must be, read off its files: each rule yields a sentence for what breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TOP = {"name", "services", "networks", "volumes", "secrets"}
SERVICE = {
    "build", "cap_drop", "command", "depends_on", "deploy", "entrypoint", "environment", "healthcheck", "image",
    "logging", "networks", "ports", "profiles", "read_only", "restart", "scale", "secrets", "security_opt", "shm_size",
    "stop_grace_period", "stop_signal", "tmpfs", "user", "volumes",
}  # fmt: skip
ONCE = ("migrate", "manage")
"""They end by themselves: nothing watches over them."""
WITH_PORTS = ("proxy",)
CALLERS_OUT = {"worker-judge", "worker-experiments", "alertmanager"}
"""Services that call addresses which people name."""
SECRET = re.compile(r"(SECRET|PASSWORD|PEPPER|TOKEN|_KEYS?$|_URL$)")
NO_SECRET = re.compile(r"_FILE$|^EVALSVC_PUBLIC_URL$")

Compose = Mapping[str, Any]


def faults(compose: Compose) -> list[str]:
    """Return what is wrong with a compose file."""
    found = [f"{key}: no such top-level key" for key in compose if key not in TOP and not key.startswith("x-")]
    for name, service in compose["services"].items():
        found += [f"{name}: {fault}" for fault in _of_service(name, service, compose)]
    return found


def _of_service(name: str, service: Mapping[str, Any], compose: Compose) -> Iterator[str]:
    yield from (f"unknown key {key}" for key in service if key not in SERVICE)
    yield from _of_image(service)
    yield from _of_rights(service)
    yield from _of_limits(service)
    yield from _of_life(name, service)
    yield from _of_secrets(service, compose)
    yield from _of_reach(name, service, compose)


def _of_image(service: Mapping[str, Any]) -> Iterator[str]:
    tag = re.sub(r"\$\{[^}]*\}", "x", str(service.get("image", ""))).rpartition("/")[2]
    version = tag.partition("@")[0]
    if ":" not in version or version.endswith(":latest"):
        yield f"the image {service.get('image')} names no version"
    if "build" not in service and "@sha256:" not in tag:
        yield f"the image {service.get('image')} is not pinned by a digest"


def _of_rights(service: Mapping[str, Any]) -> Iterator[str]:
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", str(service.get("user", ""))):
        yield "it runs as root, or as whoever the image says"
    if service.get("read_only") is not True:
        yield "its root file system can be written to"
    if service.get("cap_drop") != ["ALL"]:
        yield "it holds capabilities"
    if "no-new-privileges:true" not in service.get("security_opt", ()):
        yield "its programs may gain rights"
    if any("unconfined" in option for option in service.get("security_opt", ())):
        yield "no filter of system calls"


def _of_limits(service: Mapping[str, Any]) -> Iterator[str]:
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    yield from (f"no limit of {what}" for what in ("memory", "pids") if what not in limits)
    if "max-size" not in service.get("logging", {}).get("options", {}):
        yield "its logs grow without bound"


def _of_life(name: str, service: Mapping[str, Any]) -> Iterator[str]:
    if name in ONCE:
        return
    check = service.get("healthcheck", {}).get("test", [])
    if check[:1] != ["CMD-SHELL"]:
        yield "no health check"
    if "stop_grace_period" not in service:
        yield "it is not said how long it may take to stop"
    if service.get("restart") != "unless-stopped":
        yield "it stays down after a crash"


def _of_secrets(service: Mapping[str, Any], compose: Compose) -> Iterator[str]:
    for variable in service.get("environment", {}):
        if SECRET.search(variable) and not NO_SECRET.search(variable):
            yield f"{variable} is in its environment"
    named = [entry if isinstance(entry, str) else entry["source"] for entry in service.get("secrets", ())]
    yield from (f"the secret {one} is not declared" for one in named if one not in compose.get("secrets", {}))
    given = {f"/run/secrets/{one}" for one in named}
    for variable, value in service.get("environment", {}).items():
        if NO_SECRET.search(variable) and str(value).startswith("/run/secrets/") and value not in given:
            yield f"{variable} names a secret that it is not given"


def _of_reach(name: str, service: Mapping[str, Any], compose: Compose) -> Iterator[str]:
    networks = compose.get("networks", {})
    if not service.get("networks"):
        yield "it is on the default network"
    yield from (f"the network {one} is not declared" for one in service.get("networks", ()) if one not in networks)
    if service.get("ports") and name not in WITH_PORTS:
        yield "it has ports of its own"
    outside = {one for one in service.get("networks", ()) if not (networks.get(one) or {}).get("internal")}
    if outside and name not in (*WITH_PORTS, *CALLERS_OUT):
        yield f"it has a way out by {', '.join(sorted(outside))}"
    for volume in service.get("volumes", ()):
        source, _, rest = volume.partition(":")
        if not source.startswith((".", "/")) and source not in compose.get("volumes", {}):
            yield f"the volume {source} is not declared"
        if source.startswith((".", "/")) and not rest.endswith(":ro"):
            yield f"it may write to {source}"


def faults_of_dockerfile(text: str) -> list[str]:
    """Return what is wrong with a Dockerfile."""
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    used = set(re.findall(r"^(?:FROM |COPY --from=)([\w-]+)", text, re.MULTILINE))
    found = []
    for stage in stages:
        title = stage.splitlines()[0]
        users = re.findall(r"^USER (.+)$", stage, re.MULTILINE)
        is_image = title.rpartition(" AS ")[2] not in used
        if is_image and not (users and re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])):
            found.append(f"{title}: it ends as root")
        if any(re.search(r"(SECRET|PASSWORD|PEPPER|TOKEN)\w*=", line) for line in stage.splitlines()):
            found.append(f"{title}: a secret stands in it")
    for base in re.findall(r"^ARG BASE=(.+)$", text, re.MULTILINE):
        if ":" not in base.partition("@")[0] or base.partition("@")[0].endswith(":latest"):
            found.append(f"the base {base} names no version")
        if "@sha256:" not in base:
            found.append(f"the base {base} is not pinned by a digest")
    return found
