"""Commands that run the same gate in CI: `evalsvc gate`, or curl where the client is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.console.parts.calls import KEY, json_word, shell_word
from evalsvc.evaluations.wire.interval_request import INCLUDED
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.gates.answers import GateEvidence, GateSpending, RuleResult

WHOLE = "account"
"""The scope that narrows nothing."""
OF_ALL = ("source", "higher_is_better", "component", "k", "sample")
OF_NUMBERS = ("value_range", "binary", "denominator")
"""What metrics without an evaluator say besides: an evaluator's range is known."""
USUAL = {"higher_is_better": True, "binary": False, "type": "algebraic"}
DEFAULTS = {"level": 0.95, "looks": "one", "covers": "new_data", "min_share": 0.8}
WINDOW = {
    "since": "from when on, or how many",
    "include_experiments": "which scores of experiments",
    "truth_draw": "which draw of labels",
}
MADE = '"$NAME"'
"""The experiment that the run line has just made: of a fixed name, two builds at once would ask about each other's."""
OWN_NAME = "NAME=gate-$(python3 -c 'import uuid; print(uuid.uuid4())')"
PASSES = "import json, sys; sys.exit(json.load(sys.stdin)['gate']['outcome'] != 'pass')"


def gate_body(evidence: GateEvidence, *, name: str | None) -> dict[str, Any]:
    """Return the body of `POST /v1/gates` that repeats this gate."""
    body: dict[str, Any] = {} if name is None else {"name": name}
    for side, config in (("candidate", evidence.candidate), ("baseline", evidence.baseline)):
        if config is not None:
            body[side] = {"experiment_id": config.experiment_id, "config": config.config}
    if evidence.history is not None:
        body["history"] = _history(evidence)
    body["rules"] = [_rule(rule) for rule in evidence.rules]
    optional = {"level": evidence.level, "looks": evidence.looks, "covers": evidence.covers}
    optional |= {"min_share": evidence.pairing.min_share} if evidence.pairing is not None else {}
    body |= {key: value for key, value in optional.items() if value != DEFAULTS[key]}
    if evidence.cluster_by:
        body["cluster_by"] = evidence.cluster_by
    return body | _spending(evidence.spending)


def _spending(spending: GateSpending | None) -> dict[str, Any]:
    """Return what makes a gate spend as it did; on a benchmark the service counts, and knows a candidate again."""
    if spending is None:
        return {}
    return {"benchmark": spending.benchmark} if spending.benchmark else {"attempt": spending.attempt}


def _history(evidence: GateEvidence) -> dict[str, Any]:
    assert evidence.history is not None  # noqa: S101  the caller has looked
    history = evidence.history
    window = {"scope": history.scope, "since": history.since}
    scope = next(iter(history.scope)) if isinstance(history.scope, Mapping) else WHOLE
    if history.include_experiments != INCLUDED[scope]:
        window["include_experiments"] = history.include_experiments
    fields = {"evaluator": history.evaluator_id, "criteria": history.profile_name or None, **window}
    fields |= {name: str(id) for name in ("truth", "truth_draw") if (id := getattr(history, name)) is not None}
    return {key: value for key, value in fields.items() if value and value != WHOLE}


def unsaid_in_command(body: Mapping[str, Any]) -> str:
    """Describe the parts of a gate's history for which `evalsvc gate` lacks an option."""
    history = body.get("history", {})
    parts = [f"the {', '.join(history['scope'])}"] if "scope" in history else []
    return ", ".join([*parts, *(words for name, words in WINDOW.items() if name in history)])


def _rule(rule: RuleResult) -> dict[str, Any]:
    body: dict[str, Any] = {"metric": rule.metric, rule.kind: rule.limit}
    optional = {"quantile": rule.quantile, "value_range": rule.value_range, "looks": _rule_looks(rule)}
    return body | {name: value for name, value in optional.items() if value is not None}


def _rule_looks(rule: RuleResult) -> str | None:
    """Return the `looks` of a rule on `truth`, unless it is the default."""
    return "one" if rule.truth is not None and rule.truth.looks == "one" else None


