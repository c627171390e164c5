"""One row of each model that the admin shows, made the way the product makes them, and every address of the admin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.admin.conftest import join, key_of, new_evaluation, new_evaluator, new_profile, new_user
from tests.annotations.shapes import criteria_of
from tests.conftest import Caller
from tests.datasets.shapes import new_version
from tests.events.shapes import delivery_of, endpoint_of
from tests.experiments.conftest import EXACT, make_dataset, make_experiment, ok
from tests.factories import new_experiment
from tests.judges.conftest import made
from tests.prompts.shapes import prompt_of, prompt_revision_of
from tests.telemetry.otlp import attribute, log, logs, new_id, span, traces


def row_of(model: str, caller: Caller) -> Any:
    """A row for the pages of a model, by the address of its list."""
    return MAKERS[model](caller)


def connection_of(caller: Caller) -> Any:
    from evalsvc.judges.models import Connection

    return Connection.objects.using("system").get(pk=made(caller)["id"])


def app_of(caller: Caller) -> Any:
    from evalsvc.projects.models import App

    new_evaluation(caller)
    return App.objects.using("system").get(account=caller.account, name="shop")


def project_of(caller: Caller) -> Any:
    from evalsvc.projects.models import Project

    return Project.objects.using("system").get(pk=new_experiment(caller).project_id)


def audit_entry_of(caller: Caller) -> Any:
    from evalsvc.accounts.models import AuditEntry

    return AuditEntry.objects.using("system").filter(account=caller.account).first()


def member_of(caller: Caller) -> Any:
    from evalsvc.accounts.models import Member

    join(new_user(), caller.account, "reader")
    return Member.objects.using("system").filter(account=caller.account).first()


def span_of(caller: Caller) -> Any:
    from evalsvc.telemetry.models import Span

    caller.post("/v1/traces", traces(span(new_id(), attributes=[attribute("said", "much")])))
    return Span.objects.using("system").filter(account=caller.account).latest("id")


def record_of(caller: Caller) -> Any:
    from evalsvc.telemetry.models import LogRecord

    caller.post("/v1/logs", logs(log(new_id(4))))
    return LogRecord.objects.using("system").filter(account=caller.account).latest("id")


def plan_of(caller: Caller) -> Any:
    """An experiment with two metrics, one of whose configs has answered all and the other half."""
    from evalsvc.experiments.decisions.step import step
    from evalsvc.experiments.models import ExperimentPlan

    latency = {"name": "latency_ms", "source": "latency_ms", "higher_is_better": False}
    configs: list[Any] = [{"name": name, "kind": "push", "parameters": {}} for name in ("short", "a longer name")]
    plan = {"metrics": [EXACT, latency], "num_shards": 4}
    experiment = make_experiment(caller, make_dataset(caller, n=40), configs, **plan)
    for config, units in zip(experiment["configs"], (4, 2), strict=True):
        for _ in range(units):
            push_unit(caller, experiment["id"], config["id"])
    step(account_id=caller.account.pk, experiment_id=int(experiment["id"]), wait=True)
    return ExperimentPlan.objects.using("system").get(pk=experiment["id"])


def push_unit(caller: Caller, experiment_id: str, config_id: str) -> None:
    at = f"/v1/experiments/{experiment_id}"
    unit = ok(caller.post(f"{at}/configs/{config_id}/lease", {"n": 10}))["unit"]
    outputs = [
        {"pos": row["pos"], "output": str(row["pos"] % 10), "latency_ms": 100.0 + row["pos"]}
        for row in unit["examples"]
    ]
    ok(caller.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))


MAKERS = {
    "catalog/evaluator/": lambda caller: new_evaluator(caller.account),
    "catalog/profile/": lambda caller: new_profile(caller.account),
    "evaluations/evaluation/": new_evaluation,
    "annotations/annotationcriteria/": criteria_of,
    "prompts/prompt/": prompt_of,
    "prompts/promptrevision/": prompt_revision_of,
    "telemetry/span/": span_of,
    "telemetry/logrecord/": record_of,
    "datasets/dataset/": lambda caller: new_version(caller).dataset,
    "datasets/datasetversion/": new_version,
    "events/eventendpoint/": endpoint_of,
    "events/eventdelivery/": delivery_of,
    "judges/connection/": connection_of,
    "projects/project/": project_of,
    "projects/app/": app_of,
    "projects/experiment/": new_experiment,
    "experiments/experimentplan/": plan_of,
    "accounts/apikey/": key_of,
    "accounts/auditentry/": audit_entry_of,
    "accounts/account/": lambda caller: caller.account,
    "accounts/user/": lambda caller: new_user(),
    "accounts/member/": member_of,
}
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def addresses(caller: Caller) -> list[str]:
    """Every address of the admin, with ids of rows that are there."""
    from django.contrib import admin

    filled = {model: ids_of(model, caller) for model in MAKERS}
    routes = [route for route in routes_of(admin.site.get_urls()) if "(?P" not in route]
    return [
        "catalog/",
        *(fill(route, next((filled[model] for model in MAKERS if route.startswith(model)), {})) for route in routes),
    ]


def ids_of(model: str, caller: Caller) -> dict[str, str]:
    from evalsvc.experiments.models import Config

    row = row_of(model, caller)
    config = Config.objects.using("system").filter(experiment_id=row.pk).first() if "plan" in model else None
    return {"object_id": str(row.pk), "id": str(row.pk), "config_id": str(config.pk if config else "")}


def routes_of(patterns: Any, before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from routes_of(pattern.url_patterns, route)
        else:
            yield route


def fill(route: str, ids: dict[str, str]) -> str:
    return PARAMETER.sub(lambda found: ids[found[1]], route)
