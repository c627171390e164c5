"""The chart renders under each of the matrix' values, and what comes of it is valid, known and by our policies."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.conftest import CHECKOUT
from tests.deploy.chart import crds, policy
from tests.deploy.chart.helm import CHART, VERSIONS, Manifest, Refused, helm, render, validate
from tests.deploy.chart.matrix import EVERYTHING, MATRIX
from tests.deploy.chart.reach import Peer, reaches
from tests.deploy.tools import run

pytestmark = pytest.mark.deploy

Plant = Callable[[Path], None]


@pytest.mark.parametrize("name", MATRIX)
def test_helm_finds_nothing_to_lint(name: str) -> None:
    done = helm("lint", "--strict", CHART, values=MATRIX[name])

    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_core_kinds_are_valid_without_a_word(version: str, tmp_path: Path) -> None:
    manifests = [manifest for values in MATRIX.values() for manifest in render(values) if crds.is_core(manifest)]

    assert validate(tmp_path, manifests, version) == ""


@pytest.mark.parametrize("name", MATRIX)
def test_other_kinds_are_those_of_which_there_is_a_schema(name: str) -> None:
    assert crds.faults(render(MATRIX[name])) == []


@pytest.mark.parametrize("name", MATRIX)
def test_policies_hold(name: str) -> None:
    assert policy.faults(render(MATRIX[name])) == []


def test_the_matrix_has_every_kind() -> None:
    kinds = {manifest["kind"] for values in MATRIX.values() for manifest in render(values)}

    assert {kind.lower() for kind in kinds} >= set(crds.SCHEMAS)
    assert kinds >= {kind for known in crds.CORE.values() for kind in known}


def test_the_rules_are_those_of_the_monitoring() -> None:
    [rules] = policy.of_kind(render(EVERYTHING), "PrometheusRule")

    assert rules["spec"] == yaml.safe_load((CHECKOUT / "deploy/monitoring/rules.yaml").read_text(encoding="utf-8"))


def test_each_role_gets_its_secrets_and_no_others() -> None:
    told = {}
    for _, pod in policy.pods(render({"secrets": {"optional": ["DATABASE_ADMIN_URL", "EVALSVC_METRICS_KEY"]}})):
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        items = volumes["secrets"]["secret"]["items"] if "secrets" in volumes else []
        told[pod["metadata"]["labels"]["app.kubernetes.io/component"]] = {item["key"] for item in items}

    assert told["beat"] == {"SECRET_KEY", "KEY_PEPPER", "REDIS_URL"}
    assert told["otlp-grpc"] == {"SECRET_KEY", "KEY_PEPPER", "REDIS_URL", "DATABASE_URL"}
    assert told["test"] == set()
    assert {name for name, keys in told.items() if "DATABASE_ADMIN_URL" in keys} == {"migrate"}
    assert {name for name, keys in told.items() if "DATABASE_MIGRATION_URL" in keys} == {"migrate"}
    assert {name for name, keys in told.items() if "EVALSVC_METRICS_KEY" in keys} == {"web"}


def test_scaling_asks_for_figures_that_there_are(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
    triggers = [one["spec"]["triggers"][0] for one in policy.of_kind(render(EVERYTHING), "ScaledObject")]
    queries = [trigger["metadata"]["query"] for trigger in triggers]
    rules = [{"record": f"waiting:{n}", "expr": query} for n, query in enumerate(queries)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "scaling", "rules": rules}]}), encoding="utf-8")

    assert len(queries) == 3
    assert {name for query in queries for name in re.findall(r"evalsvc_\w+", query)} <= set(
        re.findall(r"`(evalsvc_\w+)`", page)
    )
    done = run("promtool", "check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


CONTROLLER = Peer(namespace={"kubernetes.io/metadata.name": "ingress-nginx"})
PROMETHEUS = Peer(namespace={"kubernetes.io/metadata.name": "monitoring"})
DNS = Peer(namespace={"kubernetes.io/metadata.name": "kube-system"})
STRANGER = Peer(namespace={"kubernetes.io/metadata.name": "default"})
CALLERS = ("worker-judge", "worker-experiments", "worker-system")
SERVING = (*CALLERS, "worker-cpu", "web", "otlp-grpc")
PODS = (*SERVING, "beat", "migrate", "backup", "test")
PUBLIC, PRIVATE, METADATA, MINE = Peer("93.184.216.34"), Peer("10.9.9.9"), Peer("169.254.169.254"), Peer("10.1.2.3")
PUBLIC6, PRIVATE6, MINE6 = Peer("2606:2800:220:1::1"), Peer("fd12::1"), Peer("fd00:1::5")


@pytest.mark.parametrize(
    ("way", "peer", "port", "who"),
    [
        ("ingress", CONTROLLER, 8000, {"web"}),
        ("ingress", CONTROLLER, 4317, {"otlp-grpc"}),
        ("ingress", CONTROLLER, 9100, set()),
        ("ingress", PROMETHEUS, 8000, {"web"}),
        ("ingress", PROMETHEUS, 9100, {*CALLERS, "worker-cpu"}),
        ("ingress", STRANGER, 8000, set()),
        ("ingress", STRANGER, 4317, set()),
        ("ingress", PUBLIC, 8000, set()),
        ("egress", PRIVATE, 5432, {*SERVING, "migrate", "backup"}),
        ("egress", PRIVATE, 6379, {*SERVING, "beat"}),
        ("egress", PRIVATE, 443, set()),
        ("egress", PUBLIC, 443, set(CALLERS)),
        ("egress", PUBLIC6, 443, set(CALLERS)),
        ("egress", PUBLIC, 80, set()),
        ("egress", PUBLIC, 5432, set()),
        ("egress", METADATA, 443, set()),
        ("egress", METADATA, 80, set()),
        ("egress", PRIVATE6, 443, set()),
        ("egress", MINE, 8443, set(CALLERS)),
        ("egress", MINE6, 8443, set(CALLERS)),
        ("egress", STRANGER, 443, set()),
        ("egress", DNS, 53, set(PODS)),
    ],
)
def test_network_policies_let_these_through_and_no_others(way: str, peer: Peer, port: int, who: set[str]) -> None:
    values = EVERYTHING | {"secrets": {"optional": ["EVALSVC_METRICS_KEY"]}}
    manifests = render(values)
    policies = policy.of_kind(manifests, "NetworkPolicy")
    labels = [pod["metadata"]["labels"] for _, pod in policy.pods(manifests)]

    assert {one["app.kubernetes.io/component"] for one in labels} == set(PODS)
    assert {one["app.kubernetes.io/component"] for one in labels if reaches(policies, one, way, peer, port)} == who


SIGN_IN = {"EVALSVC_OIDC_ISSUER": "https://id.example.com/realms/corp", "EVALSVC_SMTP_HOST": "mail.example.com"}
ELSEWHERE = {"EVALSVC_OIDC_ISSUER": "https://id.example.com:8443/x", "EVALSVC_SMTP_PORT": "465"}
MINE_MAIL = {"mailTo": [{"ipBlock": {"cidr": "10.9.9.9/32"}}]}


@pytest.mark.parametrize(
    ("settings", "network", "peer", "port", "who"),
    [
        (SIGN_IN, {}, PUBLIC, 443, {"web", *CALLERS}),
        (SIGN_IN, {}, PUBLIC6, 587, {"worker-judge"}),
        (SIGN_IN, {}, PUBLIC, 25, set()),
        (SIGN_IN, {}, PRIVATE, 443, set()),
        (SIGN_IN, {}, PRIVATE, 587, set()),
        (SIGN_IN, {}, METADATA, 443, set()),
        (SIGN_IN, {}, MINE, 8443, {"web", *CALLERS}),
        (SIGN_IN, MINE_MAIL, PRIVATE, 587, {"worker-judge"}),
        (SIGN_IN, MINE_MAIL, PUBLIC, 587, set()),
        (SIGN_IN | ELSEWHERE, {}, PUBLIC, 8443, {"web"}),
        (SIGN_IN | ELSEWHERE, {}, PUBLIC, 443, set(CALLERS)),
        (SIGN_IN | ELSEWHERE, {}, PUBLIC, 465, {"worker-judge"}),
        ({"EVALSVC_SMTP_PORT": "465"}, MINE_MAIL, PRIVATE, 465, set()),
    ],
)
def test_sign_in_opens_the_way_that_it_needs(
    settings: Manifest, network: Manifest, peer: Peer, port: int, who: set[str]
) -> None:
    manifests = render(EVERYTHING | {"settings": settings, "networkPolicy": network})
    policies = policy.of_kind(manifests, "NetworkPolicy")
    labels = [pod["metadata"]["labels"] for _, pod in policy.pods(manifests)]

    assert policy.faults(manifests) == []
    assert {one["app.kubernetes.io/component"] for one in labels if reaches(policies, one, "egress", peer, port)} == who


def test_only_the_check_reaches_web_from_here() -> None:
    manifests = render(EVERYTHING)
    policies = policy.of_kind(manifests, "NetworkPolicy")
    labels = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod["metadata"]["labels"]
        for _, pod in policy.pods(manifests)
    }

    def both(source: str) -> bool:
        here, there = Peer(labels=labels[source], is_here=True), Peer(labels=labels["web"], is_here=True)
        out = reaches(policies, labels[source], "egress", there, 8000)
        return out and reaches(policies, labels["web"], "ingress", here, 8000)

    assert [source for source in labels if both(source)] == ["test"]


# --- Planted errors: what is found, and by whom. ---------------------------------------------------------------------

VALUES: dict[str, tuple[Manifest, str]] = {
    "a value that there is not": ({"web": {"replica": 3}}, "additional properties 'replica'"),
    "the newest image, whichever it is": ({"image": {"tag": "latest"}}, "image.tag|/image/tag"),
    "a setting that there is not": ({"settings": {"EVALSVC_RETENTION": "90"}}, "EVALSVC_RETENTION"),
    "a secret as a setting": ({"settings": {"DATABASE_URL": "postgresql:///evalsvc"}}, "DATABASE_URL"),
    "no limits": ({"beat": {"resources": {"limits": None}}}, "limits"),
    "everybody may ask for metrics": ({"networkPolicy": {"metricsFrom": []}}, "metricsFrom"),
    "an Ingress without a host": ({"ingress": {"enabled": True}}, "hosts"),
    "a folder of the node for secrets": ({"secrets": {"volume": {"hostPath": {"path": "/etc"}}}}, "hostPath"),
    "monitoring without a key": ({"monitoring": {"enabled": True}}, "Put EVALSVC_METRICS_KEY into the secret"),
    "Ingress and Gateway": (
        {"hosts": ["a.example"], "ingress": {"enabled": True}, "gateway": {"enabled": True, "parentRefs": [{"name": "g", "sectionName": "https"}]}},
        "Either ingress.enabled or gateway.enabled",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_planted_values_are_refused(name: str) -> None:
    values, told = VALUES[name]

    with pytest.raises(Refused) as refused:
        render(values)

    assert re.search(told, str(refused.value)), str(refused.value)


def instead(file: str, old: str, new: str) -> Plant:
    """Return what plants an error: a text of a template for another."""

    def plant(chart: Path) -> None:
        path = chart / "templates" / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has changed: {old!r} is not there"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return plant


BY_VALIDATION: dict[str, tuple[Plant, str]] = {
    "a key that there is not": (instead("_pod.tpl", "terminationGracePeriodSeconds:", "terminationGracePeriod:"), "terminationGracePeriod"),
    "text for a number": (instead("beat.yaml", "replicas: 1", 'replicas: "one"'), "one"),
    "a version that has gone": (instead("autoscaling.yaml", "autoscaling/v2\n", "autoscaling/v2beta2\n"), "a kind that nothing here knows"),
    "a kind that nobody knows": (instead("services.yaml", "kind: Service", "kind: Servize"), "a kind that nothing here knows"),
    "another key of KEDA's": (instead("autoscaling.yaml", "maxReplicaCount:", "maxReplicas:"), "'maxReplicas' was unexpected"),
    "another key of Prometheus'": (instead("monitoring.yaml", "relabelings:", "relabeling:"), "'relabeling' was unexpected"),
    "another key of the Gateway's": (instead("gateway.yaml", "hostnames:", "hosts:"), "'hosts' was unexpected"),
}  # fmt: skip
BY_POLICY: dict[str, tuple[Plant, str]] = {
    "root": (instead("_pod.tpl", "runAsNonRoot: true", "runAsNonRoot: false"), "may run as root"),
    "a root filesystem for writing": (instead("_pod.tpl", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"), "writes into its image"),
    "capabilities": (instead("_pod.tpl", "capabilities: {drop: [ALL]}", "capabilities: {add: [NET_ADMIN]}"), "keeps capabilities"),
    "no seccomp": (instead("_pod.tpl", "seccompProfile: {type: RuntimeDefault}", "seccompProfile: {type: Unconfined}"), "no seccomp profile"),
    "a secret in the environment": (instead("_pod.tpl", 'printf "%s_FILE" .', "."), "is a secret in the environment"),
    "no limit": (instead("_pod.tpl", "toYaml .resources |", 'toYaml (omit .resources "limits") |'), "no limits of memory"),
    "an image of no version": (instead("_names.tpl", "default .Chart.AppVersion .Values.image.tag", '"latest"'), "no version"),
    "a selector that selects nothing": (instead("services.yaml", '"component" "web") | nindent 4', '"component" "www") | nindent 4'), "selects no pod"),
    "a port that there is not": (instead("services.yaml", "targetPort: http", "targetPort: https"), "have no port https"),
    "two clocks": (instead("beat.yaml", "{type: Recreate}", "{type: RollingUpdate}"), "two clocks may run"),
    "no probe": (instead("workers.yaml", "livenessProbe:", "readinessProbe:"), "no livenessProbe"),
    "no budget": (instead("disruption.yaml", "gt (int $n) 1", "gt (int $n) 9"), "evicted at once"),
    "one direction left open": (instead("network.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]"), "no policy on its egress"),
    "services as settings": (instead("_pod.tpl", "enableServiceLinks: false", "enableServiceLinks: true"), "addresses of services as settings"),
    "a setting that there is not": (instead("_pod.tpl", '"EVALSVC_BEHIND_PROXY" "1"', '"EVALSVC_PROXY" "1"'), "EVALSVC_PROXY is no setting"),
    "a folder without an end": (instead("_pod.tpl", "emptyDir: {sizeLimit: 64Mi}", "emptyDir: {}"), "may fill its node"),
}  # fmt: skip


def planted(tmp_path: Path, plant: Plant) -> Path:
    """Return a copy of the chart with an error in it."""
    chart = tmp_path / "evalsvc"
    shutil.copytree(CHART, chart)
    plant(chart)
    return chart


@pytest.mark.parametrize("name", BY_VALIDATION)
def test_planted_errors_are_invalid(name: str, tmp_path: Path) -> None:
    plant, told = BY_VALIDATION[name]
    chart = planted(tmp_path, plant)
    manifests = [manifest for values in MATRIX.values() for manifest in render(values, chart=chart)]

    core = [manifest for manifest in manifests if crds.is_core(manifest)]
    assert told in validate(tmp_path, core, VERSIONS[-1]) + "\n".join(crds.faults(manifests))


@pytest.mark.parametrize("name", BY_POLICY)
def test_planted_errors_are_against_a_policy(name: str, tmp_path: Path) -> None:
    plant, told = BY_POLICY[name]
    manifests = render(EVERYTHING | {"image": {}}, chart=planted(tmp_path, plant))

    assert any(told in fault for fault in policy.faults(manifests))


def test_a_planted_error_in_a_template_fails_the_lint(tmp_path: Path) -> None:
    chart = planted(tmp_path, instead("web.yaml", "{{- end -}}", ""))

    assert helm("lint", "--strict", chart).returncode != 0


def test_notes_say_what_is_missing() -> None:
    def notes(values: Manifest) -> str:
        # Without a cluster: what `helm install` prints.
        return helm("install", "evalsvc-chart", CHART, "--dry-run=client", values=values).stdout.partition("NOTES:")[2]

    plain, full = notes({}), notes(EVERYTHING)

    assert "Nothing leads to it from outside yet" in plain
    assert "create_account" in plain
    assert all(word in plain for word in ("Monitoring:", "Backups:", "Autoscaling:"))
    assert "https://evals.example.com" in full
    assert "Monitoring:" not in full and "Backups:" not in full
