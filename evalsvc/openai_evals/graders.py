"""One grader on one sample: checked, and run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.evaluations.verdicts import Verdict, score_sample
from evalsvc.judges.gateway import gateway_for
from evalsvc.openai_evals.criteria import find_model, read_settings
from evalsvc.problems import FieldError, Invalid
from evaluators.base import Lane
from evaluators.registry import find_evaluator
from evaluators.samples import build_sample

AT = "/grader"
ERRORS = (
    *("formula_parse_error", "sample_parse_error", "truncated_observation_error", "unresponsive_reward_error"),
    *("invalid_variable_error", "other_error", "python_grader_server_error", "python_grader_runtime_error"),
    *("model_grader_server_error", "model_grader_refusal_error", "model_grader_parse_error"),
)
BY_CODE = {
    "missing_input": "invalid_variable_error",
    "invalid_settings": "formula_parse_error",
    "refused": "model_grader_refusal_error",
    "bad_output": "model_grader_parse_error",
}
"""What OpenAI calls the errors of ours; a model that cannot be asked is `model_grader_server_error`."""


@dataclass(frozen=True, slots=True)
class Grading:
    """What came of a grader."""

    verdict: Verdict
    seconds: float
    asks: bool

    @property
    def reward(self) -> float | None:
        """Return the score, in the units of the grader's range; None for an error."""
        if self.verdict.status != "success":
            return None
        extra = self.verdict.extra or {}
        return extra.get("score", self.verdict.score)

    @property
    def parts(self) -> dict[str, float]:
        """Return the grades of the members of a `multi`."""
        graders = (self.verdict.extra or {}).get("graders") or {}
        return {name: part["grade"] for name, part in graders.items()}

    @property
    def error(self) -> str | None:
        """Return the name of the error."""
        if self.verdict.status == "success":
            return None
        other = "model_grader_server_error" if self.asks else "other_error"
        return BY_CODE.get(self.verdict.error_code or "", other)


def read_grader(account: Account, grader: Any) -> dict[str, Any]:
    """Return the settings of a grader that can be run. Raises Invalid with pointers."""
    settings = _read_multi(account, grader) if _is_multi(grader) else _read_one(account, grader, AT)
    family, _ = _find_family()
    problems = [
        FieldError(AT + problem.pointer, f"It {problem.detail}.") for problem in family.check_settings(settings)
    ]
    if problems:
        raise Invalid(*problems)
    return settings


def _is_multi(grader: Any) -> bool:
    return isinstance(grader, Mapping) and grader.get("type") == "multi"


def _read_multi(account: Account, grader: Mapping[str, Any]) -> dict[str, Any]:
    """Read a `multi`, whose members are an object by name, a list, or one grader."""
    graders = grader.get("graders")
    members = {name: _read_one(account, member, at) for name, member, at in _iterate_members(graders)}
    fields = ("name", "calculate_output", "pass_threshold")
    settings = {field: grader[field] for field in fields if grader.get(field) is not None}
    connections = {member.pop("connection") for member in members.values() if "connection" in member}
    if len(connections) > 1:
        raise Invalid(FieldError(f"{AT}/graders", "The models of its members are of several connections; use one."))
    connection = {"connection": connections.pop()} if connections else {}
    return {"type": "multi", "graders": members, **settings, **connection}


def _iterate_members(graders: Any) -> Iterator[tuple[str, Any, str]]:
    if isinstance(graders, list):
        for i, member in enumerate(graders):
            yield _get_name(member, i), member, f"{AT}/graders/{i}"
    elif isinstance(graders, Mapping) and isinstance(graders.get("type"), str):
        yield _get_name(graders, 0), graders, f"{AT}/graders"
    elif isinstance(graders, Mapping):
        for name, member in graders.items():
            yield name, member, f"{AT}/graders/{name}"


def _get_name(member: Any, i: int) -> str:
    name = member.get("name") if isinstance(member, Mapping) else None
    return name if isinstance(name, str) else f"grader_{i}"


def _read_one(account: Account, grader: Any, at: str) -> dict[str, Any]:
    try:
        settings = read_settings(grader)
    except ValueError as exc:
        field, detail = exc.args
        raise Invalid(FieldError(f"{at}{field}", detail)) from None
    if isinstance(model := settings.get("model"), str):
        if (asked := find_model(account, model)) is None:
            detail = f"No connection is named {model!r} or has this model, and there is no default connection to ask."
            raise Invalid(FieldError(f"{at}/model", detail))
        connection, settings["model"] = asked
        settings |= {} if connection is None else {"connection": connection}
    return settings


def _find_family() -> Any:
    found = find_evaluator("custom")
    assert found is not None  # noqa: S101  it is one of ours
    return found


def run_grader(*, account: Account, settings: Mapping[str, Any], output: str, item: Mapping[str, Any]) -> Grading:
    """Run a grader on what a model said of a row. A model that is asked answers within the call."""
    family, spec = _find_family()
    lane = family.lane_of(settings)
    if lane == Lane.CPU:
        raise Invalid(FieldError(f"{AT}/evaluation_metric", "`cosine` is computed by workers: use it in an eval."))
    start = time.perf_counter()
    gateway = gateway_for(account.pk)
    sample = build_sample({"output": output, "item": item})
    verdict = score_sample(family, spec, settings, sample, "always", gateway)
    return Grading(verdict, time.perf_counter() - start, lane == Lane.JUDGE)
