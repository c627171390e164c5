"""The exercises of what is not an evaluation: evaluators, criteria, experiments, projects, apps, logs and spans."""

from __future__ import annotations

import uuid
from typing import Any

from tests.contract.patronus_clients import Called
from tests.contract.patronus_exercises import PARIS, captured, exercises, is_aware
from tests.telemetry.otlp import attribute, log, logs, new_id, span, traces


@exercises("evaluators.list")
def list_evaluators(client: Called) -> None:
    every = client.evaluators.list().evaluators
    (one,) = client.evaluators.list(by_alias_or_id="toxicity").evaluators

    assert one.id in {row.id for row in every}
    assert one.id.startswith("toxicity")
    assert "toxicity" in one.aliases
    assert one.default_criteria
    assert all(row.name for row in every)
    assert client.evaluators.list(by_alias_or_id="no such thing").evaluators == []


@exercises("evaluators.list_families")
def list_families(client: Called) -> None:
    found = {row.family_name: row for row in client.evaluators.list_families().evaluator_families}

    assert found["exact-match"].required_input_fields == ["evaluated_model_output", "evaluated_model_gold_answer"]
    assert found["pii"].required_input_fields == ["evaluated_model_output"]


def own_criteria(client: Called, name: str) -> Any:
    answer = client.evaluator_criteria.create(
        evaluator_family="metrics", name=name, config={"metric": "bleu", "pass_threshold": 0.5}
    )
    return answer.evaluator_criteria


@exercises("evaluator_criteria.create")
def create_criteria(client: Called) -> None:
    found = client.evaluator_criteria.create(
        evaluator_family="judge", name="brief", config={"pass_criteria": "Brief?"}, description="Says no more."
    ).evaluator_criteria

    assert (found.name, found.revision, found.is_patronus_managed) == ("brief", 1, False)
    assert (found.config["pass_criteria"], found.description) == ("Brief?", "Says no more.")
    assert uuid.UUID(found.public_id)
    assert is_aware(found.created_at)


@exercises("evaluator_criteria.list")
def list_criteria(client: Called) -> None:
    own = own_criteria(client, "lenient")
    client.evaluator_criteria.add_revision(own.public_id, config={"metric": "bleu", "pass_threshold": 0.25})

    def listed(**query: Any) -> list[tuple[str, int]]:
        rows = client.evaluator_criteria.list(**query).evaluator_criteria
        return [(row.name, row.revision) for row in rows]

    both = [("lenient", 2), ("lenient", 1)]
    assert listed(public_id=own.public_id) == listed(name="lenient") == both
    assert listed(name="lenient", get_last_revision=True) == listed(name="lenient", revision=2) == both[:1]
    assert listed(evaluator_family="metrics", is_patronus_managed=False, enabled=True, limit=1, offset=1) == both[1:]
    managed = client.evaluator_criteria.list(evaluator_family="pii", is_patronus_managed=True).evaluator_criteria
    assert managed
    assert all(row.is_patronus_managed and isinstance(row.config, dict) for row in managed)


@exercises("evaluator_criteria.add_revision")
def add_revision(client: Called) -> None:
    own = own_criteria(client, "lenient")

    found = client.evaluator_criteria.add_revision(
        own.public_id, config={"metric": "bleu", "pass_threshold": 0.25}, description="Softer."
    ).evaluator_criteria

    assert (found.public_id, found.revision, found.description) == (own.public_id, 2, "Softer.")
    assert found.config["pass_threshold"] == 0.25


@exercises("evaluator_criteria.archive")
def archive_criteria(client: Called) -> None:
    own = own_criteria(client, "lenient")
    client.evaluator_criteria.add_revision(own.public_id, config={"metric": "bleu", "pass_threshold": 0.25})

    found = client.evaluator_criteria.archive(own.public_id).evaluator_criteria

    assert [row.revision for row in found] == [2, 1]
    assert client.evaluator_criteria.list(public_id=own.public_id).evaluator_criteria == []
    assert len(client.evaluator_criteria.list(public_id=own.public_id, enabled=False).evaluator_criteria) == 2


@exercises("experiments.create")
def create_experiment(client: Called) -> None:
    project = client.projects.create(name="checkout")

    found = client.experiments.create(
        name="July", project_id=project.id, tags={"model": "small"}, metadata={"seed": 7}
    ).experiment

    assert found.id.isdigit()
    assert (found.name, found.project_id, found.tags, found.metadata) == (
        *("July", project.id, {"model": "small"}),
        {"seed": 7},
    )
    assert is_aware(found.created_at)
    (result,) = client.evaluations.evaluate(**PARIS, experiment_id=found.id, project_name="ignored").results
    verdict = result.evaluation_result
    assert (verdict.experiment_id, verdict.app, verdict.project_id) == (found.id, None, project.id)
    kept = client.evaluations.retrieve(int(verdict.id)).evaluation
    assert (kept.experiment_id, kept.app) == (int(found.id), None)


def two_experiments(client: Called) -> tuple[Any, Any]:
    projects = [client.projects.create(name=name) for name in ("checkout", "search")]
    one, other = (client.experiments.create(name="July", project_id=project.id).experiment for project in projects)
    return one, other