def gate_command(evidence: GateEvidence, *, name: str | None) -> str:
    """Return the command line, about the candidate that was just run; its exit status is 0 only for a pass."""
    lines = ["evalsvc gate"]
    if (candidate := evidence.candidate) is not None:
        lines.append(f"--candidate {MADE}:{shell_word(candidate.config)}")
    if (baseline := evidence.baseline) is not None:
        lines.append(_option("--baseline", f"{baseline.experiment_id}:{baseline.config}"))
    if (history := evidence.history) is not None:
        profile = f"/{history.profile_name}" if history.profile_name else ""
        lines.append(_option("--history", history.evaluator_id + profile))
        lines += [_option("--truth", str(history.truth))] if history.truth is not None else []
    lines += [_option("--rule", _rule_text(rule)) for rule in evidence.rules]
    lines += _options(gate_body(evidence, name=name))
    return " \\\n  ".join([*lines, "--markdown gate.md --junit gate.xml"])


def _option(option: str, value: str) -> str:
    # A name that begins with a dash would be taken for another option.
    return f"{option}{'=' if value.startswith('-') else ' '}{shell_word(value)}"


def _rule_text(rule: RuleResult) -> str:
    quantile = f" p{100 * rule.quantile:g}" if rule.quantile is not None else ""
    within = " within {:.15g} to {:.15g}".format(*rule.value_range) if rule.value_range is not None else ""
    looks = f" looks {looks}" if (looks := _rule_looks(rule)) else ""
    return f"{rule.metric}{quantile} {rule.kind} {rule.limit:.15g}{within}{looks}"


def _options(body: Mapping[str, Any]) -> list[str]:
    names = {"level": "--level", "looks": "--looks", "covers": "--covers", "cluster_by": "--cluster-by"}
    names |= {"min_share": "--min-share", "benchmark": "--benchmark", "attempt": "--attempt", "name": "--name"}
    return [_option(option, str(body[key])) for key, option in names.items() if key in body]


def ci_run_command(evidence: GateEvidence, plan: ExperimentPlan | None) -> str:
    """Return the commands that run the candidate again, on the gate's examples with the plan's metrics."""
    candidate = evidence.candidate
    if candidate is None or plan is None:
        return ""
    metrics = _plan_metrics(evidence, plan)
    plan_body: dict[str, Any] = {"metrics": metrics} | ({"cluster_by": plan.cluster_by} if plan.cluster_by else {})
    plan_body |= {"limit": plan.limit, "seed": plan.seed} if plan.limit else {}
    evaluators = [metric["evaluator"] for metric in metrics if "evaluator" in metric]
    evaluator_option = f"-e {shell_word(evaluators[0])} " if evaluators else ""
    return (
        f"{OWN_NAME}\n"
        f"printf '%s\\n' {json_word(plan_body)} > plan.json\n"
        f"evalsvc run {shell_word(candidate.config)}=app:answer {evaluator_option}\\\n"
        f"  --data {candidate.dataset_id}@{candidate.dataset_version} --plan plan.json --name {MADE}"
    )


def _plan_metrics(evidence: GateEvidence, plan: ExperimentPlan) -> list[dict[str, Any]]:
    names = {rule.metric for rule in evidence.rules}
    return [_metric(row) for row in plan.metrics if row["name"] in names]


def _metric(row: Mapping[str, Any]) -> dict[str, Any]:
    identity = {"evaluator": row.get("evaluator_id"), "criteria": row.get("profile_name")}
    read = OF_ALL if row.get("evaluator_id") else (*OF_ALL, *OF_NUMBERS)
    fields = {**identity, **{key: row.get(key) for key in read}, "type": row.get("kind", USUAL["type"])}
    return {"name": row["name"], **{key: value for key, value in fields.items() if value != USUAL.get(key)}}


def curl_for_ci(curl: str) -> str:
    """Return curl's line with what makes a build fail unless the gate passes."""
    return f'{curl} \\\n  | tee gate.json | python3 -c "{PASSES}"'


def exports(base: str) -> str:
    """Return what the lines need around them."""
    return f"export EVALSVC_URL={shell_word(base)}\nexport {KEY}=ek_…   # a secret of the build, never in the code"
