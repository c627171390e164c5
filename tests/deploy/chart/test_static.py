"""What of the chart can be checked without helm, in a moment."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml

from evalsvc import __version__
from tests.conftest import CHECKOUT
from tests.deploy.chart import policy

CHART = CHECKOUT / "deploy" / "chart"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
# Set by the chart from other values, or without a meaning in a cluster.
NOT_TO_BE_SET = {
    "EVALSVC_ALIVE_FILE", "EVALSVC_ALLOWED_HOSTS", "EVALSVC_BEHIND_PROXY", "EVALSVC_DRAIN_FILE", "EVALSVC_DRAIN_SECONDS",
    "EVALSVC_HOME", "EVALSVC_HTTPS_PORT", "EVALSVC_OTLP_GRPC_PORT", "EVALSVC_OUTBOUND_ALLOW", "EVALSVC_OUTBOUND_PLAIN_HTTP",
    "EVALSVC_OUTBOUND_PORTS", "EVALSVC_PORT", "EVALSVC_PYTHON", "EVALSVC_READY_FILE", "EVALSVC_START", "EVALSVC_STATIC_ROOT",
    "EVALSVC_VENV", "EVALSVC_WEB_THREADS", "EVALSVC_WEB_WORKERS", "EVALSVC_WORKER_METRICS_PORT", "PROMETHEUS_MULTIPROC_DIR",
    "SSL_CERT_FILE", "XDG_DATA_HOME",
}  # fmt: skip


def refusals(values: Any) -> list[str]:
    """Return what the schema says against values."""
    return [f"{error.json_path}: {error.message}" for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(values)]


def merged(values: Any, others: Any) -> Any:
    """Return values with others over them, as helm does."""
    if not isinstance(values, dict) or not isinstance(others, dict):
        return others
    return values | {key: merged(values.get(key), other) for key, other in others.items()}


def test_the_version_is_that_of_the_product() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))

    assert chart["version"] == chart["appVersion"] == __version__


def test_the_rules_are_no_copy() -> None:
    rules = CHART / "files" / "rules.yaml"

    assert rules.is_symlink()
    assert rules.resolve() == (CHECKOUT / "deploy" / "monitoring" / "rules.yaml").resolve()


def test_settings_are_those_of_the_page_that_the_chart_does_not_make_itself() -> None:
    names = set(SCHEMA["properties"]["settings"]["propertyNames"]["enum"])

    assert names == policy.settings() - policy.SECRETS - NOT_TO_BE_SET


def test_secrets_are_the_keys_that_templates_know() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").glob("*.yaml"))
    named = {
        name for keys in re.findall(r'"keys" \(list ([^)]*)\)', templates) for name in re.findall(r'"(\w+)"', keys)
    }

    assert named == policy.SECRETS
    assert set(SCHEMA["properties"]["secrets"]["properties"]["optional"]["items"]["enum"]) < named


def test_the_chart_takes_its_own_values() -> None:
    assert refusals(VALUES) == []


def test_each_value_is_in_both_files() -> None:
    def keys(schema: Any, values: Any, path: str) -> list[str]:
        if "$ref" in schema:
            schema = SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]]
        known = schema.get("properties")
        if known is None or not isinstance(values, dict) or "additionalProperties" not in schema:
            return []
        wrong = [f"{path}.{key}" for key in known.keys() ^ values.keys()]
        return wrong + [
            one for key in known.keys() & values.keys() for one in keys(known[key], values[key], f"{path}.{key}")
        ]

    assert keys(SCHEMA, VALUES | {"global": {}}, "") == []


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 2},
        {"web": {"replica": 2}},
        {"workers": {"gpu": {"replicas": 1}}},
        {"beat": {"replicas": 2}},
        {"image": {"tag": "latest"}},
        {"settings": {"EVALSVC_RETENTION": "90"}},
        {"settings": {"KEY_PEPPER": "p" * 40}},
        {"settings": {"EVALSVC_RETENTION_DAYS": 90}},
        {"web": {"resources": {"limits": None}}},
        {"networkPolicy": {"databaseTo": []}},
        {"gateway": {"enabled": True}},
        {"gateway": {"parentRefs": [{"name": "public"}]}},
        {"hosts": ["https://evals.example.com"]},
    ],
    ids=str,
)
def test_the_schema_refuses(values: dict[str, Any]) -> None:
    assert refusals(VALUES) == []
    assert refusals(merged(VALUES, values))


def test_the_page_names_each_group_of_values() -> None:
    page = (CHECKOUT / "docs" / "deploy" / "chart.md").read_text(encoding="utf-8")

    assert [key for key in VALUES if f"`{key}" not in page and f".{key}" not in page] == []