@exercises("experiments.retrieve")
def retrieve_experiment(client: Called) -> None:
    one, _ = two_experiments(client)

    assert client.experiments.retrieve(one.id).experiment == one


@exercises("experiments.list")
def list_experiments(client: Called) -> None:
    one, other = two_experiments(client)

    def listed(**query: Any) -> list[str]:
        return [row.id for row in client.experiments.list(**query).experiments]

    assert listed() == [other.id, one.id]
    assert listed(limit=1, offset=1) == listed(project_id=one.project_id) == [one.id]


@exercises("experiments.update")
def update_experiment(client: Called) -> None:
    one, other = two_experiments(client)

    assert client.experiments.update(one.id, metadata={"done": True}).experiment.metadata == {"done": True}
    assert client.experiments.retrieve(one.id).experiment.metadata == {"done": True}
    assert client.experiments.retrieve(other.id).experiment.metadata == other.metadata


@exercises("experiments.delete")
def delete_experiment(client: Called) -> None:
    one, other = two_experiments(client)

    assert client.experiments.delete(one.id) is None

    assert [row.id for row in client.experiments.list().experiments] == [other.id]


@exercises("projects.create")
def create_project(client: Called) -> None:
    found = client.projects.create(name="checkout")

    assert uuid.UUID(found.id)
    assert found.name == "checkout"
    assert is_aware(found.created_at)
    assert client.projects.create(name="checkout") == found


@exercises("projects.retrieve")
def retrieve_project(client: Called) -> None:
    project = client.projects.create(name="checkout")

    assert client.projects.retrieve(project.id).project == project


@exercises("projects.list")
def list_projects(client: Called) -> None:
    one, other = (client.projects.create(name=name) for name in ("checkout", "search"))

    every = client.projects.list().projects

    assert {row.id for row in every} == {one.id, other.id}
    assert client.projects.list(limit=1, offset=1).projects == every[1:]


@exercises("projects.delete")
def delete_project(client: Called) -> None:
    one, other = (client.projects.create(name=name) for name in ("checkout", "search"))

    assert client.projects.delete(one.id) is None

    assert [row.id for row in client.projects.list().projects] == [other.id]


@exercises("apps.list")
def list_apps(client: Called) -> None:
    for app in ("shop", "desk"):
        captured(client, app=app)

    every = [row.name for row in client.apps.list().apps]

    assert sorted(every) == ["desk", "shop"]
    assert [row.name for row in client.apps.list(limit=1, offset=1).apps] == every[1:]


@exercises("whoami.retrieve")
def whoami(client: Called) -> None:
    caller = client.whoami.retrieve().caller

    assert caller.api_key.id
    assert caller.api_key.account.name.startswith("alice")
    assert caller.user is None


@exercises("otel.spans.search")
def search_spans(client: Called) -> None:
    root, other = new_id(), new_id()
    status = {"code": 2, "message": "No."}
    spans = [span(root, attributes=[attribute("n", 7)], status=status), span(root, name="other"), span(other)]
    client.post("/v1/traces", body=traces(*spans), cast_to=object)
    of_trace = {"field": "trace_id", "op": "eq", "value": root}

    first, second = client.otel.spans.search(filters=[of_trace], order="timestamp asc", limit=10).spans

    assert {first.span_id, second.span_id} == {spans[0]["spanId"], spans[1]["spanId"]}
    (found,) = client.otel.spans.search(filters=[of_trace, {"field": "span_name", "op": "eq", "value": "work"}]).spans
    assert (found.trace_id, found.span_attributes, found.service_name) == (root, {"n": "7"}, "shop")
    assert found.duration
    assert found.timestamp.utcoffset() is not None
    assert len(client.otel.spans.search().spans) == 3
    assert len(client.otel.spans.search(limit=1).spans) == 1


@exercises("otel.spans.delete")
def delete_spans(client: Called) -> None:
    gone, kept = new_id(), new_id()
    client.post("/v1/traces", body=traces(span(gone), span(gone), span(kept)), cast_to=object)
    client.post("/v1/logs", body=logs(log("gone", traceId=gone), log("kept", traceId=kept)), cast_to=object)

    assert client.otel.spans.delete(trace_id=gone) is None

    assert [one.trace_id for one in client.otel.spans.search().spans] == [kept]
    assert [one.log_attributes["pat.log.id"] for one in client.otel.logs.search().logs] == ["kept"]
    # What is null is sent as an empty parameter.
    assert client.otel.spans.delete(trace_id=kept, app=None, experiment_id=None, project_id=None) is None
    assert client.otel.spans.search().spans == []


@exercises("otel.logs.search")
def search_logs(client: Called) -> None:
    ids = [str(uuid.uuid4()) for _ in range(2)]
    client.post("/v1/logs", body=logs(*(log(id) for id in ids)), cast_to=object)
    wanted = {"field": "log_id", "op": "eq", "value": ids[0]}

    (found,) = client.otel.logs.search(filters=[{"or_": [wanted]}], order="timestamp desc", limit=10).logs

    assert found.log_attributes["pat.log.id"] == ids[0]
    assert found.body == "said"
    assert found.timestamp.utcoffset() is not None
    assert len(client.otel.logs.search().logs) == 2
