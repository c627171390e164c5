"""What deploy/monitoring names is there: figures in /metrics, pages of runbooks, files that the programs accept."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from django.test import Client

from evalsvc.ops.liveness import alive
from evaluators.base import Lane
from tests.conftest import CHECKOUT
from tests.deploy.series import ALERTS, HEALTHY, TASKS
from tests.deploy.tools import MONITORING, run

KEY = {"HTTP_AUTHORIZATION": "Bearer metrics-key-of-the-tests"}
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
PAGE = (CHECKOUT / "docs" / "monitoring.md").read_text()


def figures() -> set[str]:
    """Return the names of the figures of /metrics, with those of histograms' parts."""
    text = Client().get("/metrics", **KEY).content.decode()  # type: ignore[arg-type]
    told = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    return {name for name, _ in told} | {f"{name}_bucket" for name, kind in told if kind == "histogram"}


@pytest.mark.parametrize("expr", [*QUERIES, *(rule["expr"] for rule in ALERTS.values())])
def test_what_is_asked_for_is_told(expr: str) -> None:
    asked = set(re.findall(r"\bevalsvc_\w+", expr))
    # Nobody has sent an event yet: that counter is made by the worker.
    from evalsvc.events import sender  # noqa: F401
    from evalsvc.ops.metering import pools  # noqa: F401

    assert asked or "up{" in expr
    assert asked <= figures()


def test_labels_have_the_values_that_rules_name() -> None:
    lanes = {match[1] for name in HEALTHY if (match := re.search(r'lane="(\w+)"', name))}

    assert set(TASKS) == set(alive.PERIODIC.values())
    assert lanes == {lane.value for lane in Lane}
    assert set(re.findall(r'queue="(\w+)"', " ".join(HEALTHY))) == set(alive.PARTS)


def test_each_alert_has_its_runbook() -> None:
    titles = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)

    assert titles == list(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook"] == f"docs/monitoring.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"].endswith(".")


def test_panels_do_not_cover_each_other() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]

    assert len(set(places)) == len(places) == len({panel["id"] for panel in DASHBOARD["panels"]})


def test_prometheus_takes_its_example(tmp_path: Path) -> None:
    shutil.copytree(MONITORING, tmp_path, dirs_exist_ok=True)
    (tmp_path / "metrics.key").write_text("key")
    done = run("promtool", "check", "config", tmp_path / "prometheus.yaml")

    assert done.returncode == 0, done.stdout + done.stderr
    jobs = {job["job_name"] for job in yaml.safe_load((tmp_path / "prometheus.yaml").read_text())["scrape_configs"]}
    assert jobs == {"evalsvc", "evalsvc-worker"}


def test_alertmanager_takes_its_example() -> None:
    done = run("amtool", "check-config", MONITORING / "alertmanager.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_go_where_they_should() -> None:
    for severity, receiver in (("critical", "pager"), ("warning", "mail")):
        done = run(
            "amtool", "config", "routes", "test", "--config.file", MONITORING / "alertmanager.yaml",
            "alertname=EvalsvcErrors", f"severity={severity}",
        )  # fmt: skip
        assert done.stdout.strip() == receiver, done.stderr
