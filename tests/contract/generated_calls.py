"""What generated suites of `patronus-api` send: each parameter with the sample value that its type has there.

Those suites ask a stand-in that knows nothing. Here the same values are sent, and either name nothing that there is, or
in place of an id stands that of something real.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.contract.patronus_clients import Called
from tests.contract.patronus_exercises import PARIS, captured

ID = "182bd5e5-6e1a-4fe4-a799-aa6d9a6ab26e"
THEN = datetime(2019, 12, 27, 18, 11, 19, 117000, tzinfo=UTC)
PAGE = {"limit": 0, "offset": 0}
ONE = {"limit": 1, "offset": 0}
FILTER = {"field": "field", "op": "eq", "and_": [{}], "or_": [{}], "value": {}}
SEARCH = {"filters": [FILTER], "limit": 1, "order": "timestamp asc"}
LABEL = "-_-k..W2K-1V"
INSIGHT = {"app": "app", "experiment_id": "experiment_id", "job_id": "job_id", "project_id": "project_id"}
WINDOW = {"start_time": THEN, "end_time": THEN}
FOUND = {"app": "app", "experiment_id": 0, "project_id": "project_id", "error_types": ["string"], **WINDOW}
EVALUATION: dict[str, Any] = {
    "evaluators": [{"evaluator": "evaluator", "criteria": "x", "explain_strategy": "never"}],
    "app": "xx",
    "capture": "all",
    "confidence_interval_strategy": "none",
    "evaluated_model_attachments": [
        {"media_type": "image/jpeg", "url": "url", "usage_type": "evaluated_model_system_prompt"}
    ],
    "project_id": ID,
    "tags": {},
    "task_context": ["string"],
    **{
        name: name
        for name in (
            *("dataset_id", "dataset_sample_id", "experiment_id", "gold_answer", "log_id", "project_name", "span_id"),
            *("system_prompt", "task_input", "task_output", "trace_id"),
        )
    },
}
PROMPT: dict[str, Any] = {"metadata": {}, "project_id": ID, "prompt_id": ID, "create_only_if_not_exists": True} | {
    name: name for name in ("body", "project_name", "prompt_description", "prompt_name")
}
CRITERIA = {"evaluator_family": "evaluator_family", "name": "name", "config": {}}
Call = tuple[str, dict[str, Any]]

AS_SENT: tuple[Call, ...] = (
    ("apps.list", PAGE),
    ("evaluations.retrieve", {"id": 0}),
    ("evaluations.delete", {"id": 0}),
    ("evaluations.batch_create", {"evaluations": [{"evaluator_id": "evaluator_id", "log_id": ID}]}),
    ("evaluations.batch_delete", {}),
    (
        "evaluations.batch_delete",
        {"app": "app", "batch_size": 0, "experiment_id": 0, "project_id": ID, "trace_id": "trace_id"}
        | {name: name for name in ("evaluator_criteria_id", "evaluator_family")},
    ),
    ("evaluations.evaluate", {"evaluators": [{"evaluator": "evaluator"}]}),
    ("evaluations.evaluate", EVALUATION),
    ("evaluations.search", {}),
    (
        "evaluations.search",
        {
            "filters": [{"field": "field", "operation": "starts_with", "and_": [{}], "or_": [{}], "value": [{}]}],
            "log_id_in": ["string"],
            "trace_id": "trace_id",
        },
    ),
    ("evaluator_criteria.create", CRITERIA | {"description": "description"}),
    (
        "evaluator_criteria.list",
        {"enabled": True, "get_last_revision": True, "is_patronus_managed": True, "public_id": ID, "revision": 0}
        | {"evaluator_family": "evaluator_family", "name": "name", **PAGE},
    ),
    ("evaluator_criteria.add_revision", {"public_id": ID, "config": {}, "description": "description"}),
    ("evaluator_criteria.archive", {"public_id": ID}),
    ("evaluators.list", {"by_alias_or_id": "by_alias_or_id"}),
    ("evaluators.list_families", {}),
    ("experiments.create", {"name": "x", "project_id": ID, "metadata": {}, "tags": {}}),
    ("experiments.retrieve", {"id": "id"}),
    ("experiments.update", {"id": "id", "metadata": {}}),
    ("experiments.list", {"project_id": ID, **ONE}),
    ("experiments.delete", {"id": "id"}),
    ("projects.create", {"name": "name"}),
    ("projects.retrieve", {"id": ID}),
    ("projects.list", ONE),
    ("projects.delete", {"id": ID}),
    ("prompts.create_revision", {"body": "body"}),
    ("prompts.create_revision", PROMPT),
    ("prompts.delete_definitions", {}),
    ("prompts.delete_definitions", {"project_id": ID, "prompt_id": ID}),
    (
        "prompts.list_definitions",
        {"name": "name", "name_startswith": "x", "project_name": "x", "project_id": ID, "prompt_id": ID} | PAGE,
    ),
    (
        "prompts.list_revisions",
        {"label": "label", "latest_revision_only": True, "revision": 0, "revision_id": ID, "prompt_id": ID}
        | {name: name for name in ("normalized_body_sha256", "project_name", "prompt_name", "prompt_name_startswith")}
        | {"project_id": ID, **PAGE},
    ),
    ("prompts.remove_labels", {"revision_id": ID, "labels": [LABEL]}),
    ("prompts.set_labels", {"revision_id": ID, "labels": [LABEL]}),
    ("prompts.update_definition", {"prompt_id": ID, "description": "x", "name": "name"}),
    ("otel.logs.search", SEARCH),
    ("otel.spans.search", SEARCH),
    ("otel.spans.delete", {}),
    ("otel.spans.delete", {"app": "app", "experiment_id": 0, "project_id": ID, "trace_id": "trace_id"}),
    ("trace_insight.list", INSIGHT | ONE | {"trace_id": "trace_id"}),
    ("trace_insight.list_jobs", INSIGHT | ONE | {"job_status": "pending", "trace_id": "trace_id"}),
    ("trace_insight.create_job", {"trace_id": "trace_id"}),
    ("trace_insight.get_error_aggregations", FOUND),
    ("trace_insight.search_trace_insights", FOUND | ONE | {"redis_job_id": "redis_job_id", "trace_id": "trace_id"}),
    ("trace_insight.search_span_analysis", WINDOW | ONE | {"span_id": "span_id", "trace_id": "trace_id"}),
    ("whoami.retrieve", {}),
)


def of_what_is_there(client: Called) -> Iterator[Call]:
    """Yield the calls whose sample values name something, with what has been made for them; deletions last."""
    project = client.projects.create(name="project_name").id
    experiment = client.experiments.create(name="x", project_id=project).experiment.id
    evaluation = captured(client, project_id=project)
    first = client.prompts.create_revision(body="text", project_id=project, prompt_name="prompt_name").prompt_revision
    own = client.evaluator_criteria.create(
        evaluator_family="judge", name="name", config={"pass_criteria": "Polite?"}
    ).evaluator_criteria
    numbered, at = int(evaluation.id), {"id": int(evaluation.id)}
    prompt, revision = first.prompt_definition_id, first.id
    picture = [{**EVALUATION["evaluated_model_attachments"][0], "url": "https://example.com/a.jpeg"}]
    sent = {name: value for name, value in EVALUATION.items() if name != "experiment_id"}
    sent |= {"evaluators": [{"evaluator": "exact-match"}], "evaluated_model_attachments": picture}
    yield "evaluations.evaluate", PARIS
    yield "evaluations.evaluate", sent | {"project_id": project}
    yield "evaluations.retrieve", at
    yield "evaluations.search", {"filters": [{"field": "id", "operation": "eq", "value": numbered}]}
    yield "evaluator_criteria.add_revision", {"public_id": own.public_id, "config": {"pass_criteria": "Kind?"}}
    yield "evaluator_criteria.list", {"public_id": own.public_id, **ONE}
    yield "evaluator_criteria.archive", {"public_id": own.public_id}
    yield "experiments.create", {"name": "x", "project_id": project, "metadata": {}, "tags": {}}
    yield "experiments.retrieve", {"id": experiment}
    yield "experiments.update", {"id": experiment, "metadata": {}}
    yield "experiments.list", {"project_id": project, **ONE}
    yield "projects.retrieve", {"id": project}
    yield "prompts.create_revision", PROMPT | {"prompt_id": prompt, "project_id": project}
    yield "prompts.set_labels", {"revision_id": revision, "labels": [LABEL]}
    yield "prompts.list_revisions", {"label": LABEL, "revision_id": revision, **ONE}
    yield "prompts.remove_labels", {"revision_id": revision, "labels": [LABEL]}
    yield "prompts.update_definition", {"prompt_id": prompt}
    yield "prompts.update_definition", {"prompt_id": prompt, "description": "x", "name": "name"}
    yield "otel.logs.search", {"filters": [], "limit": 1, "order": "timestamp asc"}
    yield "otel.spans.search", {"filters": [], "limit": 1, "order": "timestamp asc"}
    yield "otel.spans.delete", {"app": "app", "experiment_id": 0, "project_id": project}
    yield "evaluations.batch_delete", {"app": "app", "batch_size": 0, "experiment_id": 0, "project_id": project}
    yield "evaluations.delete", at
    yield "prompts.delete_definitions", {"project_id": project, "prompt_id": prompt}
    yield "experiments.delete", {"id": experiment}
    yield "projects.delete", {"id": client.projects.create(name="another").id}
