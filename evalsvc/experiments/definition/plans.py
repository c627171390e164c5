"""From the body of a request to a plan that can be stored, with the validation of the body."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from evalsvc.accounts.models import Account
from evalsvc.datasets.models import DatasetVersion, Example
from evalsvc.datasets.selectors import get_version
from evalsvc.experiments.definition.checks.clusters import check_clusters
from evalsvc.experiments.definition.checks.unmapped import can_resolve, check_mappings
from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.conversations import (
    GOAL,
    MAX_TURNS,
    SIMULATED_USER,
    NoScript,
    is_conversation,
    is_named,
    read_script,
)
from evalsvc.experiments.definition.fields.output_types import check_output_types
from evalsvc.experiments.definition.kinds import TEMPLATED
from evalsvc.experiments.definition.metrics import INTEGRATED, ISOLATED, Metric, add_twins, resolve_metrics
from evalsvc.experiments.definition.pipelines import EXPECTED, SIMULATE_FROM, read_pipeline, root_of_name
from evalsvc.experiments.definition.templates import UnknownField, field_value, template_names
from evalsvc.experiments.models import Config, Failures, Policy
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import current_role

# CASE decides what is read first: a length is asked of lists only. Later rows with longer scripts become errors.
LONG_SCRIPTS = """
SELECT e.key, e.n FROM (
  SELECT key, position,
    CASE WHEN json_typeof(input -> 'turns') = 'array' THEN json_array_length(input -> 'turns') END AS n
  FROM datasets_example WHERE version_id = %s ORDER BY position LIMIT 10000) e
WHERE e.n > %s ORDER BY e.position LIMIT 1
"""
N_SAMPLED = 100
MAX_SAMPLES = 20
PASSED_ON = (
    *("seed", "micro_batch", "num_shards", "policy", "k_max", "epsilon", "baseline"),
    *("stop_when_decided", "abort_on_error", "promote", "confirm", "n_samples"),
)
# The option of the releases before, which was about races alone.
FAILURES_BY_ERRORS = {"worst": Failures.WORST, "favour": Failures.EXCLUDE}


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """A plan that has been checked: everything but its experiment."""

    version: DatasetVersion
    metrics: Sequence[Metric]
    primary_metric: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def check_plan(*, account: Account, epoch: str | None, body: Mapping[str, Any]) -> PlanSpec:
    """Resolve a plan's dataset, metrics and rules. Raises Invalid with pointers."""
    version = _version(account, body)
    choice = _strategy(body)
    metrics = resolve_metrics(
        account_id=account.pk,
        epoch=epoch,
        wanted=body["metrics"],
        strategy=choice["strategy"],
        n_samples=body["n_samples"],
    )
    check_output_types(metrics, body.get("output_types"))
    modes = list(dict.fromkeys(body.get("modes") or [INTEGRATED]))
    metrics = add_twins(metrics, modes, pointer="/plan/metrics")
    name = body.get("primary_metric") or metrics[0].name
    primary = next((metric for metric in metrics if metric.name == name), None)
    if primary is None:
        raise Invalid(FieldError("/plan/primary_metric", f"No metric is named {name!r}."))
    if body["policy"] != Policy.MANUAL and not primary.is_comparable:
        detail = (
            f"Policy {body['policy']!r} compares configs example by example, which needs an algebraic or distributive"
            f" primary metric with a `value_range`; {name!r} has none."
        )
        raise Invalid(FieldError("/plan/policy", detail))
    fields: dict[str, Any] = {field: body.get(field) for field in PASSED_ON} | choice | _failures(body)
    fields["promote"] = bool(fields["promote"])
    _check_race(body)
    _check_samples(body, modes)
    if fields["epsilon"] is not None and primary.value_range is not None:
        # Stored on the scale of 0 to 1, on which configs are compared.
        fields["epsilon"] /= primary.unit(version.n_examples)
    budget = body.get("budget") or {}
    fields |= {f"budget_{name}": budget.get(name) for name in ("queries", "cost", "seconds")}
    fields |= _extent(body, version.n_examples)
    fields["higher_is_better"] = primary.higher_is_better
    fields["sample"] = dict(body.get("sample") or {})
    fields["modes"] = modes if ISOLATED in modes else None
    fields["cluster_by"] = check_clusters(version, body, choice["strategy"])
    _check_finite(fields)
    check_mappings(version, metrics, body.get("sample") or {})
    return PlanSpec(version=version, metrics=metrics, primary_metric=name, fields=fields)


