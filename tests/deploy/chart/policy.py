"""What every manifest of the chart must be, beyond what a schema says. Each function returns sentences on what is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.conftest import CHECKOUT
from tests.deploy.chart.helm import Manifest

SECRETS = {
    "SECRET_KEY", "KEY_PEPPER", "ENCRYPTION_KEYS", "DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_MIGRATION_URL",
    "DATABASE_ADMIN_URL", "DATABASE_SIGNIN_URL", "REDIS_URL", "CELERY_BROKER_URL", "EVALSVC_METRICS_KEY",
    "EVALSVC_OIDC_CLIENT_SECRET", "EVALSVC_SMTP_PASSWORD",
}  # fmt: skip
# An address with a password in it, or one of a server that asks for one.
CREDENTIALS = re.compile(r"://[^/]*@|^(?!https?:)\w+://")
# Of scripts in the chart's own folder `files`.
OF_SCRIPTS = {"FOLDER", "KEEP", "URL", "HOST"}


def faults(manifests: list[Manifest]) -> list[str]:
    """Return all that is wrong."""
    found = [fault for name, pod in pods(manifests) for fault in _pod_faults(name, pod)]
    return [
        *found,
        *_selectors(manifests),
        *_ports(manifests),
        *_policies(manifests),
        *_budgets(manifests),
        *_beat(manifests),
    ]


def pods(manifests: list[Manifest]) -> list[tuple[str, Manifest]]:
    """Return the pods that manifests lead to, with names for messages."""
    found = []
    for manifest in manifests:
        kind, name = manifest["kind"], f"{manifest['kind']} {manifest['metadata']['name']}"
        if kind == "Pod":
            found.append((name, manifest))
        elif kind == "CronJob":
            found.append((name, manifest["spec"]["jobTemplate"]["spec"]["template"]))
        elif kind in ("Deployment", "Job"):
            found.append((name, manifest["spec"]["template"]))
    return found


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    """Return those of a kind."""
    return [manifest for manifest in manifests if manifest["kind"] == kind]


@cache
def settings() -> frozenset[str]:
    """Return the names that docs/settings.md knows, without the client's and those of earlier versions."""
    page = (CHECKOUT / "docs" / "settings.md").read_text(encoding="utf-8").partition("## The client")[0]
    return frozenset(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))


def _pod_faults(name: str, pod: Manifest) -> Iterator[str]:
    spec, security = pod["spec"], pod["spec"].get("securityContext", {})
    if spec.get("automountServiceAccountToken") is not False:
        yield f"{name}: has a token for the cluster"
    if spec.get("enableServiceLinks") is not False:
        yield f"{name}: gets addresses of services as settings"
    if security.get("runAsNonRoot") is not True or security.get("runAsUser") != 10001:
        yield f"{name}: may run as root"
    if security.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield f"{name}: no seccomp profile"
    if any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")):
        yield f"{name}: shares something of its node"
    yield from _volumes(name, spec.get("volumes", []))
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        yield from _container(name, container)
        yield from _environment(name, container.get("env", []), container.get("envFrom"))
    # What ends by itself needs no probe.
    if spec.get("restartPolicy", "Always") == "Always":
        for container in spec["containers"]:
            yield from _probes(name, container)


def _volumes(name: str, volumes: list[Manifest]) -> Iterator[str]:
    for volume in volumes:
        if "hostPath" in volume:
            yield f"{name}: mounts a folder of its node"
        if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
            yield f"{name}: {volume['name']} may fill its node"


def _container(name: str, container: Manifest) -> Iterator[str]:
    security = container.get("securityContext", {})
    if security.get("allowPrivilegeEscalation") is not False or security.get("privileged"):
        yield f"{name}: may get more rights"
    if security.get("readOnlyRootFilesystem") is not True:
        yield f"{name}: writes into its image"
    if security.get("capabilities") != {"drop": ["ALL"]}:
        yield f"{name}: keeps capabilities"
    for kind in ("requests", "limits"):
        for what in ("cpu", "memory"):
            if not container.get("resources", {}).get(kind, {}).get(what):
                yield f"{name}: no {kind} of {what}"
    tag = container["image"].rpartition("/")[2].partition("@")[0].partition(":")[2]
    if tag == "latest" or (not tag and "@sha256:" not in container["image"]):
        yield f"{name}: its image has no version: {container['image']}"


def _environment(name: str, env: list[dict[str, Any]], env_from: object) -> Iterator[str]:
    if env_from:
        yield f"{name}: takes its environment from elsewhere"
    for variable in env:
        called = variable["name"]
        if called in SECRETS or "valueFrom" in variable or CREDENTIALS.search(variable.get("value", "")):
            yield f"{name}: {called} is a secret in the environment"
        if not {called, called.removesuffix("_FILE")} & (settings() | OF_SCRIPTS):
            yield f"{name}: {called} is no setting"


def _probes(name: str, container: Manifest) -> Iterator[str]:
    for probe in ("startupProbe", "livenessProbe"):
        if probe not in container:
            yield f"{name}: no {probe}"
    serves = any(port["name"] in ("http", "grpc") for port in container.get("ports", []))
    if serves and not (container.get("readinessProbe") and container.get("lifecycle", {}).get("preStop")):
        yield f"{name}: is not left before it stops"


