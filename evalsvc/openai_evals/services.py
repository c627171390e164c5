"""Verbs on evals, runs and files."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.catalog.models import Profile
from evalsvc.catalog.services import archive_profile, create_profile
from evalsvc.datasets.models import Dataset, DatasetVersion, Example
from evalsvc.datasets.services import add_version, create_dataset, delete_dataset
from evalsvc.experiments.bodies.plans import build_batch_plan
from evalsvc.experiments.decisions.control import STOP, control
from evalsvc.experiments.decisions.step import step
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.fields.mapper import CHOICES
from evalsvc.experiments.definition.kinds import FINISH_REASON, STRIP_THINKING
from evalsvc.experiments.definition.plans import check_plan
from evalsvc.experiments.models import Config, ExperimentPlan, Failures, WorkUnit
from evalsvc.experiments.runner.push import units
from evalsvc.experiments.services import create_experiment, delete_experiment
from evalsvc.judges.calls.endings import TOOL_CALLS
from evalsvc.openai_evals.captures import CAPTURED, STORED, load_captured
from evalsvc.openai_evals.criteria import find_model, find_unknown_columns, read_settings
from evalsvc.openai_evals.models import Eval, EvalFile, EvalRun
from evalsvc.openai_evals.prompts import asks_model, build_parameters, check_messages
from evalsvc.openai_evals.rows import Row, Rows, check_rows, make_examples, parse_lines
from evalsvc.openai_evals.selectors import EVAL, EVAL_TAG, FILE, RUN, get_file
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.tenancy.scope import account_scope, current_role

MAX_ECHOED_BYTES = 64 * 1024
"""Rows in the body of a run are shown again with each answer; more of them become a file."""
LEASE_SECONDS = 600.0
UNIT_ROWS = 500
"""Recorded at once. The time that recording takes grows faster than the rows."""
MAX_METRIC = 80
OUTPUTS = "outputs"
GRADED = ("text_similarity", "score_model")
"""Criteria whose scores are more than 0 or 1; a threshold decides what passes."""


def create_eval(*, account: Account, body: Mapping[str, Any], actor: str) -> Eval:
    """Store an eval, and a profile for each of its criteria. Raises Invalid with pointers; then nothing is stored."""
    item_schema = body["data_source_config"].get("item_schema") or {}
    settings = [_check_criterion(account, i, row, item_schema) for i, row in enumerate(body["testing_criteria"])]
    with account_scope(account.pk):
        row = Eval.objects.create(
            account=account,
            name=body["name"],
            metadata=body["metadata"],
            data_source_config=body["data_source_config"],
            criteria=[],
            metrics=[],
        )
        row.refresh_from_db()
        for i, (criterion, config) in enumerate(zip(body["testing_criteria"], settings, strict=True)):
            profile_name = f"{EVAL}{row.pk}/{i}"
            try:
                create_profile(account=account, family="custom", name=profile_name, settings=config, actor=actor)
            except Invalid as exc:
                raise Invalid(*(_point(i, error) for error in exc.errors)) from None
            row.criteria.append({**criterion, "id": f"{criterion['name']}-{uuid.uuid4()}"})
            taken = [metric["name"] for metric in row.metrics]
            row.metrics.append({"name": name_metric(criterion["name"], i, taken), "profile": profile_name})
        row.save(update_fields=["criteria", "metrics"])
        record_audit(account=account, actor=actor, action="eval.created", target=row.name, id=f"{EVAL}{row.pk}")
    return row


def _check_criterion(account: Account, i: int, criterion: Any, item_schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        settings = read_settings(criterion)
    except ValueError as exc:
        field, detail = exc.args
        raise Invalid(FieldError(f"/testing_criteria/{i}{field}", detail)) from None
    if errors := list(find_unknown_columns(settings, item_schema)):
        raise Invalid(*(FieldError(f"/testing_criteria/{i}{error.pointer}", error.detail) for error in errors))
    if isinstance(model := settings.get("model"), str):
        asked = find_model(account, model)
        if asked is None:
            detail = f"No connection is named {model!r} or has this model, and there is no default connection to ask."
            raise Invalid(FieldError(f"/testing_criteria/{i}/model", detail))
        connection, settings["model"] = asked
        settings |= {} if connection is None else {"connection": connection}
    return settings


def _point(i: int, error: FieldError) -> FieldError:
    detail = error.detail if error.detail[:1].isupper() else f"It {error.detail}"
    return FieldError(f"/testing_criteria/{i}{error.pointer.removeprefix('/config')}", detail)


def name_metric(name: str, i: int, taken: Sequence[str]) -> str:
    """Return the name of a criterion's metric: its own on one line, with its number if that is taken."""
    line = re.sub(r"[^\w .,:()+-]+", " ", name).strip()[:MAX_METRIC] or "criterion"
    return line if line not in taken else f"{line} #{i + 1}"


