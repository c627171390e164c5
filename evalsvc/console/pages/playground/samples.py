"""The playground form: a sample, and the evaluators to run on it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.catalog.selectors import get_visible_profile, list_evaluators
from evalsvc.console.parts.forms.json_fields import UnreadableJson, read_json
from evalsvc.datasets.exports import text_or_json
from evalsvc.datasets.models import Example
from evalsvc.datasets.selectors import get_version, list_examples
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.evaluations.wire.inputs import sample_from_row
from evalsvc.rest.bodies.scalars import read_row_id, read_uuid
from evalsvc.rest.problems import NotFound

MAX_CANDIDATES = 6
BETWEEN = "\n---\n"
"""Between two contexts in the form's one field."""
FIELDS = {
    "input": "evaluated_model_input",
    "output": "evaluated_model_output",
    "gold": "evaluated_model_gold_answer",
    "system_prompt": "evaluated_model_system_prompt",
    "baseline": "evaluated_model_baseline_output",
}
"""Texts of the form, by the names of the API."""


@dataclass(frozen=True, slots=True)
class BenchCandidate:
    """An evaluator with a profile, or with inline settings that are not saved in a profile."""

    evaluator: str = ""
    profile: str = ""
    settings: str = ""
    error: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether the row was left empty."""
        return not (self.evaluator or self.profile or self.settings.strip())


@dataclass(frozen=True, slots=True)
class Bench:
    """The whole form."""

    texts: Mapping[str, str] = field(default_factory=dict)
    contexts: str = ""
    candidates: Sequence[BenchCandidate] = (BenchCandidate(), BenchCandidate())
    app: str = ""
    errors: Sequence[str] = ()

    @property
    def body(self) -> dict[str, Any]:
        """Return the body of POST /v1/evaluate; raises UnreadableJson for settings that are none."""
        request_body: dict[str, Any] = {
            "evaluators": [_entry(candidate) for candidate in self.candidates if not candidate.is_blank],
            **{FIELDS[name]: text for name, text in self.texts.items() if text != ""},
        }
        if self.contexts.strip():
            request_body["evaluated_model_retrieved_context"] = [
                part for part in self.contexts.split(BETWEEN) if part.strip()
            ]
        return request_body | ({"app": self.app, "capture": "all"} if self.app else {"capture": "none"})


def _entry(one: BenchCandidate) -> dict[str, Any]:
    entry: dict[str, Any] = {"evaluator": one.evaluator, "explain_strategy": "always"}
    if one.settings.strip():
        settings = read_json(one.settings)
        if not isinstance(settings, dict):
            raise UnreadableJson("Settings must be a JSON object.")
        return entry | {"profile_inline": settings}
    return entry | ({"criteria": one.profile} if one.profile else {})


def read_bench(sent: Mapping[str, str]) -> Bench:
    """Return what was sent. Forms send lines as CR LF, whatever was typed."""
    plain = {name: value.replace("\r\n", "\n") for name, value in sent.items()}
    candidates = [
        BenchCandidate(*(plain.get(f"{part}-{i}", "").strip() for part in ("evaluator", "profile", "settings")))
        for i in range(MAX_CANDIDATES)
    ]
    n_visible = max(2, *(i + 1 for i, candidate in enumerate(candidates) if not candidate.is_blank), 0)
    if plain.get("more"):
        n_visible = min(n_visible + 1, MAX_CANDIDATES)
    return Bench(
        {name: plain.get(name, "") for name in FIELDS}, plain.get("contexts", ""), candidates[:n_visible],
        plain.get("app", "").strip() if plain.get("keep") else "",
    )  # fmt: skip


def open_bench(account: Account, query: Mapping[str, str]) -> Bench:
    """Return the form prefilled from the query string: an evaluation's sample, an example, an evaluator or a profile.

    Raises NotFound for an object that does not exist or belongs to another account.
    """
    if (id := read_row_id(query.get("from", ""))) is not None:
        return _bench_from_evaluation(account, id)
    candidate = _candidate(account, query)
    candidates = (candidate, BenchCandidate())
    if (dataset := read_uuid(query.get("dataset", ""))) is not None:
        example = _example(account, uuid.UUID(str(dataset)), query.get("row", "1"))
        return _bench_from_example(example, candidates)
    return Bench(candidates=candidates)


def _bench_from_evaluation(account: Account, id: int) -> Bench:
    row = get_evaluation(account=account, id=id)
    sample = sample_from_row(row.request)
    texts = {
        "input": sample.input or "", "output": sample.output or "", "gold": sample.gold or "",
        "system_prompt": sample.system_prompt or "", "baseline": sample.baseline_output or "",
    }  # fmt: skip
    first = BenchCandidate(row.evaluator_id, row.profile_name or "") if row.family else BenchCandidate()
    # The same evaluator once more, so that another profile is one choice away.
    return Bench(texts, BETWEEN.join(sample.context_texts), (first, BenchCandidate(first.evaluator)))


def _candidate(account: Account, query: Mapping[str, str]) -> BenchCandidate:
    if (id := read_uuid(query.get("profile", ""))) is None:
        return BenchCandidate(query.get("evaluator", "")[:100])
    profile = get_visible_profile(account=account, id=uuid.UUID(str(id)))
    evaluators = list_evaluators(account=account, include_deprecated=False)
    first = next((row.evaluator_id for row in evaluators if row.family == profile.family), "")
    return BenchCandidate(query.get("evaluator") or first, profile.name)


def _example(account: Account, dataset: uuid.UUID, row: str) -> Example:
    version = get_version(account=account, dataset_id=dataset)
    position = int(row) - 1 if row.isdecimal() and len(row) < 10 else 0
    example = list_examples(account=account, version=version).filter(position=max(position, 0)).first()
    if example is None:
        raise NotFound
    return example


def _bench_from_example(example: Example, candidates: Sequence[BenchCandidate]) -> Bench:
    metadata = example.metadata if isinstance(example.metadata, dict) else {}
    texts = {
        "input": text_or_json(example.input) or "",
        "gold": text_or_json(example.expected) or "",
        "output": text_or_json(metadata.get("evaluated_model_output")) or "",
        "system_prompt": text_or_json(metadata.get("system_prompt")) or "",
    }
    contexts = [
        context if isinstance(context, str) else str(context.get("text", "")) for context in example.contexts or ()
    ]
    return Bench(texts, BETWEEN.join(contexts), candidates)