def _matches(labels: dict[str, str], selector: Manifest) -> bool:
    """Say whether a selector selects; one with nothing in it selects all."""
    wanted = selector.get("matchLabels", {}).items() <= labels.items()
    return wanted and all(labels.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", []))


def _selected(manifests: list[Manifest], selector: Manifest) -> list[Manifest]:
    return [pod for _, pod in pods(manifests) if _matches(pod["metadata"]["labels"], selector)]


def _selectors(manifests: list[Manifest]) -> Iterator[str]:
    for manifest in manifests:
        name = f"{manifest['kind']} {manifest['metadata']['name']}"
        selector = manifest.get("spec", {}).get("selector")
        if manifest["kind"] == "Service":
            selector = {"matchLabels": selector}
        if manifest["kind"] == "ServiceMonitor":
            if not any(_matches(one["metadata"]["labels"], selector) for one in of_kind(manifests, "Service")):
                yield f"{name}: selects no service"
        elif manifest["kind"] == "Deployment" and not _matches(
            manifest["spec"]["template"]["metadata"]["labels"], selector
        ):
            yield f"{name}: does not select its pods"
        elif selector is not None and not _selected(manifests, selector):
            yield f"{name}: selects no pod"
    names = {manifest["metadata"]["name"] for manifest in of_kind(manifests, "Deployment")}
    for manifest in [*of_kind(manifests, "ScaledObject"), *of_kind(manifests, "HorizontalPodAutoscaler")]:
        if manifest["spec"]["scaleTargetRef"]["name"] not in names:
            yield f"{manifest['kind']} {manifest['metadata']['name']}: scales nothing"


def _ports(manifests: list[Manifest]) -> Iterator[str]:
    for service in of_kind(manifests, "Service"):
        for port in service["spec"]["ports"]:
            for pod in _selected(manifests, {"matchLabels": service["spec"]["selector"]}):
                there = [one["name"] for container in pod["spec"]["containers"] for one in container.get("ports", [])]
                if port["targetPort"] not in there:
                    yield f"Service {service['metadata']['name']}: its pods have no port {port['targetPort']}"
    served = {one["metadata"]["name"]: one["spec"]["ports"] for one in of_kind(manifests, "Service")}
    for name, backend in _backends(manifests):
        ports = served.get(backend["name"], [])
        if backend["port"] not in [value for port in ports for value in (port["name"], port["port"])]:
            yield f"{name}: leads to no port of a service"


def _backends(manifests: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    for ingress in of_kind(manifests, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                service = path["backend"]["service"]
                [port] = service["port"].values()
                yield f"Ingress {ingress['metadata']['name']}", {"name": service["name"], "port": port}
    for route in [*of_kind(manifests, "HTTPRoute"), *of_kind(manifests, "GRPCRoute")]:
        for rule in route["spec"]["rules"]:
            for backend in rule["backendRefs"]:
                yield f"{route['kind']} {route['metadata']['name']}", backend


def _policies(manifests: list[Manifest]) -> Iterator[str]:
    policies = of_kind(manifests, "NetworkPolicy")
    if not policies:
        return
    for name, pod in pods(manifests):
        mine = [one for one in policies if _matches(pod["metadata"]["labels"], one["spec"]["podSelector"])]
        for direction in ("Ingress", "Egress"):
            if not any(direction in one["spec"].get("policyTypes", ()) for one in mine):
                yield f"{name}: no policy on its {direction.lower()}"
    for policy in policies:
        for way, peers in (("ingress", "from"), ("egress", "to")):
            if any(not rule.get(peers) for rule in policy["spec"].get(way, [])):
                yield f"NetworkPolicy {policy['metadata']['name']}: {way} is open to everybody"


def _budgets(manifests: list[Manifest]) -> Iterator[str]:
    most = {one["spec"]["scaleTargetRef"]["name"]: one["spec"] for one in of_kind(manifests, "HorizontalPodAutoscaler")}
    most |= {one["spec"]["scaleTargetRef"]["name"]: one["spec"] for one in of_kind(manifests, "ScaledObject")}
    for deployment in of_kind(manifests, "Deployment"):
        name = deployment["metadata"]["name"]
        scaled = most.get(name, {})
        if scaled and "replicas" in deployment["spec"]:
            yield f"Deployment {name}: each upgrade would undo its scaling"
        n = scaled.get("maxReplicas") or scaled.get("maxReplicaCount") or deployment["spec"].get("replicas", 1)
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        kept = [one for one in of_kind(manifests, "PodDisruptionBudget") if _matches(labels, one["spec"]["selector"])]
        if n > 1 and not kept:
            yield f"Deployment {name}: all its pods may be evicted at once"


def _beat(manifests: list[Manifest]) -> Iterator[str]:
    for deployment in of_kind(manifests, "Deployment"):
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        if "beat" not in container["args"]:
            continue
        if deployment["spec"].get("replicas") != 1 or deployment["spec"]["strategy"] != {"type": "Recreate"}:
            yield f"Deployment {deployment['metadata']['name']}: two clocks may run"