def update_eval(*, account: Account, row: Eval, changes: Mapping[str, Any], actor: str) -> Eval:
    """Change name and metadata."""
    with account_scope(account.pk):
        Eval.objects.filter(account=account, pk=row.pk).update(**changes, updated_at=Now())
        record_audit(account=account, actor=actor, action="eval.changed", target=row.name, id=f"{EVAL}{row.pk}")
    row.refresh_from_db()
    return row


def delete_eval(*, account: Account, row: Eval, actor: str) -> None:
    """Delete an eval with its runs and their experiments, its rows, and its profiles, which are archived."""
    with account_scope(account.pk):
        for run in EvalRun.objects.filter(account=account, eval=row).select_related("experiment"):
            _delete_run_rows(account, run, actor)
        names = [metric["profile"] for metric in row.metrics]
        for profile in Profile.objects.filter(account=account, name__in=names):
            archive_profile(account=account, profile=profile, now=timezone.now(), actor=actor)
        record_audit(account=account, actor=actor, action="eval.deleted", target=row.name, id=f"{EVAL}{row.pk}")
        dataset = row.dataset
        Eval.objects.filter(account=account, pk=row.pk).delete()
        if dataset is not None:
            _delete_unused_dataset(account, dataset, actor)


def _delete_unused_dataset(account: Account, dataset: Dataset, actor: str) -> None:
    try:
        delete_dataset(account=account, dataset=dataset, actor=actor)
    except Problem as exc:
        if exc.code != "in_use":
            raise


def create_run(
    *, account: Account, epoch: str | None, row: Eval, body: Mapping[str, Any], actor: str
) -> tuple[EvalRun, bool]:
    """Store the rows as a version of the eval's dataset, and grade their samples, or what a model answers to each.

    Returns the run, and whether work is left to workers. Raises Invalid with pointers; then nothing is stored.
    """
    source = body["data_source"]
    with account_scope(account.pk):
        candidate = _build_candidate(account, source)
        rows = _load_rows(account, source, row.data_source_config)
        graded = check_rows(rows, row.data_source_config.get("item_schema") or {})
        if candidate.kind == Config.Kind.CHAT:
            check_messages(account, candidate.parameters, rows, [part.item for part in graded])
        version = _store_rows(account, row, rows, graded, actor)
        experiment = create_experiment(
            account=account,
            name=(body["name"] or row.name or f"{EVAL}{row.pk}")[:100],
            tags={EVAL_TAG: f"{EVAL}{row.pk}"},
            plan=check_plan(account=account, epoch=epoch, body=_build_plan(row, version)),
            candidates=[candidate],
            start=True,
            actor=actor,
        )
        file = _store_source(account, source)
        run = EvalRun.objects.create(
            account=account,
            eval=row,
            experiment=experiment,
            name=body["name"],
            metadata=body["metadata"],
            data_source=source if file is None else {**source, "source": {"type": "file_id", "id": f"{FILE}{file.pk}"}},
            file=file,
        )
        run.refresh_from_db()
        record_audit(account=account, actor=actor, action="eval_run.created", target=run.name, id=f"{RUN}{run.pk}")
        config = Config.objects.get(experiment_id=experiment.pk)
        if candidate.kind == Config.Kind.PUSH:
            _feed(account, config, graded)
        step(account_id=account.pk, experiment_id=experiment.pk, wait=True)
        config.refresh_from_db()
    return run, config.state == Config.State.RUNNING


def _build_candidate(account: Account, source: Mapping[str, Any]) -> Candidate:
    if not asks_model(source):
        return Candidate(OUTPUTS, Config.Kind.PUSH, {STRIP_THINKING: False})
    parameters = build_parameters(account, source)
    return Candidate(source["model"][:100], Config.Kind.CHAT, parameters)


def _load_rows(account: Account, source: Mapping[str, Any], config: Mapping[str, Any]) -> Rows:
    if source["source"]["type"] in CAPTURED:
        tags = (config.get("metadata") or {}) if config["type"] in STORED else {}
        return Rows(load_captured(account, source["source"], tags))
    if source["source"]["type"] == "file_content":
        return Rows(source["source"]["content"])
    try:
        file = get_file(account=account, id=source["source"]["id"])
    except NotFound:
        raise Invalid(FieldError("/data_source/source/id", "No such file.")) from None
    rows = parse_lines(bytes(file.content))
    if not rows.sent:
        raise Invalid(FieldError("/data_source/source/id", "The file has no rows."))
    return rows


def _store_rows(account: Account, row: Eval, rows: Rows, graded: Sequence[Row], actor: str) -> DatasetVersion:
    examples = make_examples(rows, [part.item for part in graded])
    locked = Eval.objects.select_for_update().get(account=account, pk=row.pk)
    if locked.dataset is not None:
        version, _ = add_version(
            account=account, dataset=locked.dataset, rows=examples, format=DatasetVersion.Format.JSONL, actor=actor
        )
        return version
    version = create_dataset(
        account=account,
        name=f"{EVAL}{row.pk}-{uuid.uuid4().hex[:8]}",
        description=f"The rows of {row.name or 'an eval'}.",
        rows=examples,
        format=DatasetVersion.Format.JSONL,
        actor=actor,
    )
    locked.dataset = version.dataset
    locked.save(update_fields=["dataset"])
    return version