def _check_race(body: Mapping[str, Any]) -> None:
    """Refuse what changes a race where the policy makes none: it would be of no effect, silently."""
    if body["policy"] != Policy.MANUAL:
        return
    if body["stop_when_decided"]:
        detail = "`stop_when_decided` is about races, and the policy `manual` decides none; choose another `policy`."
        raise Invalid(FieldError("/plan/stop_when_decided", detail))


def _failures(body: Mapping[str, Any]) -> dict[str, str]:
    """Return what failures count as, in the columns of this version and of the one before."""
    wanted, errors = body.get("failures"), body.get("errors")
    alias = None if errors is None else FAILURES_BY_ERRORS[errors]
    if wanted is not None and alias is not None and wanted != alias:
        raise Invalid(FieldError("/plan/errors", f"It says `failures`: {alias.value!r}; leave it out."))
    failures = wanted or alias or Failures.WORST
    return {"failures": str(failures), "errors": "worst" if failures == Failures.WORST else "favour"}


def _check_samples(body: Mapping[str, Any], modes: Sequence[str]) -> None:
    """Refuse what several samples of one example cannot have."""
    if body["n_samples"] == 1:
        return
    if ISOLATED in modes:
        detail = "Components are run by themselves once for each example; leave `n_samples` at 1, or `isolated` out."
        raise Invalid(FieldError("/plan/n_samples", detail))
    if body.get("promote"):
        detail = "A history is of single scores, and a mean of several samples is none; leave `promote` out."
        raise Invalid(FieldError("/plan/promote", detail))


def _extent(body: Mapping[str, Any], n_examples: int) -> dict[str, Any]:
    """Return how many examples each config runs on, and the shards after which it pauses."""
    limit, shards = body.get("limit"), body["pause_at_shards"]
    if limit is not None and limit > n_examples:
        detail = f"The dataset version has {n_examples} examples, fewer than {limit}."
        raise Invalid(FieldError("/plan/limit", detail))
    n_asked = limit or n_examples
    if (confirm := body.get("confirm")) is not None:
        _check_confirm(body, confirm, n_asked)
        n_asked -= confirm
    n_shards = min(body["num_shards"], n_asked)
    if shards is True:
        shards = list(range(1, n_shards)) or None
    if shards and shards[-1] > n_shards:
        raise Invalid(FieldError("/plan/pause_at_shards", f"There are {n_shards} shards, and no shard {shards[-1]}."))
    # A limit equal to the number of examples is the same as none.
    return {"limit": None if limit == n_examples else limit, "pause_at_shards": shards}


def _check_confirm(body: Mapping[str, Any], confirm: int, n_asked: int) -> None:
    if confirm >= n_asked:
        detail = f"The experiment asks {n_asked} examples: confirm fewer of them, so that some are left to choose by."
        raise Invalid(FieldError("/plan/confirm", detail))
    for name in ("stop_when_decided", "cluster_by"):
        if body.get(name):
            raise Invalid(FieldError("/plan/confirm", f"`confirm` and `{name}` exclude each other; leave out one."))


def _version(account: Account, body: Mapping[str, Any]) -> DatasetVersion:
    try:
        return get_version(account=account, dataset_id=body["dataset_id"], number=body.get("dataset_version"))
    except NotFound:
        raise Invalid(FieldError("/plan/dataset_id", "No such dataset, or no such version of it.")) from None