def _build_plan(row: Eval, version: DatasetVersion) -> dict[str, Any]:
    metrics = [
        {
            "name": metric["name"],
            "evaluator": "custom",
            "source": "score" if criterion["type"] in GRADED else "pass",
            "criteria": f"{metric['profile']}:1",
            "explain_strategy": "always",
            "type": "algebraic",
        }
        for metric, criterion in zip(row.metrics, row.criteria, strict=True)
    ]
    plan = build_batch_plan({"metrics": metrics, "level": 0.95, "promote": False, "sample": {"item": "/input"}})
    rows = {"dataset_id": version.dataset_id, "dataset_version": version.number}
    # What a grader could not judge is an error of the item, and counts in no rate.
    return {**plan, **rows, "failures": Failures.EXCLUDE}


def _store_source(account: Account, source: Mapping[str, Any]) -> EvalFile | None:
    """Return a file of the rows in a body that are too many to be shown each time; None for others."""
    content = source["source"].get("content")
    if content is None or len(json.dumps(source)) <= MAX_ECHOED_BYTES:
        return None
    lines = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in content)
    return create_file(account=account, filename="rows.jsonl", content=lines, seconds=None)


def _feed(account: Account, config: Config, rows: Sequence[Row]) -> None:
    """Record the samples of a run. Those of one unit are graded at once, those of more by the workers."""
    while leased := units.lease_push_unit(account=account, config=config, size=UNIT_ROWS, lease_seconds=LEASE_SECONDS):
        units.post_outputs(
            held=WorkUnit.objects.get(account=account, pk=leased.unit.id),
            token=leased.unit.token,
            # Keys are the numbers of the rows.
            outputs=[_build_output(pos, rows[int(row["id"]) - 1]) for pos, row in leased.examples.items()],
            is_done=True,
            lease_seconds=LEASE_SECONDS,
            scores_later=len(rows) > UNIT_ROWS,
        )


def _build_output(pos: int, row: Row) -> dict[str, Any]:
    if row.choices is None:
        return {"pos": pos, "output": row.output}
    # Answers that were cut off are graded, as they would be without their choices.
    reason = TOOL_CALLS if row.choices[0]["message"].get("tool_calls") else None
    return {"pos": pos, "output": {"output": row.output, CHOICES: row.choices}, FINISH_REASON: reason}


def cancel_run(*, account: Account, run: EvalRun, actor: str) -> None:
    """Stop a run; one that has ended stays as it is."""
    control(account=account, experiment_id=run.experiment_id, action=STOP, config_ids=None, actor=actor)


def delete_run(*, account: Account, run: EvalRun, actor: str) -> None:
    """Delete a run with its experiment, and its rows where no other run has them."""
    with account_scope(account.pk):
        version = run.experiment.plan.dataset_version
        record_audit(account=account, actor=actor, action="eval_run.deleted", target=run.name, id=f"{RUN}{run.pk}")
        _delete_run_rows(account, run, actor)
        if ExperimentPlan.objects.filter(account=account, dataset_version=version).exists():
            return
        others = DatasetVersion.objects.filter(account=account, dataset_id=version.dataset_id).exclude(pk=version.pk)
        if not others.exists():
            _delete_unused_dataset(account, version.dataset, actor)
        elif version.number != version.dataset.n_versions:
            _delete_version(account, version)


def _delete_run_rows(account: Account, run: EvalRun, actor: str) -> None:
    """Delete the experiment of a run, which takes the run along, and the file that was made of its rows."""
    delete_experiment(account=account, experiment=run.experiment, actor=actor)
    EvalFile.objects.filter(account=account, pk=run.file_id).delete()


def _delete_version(account: Account, version: DatasetVersion) -> None:
    Example.objects.filter(account=account, version=version)._raw_delete(current_role())
    DatasetVersion.objects.filter(account=account, pk=version.pk).delete()
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def create_file(*, account: Account, filename: str, content: bytes, seconds: int | None) -> EvalFile:
    """Store a file; `seconds` is how long it is kept. Files that have expired go."""
    now = timezone.now()
    with account_scope(account.pk):
        EvalFile.objects.filter(account=account, expires_at__lte=now).delete()
        file = EvalFile.objects.create(
            account=account,
            filename=filename,
            n_bytes=len(content),
            content=content,
            expires_at=_add_seconds(now, seconds),
        )
        file.refresh_from_db(fields=["id", "created_at"])
    return file


def _add_seconds(now: datetime, seconds: int | None) -> datetime | None:
    return None if seconds is None else now + timedelta(seconds=seconds)


def delete_file(*, account: Account, file: EvalFile) -> None:
    """Delete a file; runs that were made of it keep their rows."""
    with account_scope(account.pk):
        EvalFile.objects.filter(account=account, pk=file.pk).delete()