def _strategy(body: Mapping[str, Any]) -> dict[str, Any]:
    seed_words = body.get("online_strategy_kwargs") or {}
    ours = {"strategy": "strategy_name", "level": "confidence_level", "use_fpc": "use_fpc"}
    for name, other in ours.items():
        if body.get(name) is not None and seed_words.get(other) is not None:
            detail = f"Give either `{name}` or `online_strategy_kwargs`, not both."
            raise Invalid(FieldError(f"/plan/{name}", detail))
    values = {name: body.get(name, seed_words.get(other)) for name, other in ours.items()}
    values["level"] = 0.95 if values["level"] is None else values["level"]
    values["use_fpc"] = True if values["use_fpc"] is None else values["use_fpc"]
    return values


def _check_finite(fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid(FieldError(f"/plan/{name}", "Not a finite number."))


def check_templates(
    *, account: Account, version: DatasetVersion, candidates: Sequence[Candidate], pointer: str = "/configs"
) -> None:
    """Refuse a template that names a field which none of the first examples has: all its queries would fail."""
    examples = Example.objects.filter(account=account, version=version, position__lt=N_SAMPLED)
    documents = [
        {"input": row.input, "contexts": row.contexts, "metadata": row.metadata, "id": row.key} for row in examples
    ]
    for i, candidate in enumerate(candidates):
        for name in _names_of_examples(candidate):
            if not any(_has(document, name) for document in documents):
                detail = f"The template names `{{{{{name}}}}}`, which none of the first examples of the dataset has."
                raise Invalid(FieldError(f"{pointer}/{i}/parameters", detail))
        _check_sources(version, candidate, f"{pointer}/{i}/parameters")
        if is_conversation(candidate.kind, candidate.parameters):
            _check_scripts(version, candidate, documents, f"{pointer}/{i}/parameters")


def _check_scripts(
    version: DatasetVersion, candidate: Candidate, documents: Sequence[Mapping[str, Any]], pointer: str
) -> None:
    """Refuse a script of too many turns, and a dataset of which none of the first examples says anything."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(LONG_SCRIPTS, [version.pk, MAX_TURNS])
        if (row := cursor.fetchone()) is not None:
            detail = f"Example {row[0]!r} has {row[1]} turns, and a conversation has at most {MAX_TURNS}."
            raise Invalid(FieldError(pointer, detail))
    reasons = [_why_unscripted(document, candidate) for document in documents]
    if reasons and None not in reasons:
        raise Invalid(FieldError(pointer, f"None of the first examples has a script. {reasons[0]}"))


def _why_unscripted(document: Mapping[str, Any], candidate: Candidate) -> str | None:
    try:
        read_script(document, has_user=SIMULATED_USER in candidate.parameters)
    except NoScript as exc:
        return str(exc)
    return None


def _check_sources(version: DatasetVersion, candidate: Candidate, pointer: str) -> None:
    """Reject a node with a simulated output at a place where no example has anything."""
    if candidate.kind != Config.Kind.PIPELINE:
        return
    for node in read_pipeline(candidate.parameters).nodes:
        source = f"/{EXPECTED}/{node.name}" if node.simulate_from == EXPECTED else node.simulate_from
        if source is not None and not can_resolve(version, source):
            detail = f"No example of the dataset has anything at {source!r}."
            raise Invalid(FieldError(f"{pointer}/nodes/{node.name}/{SIMULATE_FROM}", detail))


def _names_of_examples(candidate: Candidate) -> list[str]:
    """Return what the templates of a config name of examples, each once."""
    if candidate.kind == Config.Kind.PUSH:
        return []
    if candidate.kind == Config.Kind.PIPELINE:
        graph = read_pipeline(candidate.parameters)
        nodes = [(name, node) for node in graph.called for name in node.names]
        names = [name for name, node in nodes if root_of_name(name) not in (*graph.by_name, *node.inputs)]
        names += template_names([dict(node.inputs) for node in graph.called])
        return list(dict.fromkeys(names))
    names = list(template_names([candidate.parameters.get(name) for name in TEMPLATED]))
    if (user := candidate.parameters.get(SIMULATED_USER)) is not None:
        names += template_names([user.get("goal") or GOAL, user.get("persona")])
    return [name for name in dict.fromkeys(names) if not is_named(candidate.kind, name)]


def _has(document: Mapping[str, Any], name: str) -> bool:
    try:
        field_value(name, document)
    except UnknownField:
        return False
    return True
