"""Evaluations that applications have sent: which a filter means, and the sample that each was about.

A call is one sample, however many evaluators it had. Only what is stored completely counts (capture `all`), and neither
what a rule has made nor what an experiment has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from msgspec import UNSET

from evalsvc.catalog.selectors import spellings
from evalsvc.evaluations.database.partitions import lookups_for_requests
from evalsvc.evaluations.models import SENT, Evaluation, EvaluationRequest
from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.evaluations.wire.inputs import ECHOED, SPELLINGS, as_sent, echo, sample_from_row
from evalsvc.rules.bodies import RuleFilter
from evalsvc.rules.candidates import CandidateSpan, list_values
from evalsvc.rules.refs import EvaluationRef
from evaluators.registry import find_evaluator

FIELDS = ("evaluator_id", "profile_name", "status", "passed", "undecided", "trace_id", "log_id")
OPTIONS = ("strip_thinking", "finish_reason")
NAMES = {spelling: spellings_of[-1] for spellings_of in SPELLINGS.values() for spelling in spellings_of}
"""A field of a sample by each of its spellings, as a mapping calls it."""
NAMES |= dict.fromkeys(SPELLINGS["gold"], "gold_answer") | dict.fromkeys(SPELLINGS["system_prompt"], "system_prompt")


@dataclass(frozen=True, slots=True)
class SentVerdict:
    """What one evaluator of a call has said."""

    evaluator_id: str
    profile_name: str | None
    status: str
    passed: bool | None
    undecided: str | None
    trace_id: str | None
    log_id: str | None

    @property
    def words(self) -> set[str]:
        """Return what a filter may call it: nothing for an error, two words where a profile counts an undecided one."""
        if self.status != Evaluation.Status.SUCCESS:
            return set()
        words = {"undecided"} if self.passed is None or self.undecided else set[str]()
        return words if self.passed is None else words | {"pass" if self.passed else "fail"}


@dataclass(frozen=True, slots=True)
class CandidateEvaluation:
    """A finished call with its verdicts, and the probability with which it was drawn."""

    request: EvaluationRequest
    verdicts: Sequence[SentVerdict]
    probability: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """Return how the row of a rule knows it."""
        return str(self.request.pk), ""

    @property
    def ended_at(self) -> Any:
        """Return when the last evaluator had answered."""
        return self.request.completed_at

    @property
    def name(self) -> str:
        """Return its evaluators."""
        return ", ".join(dict.fromkeys(verdict.evaluator_id for verdict in self.verdicts))

    def get_unit(self, by: str) -> str:
        """Return what is drawn with it."""
        return name_unit(self.request.pk, self.verdicts[0].trace_id)

    def is_fit(self, wanted: RuleFilter) -> bool:
        """Return whether it meets all of a filter."""
        request, tags = self.request, self.request.tags or {}
        if wanted.app is not None and request.app not in list_values(wanted.app):
            return False
        if any(tags.get(name) != value for name, value in (wanted.tags or {}).items()):
            return False
        if not any(_is_meant(wanted, verdict) for verdict in self.verdicts):
            return False
        text = (wanted.text or "").casefold()
        return not text or any(text in side.casefold() for side in (request.input, request.output) if side)

    def read_sample(self) -> dict[str, Any]:
        """Return the sample as it was sent, by the names of a mapping."""
        extras = as_sent(self.request.extras or {})
        sent = {
            **{NAMES.get(name, name): value for name, value in _echo(self.request, extras).items()},
            **{field: extras.get(name) for name, field in ECHOED.items()},
            **{name: extras.get(name) for name in OPTIONS},
            "evaluated_model_attachments": extras.get("attachments"),
        }
        return {name: value for name, value in sent.items() if value is not None}


Candidate = CandidateSpan | CandidateEvaluation


def _echo(request: EvaluationRequest, extras: dict[str, Any]) -> dict[str, Any]:
    echoed = echo(sample_from_row(request), extras)
    return {name: value for name, value in echoed.items() if value is not UNSET}


def name_unit(request_id: int, trace_id: str | None) -> str:
    """Return what is drawn together: the evaluations of a trace; a call alone where it names none."""
    # Disabled tracing sends an id of zeros.
    return f"trace:{trace_id}" if trace_id and trace_id.strip("0-") else f"evaluation:{request_id}"


def _is_meant(wanted: RuleFilter, verdict: SentVerdict) -> bool:
    if wanted.evaluator is not None and not any(_is_name(name, verdict) for name in list_values(wanted.evaluator)):
        return False
    criteria = {spelling for name in list_values(wanted.criteria) for spelling in spellings(name)}
    if wanted.criteria is not None and verdict.profile_name not in criteria:
        return False
    return wanted.verdict is None or not verdict.words.isdisjoint(list_values(wanted.verdict))


def _is_name(name: str, verdict: SentVerdict) -> bool:
    found = find_evaluator(name)
    return verdict.evaluator_id in (name, found[1].id if found else name)


def build_condition(wanted: RuleFilter) -> Q:
    """Return what the requests can tell of a filter."""
    condition = SENT
    if apps := list_values(wanted.app):
        condition &= Q(app__in=apps)
    return condition & Q(tags__contains=wanted.tags) if wanted.tags else condition


def load_refs(account_id: int, rows: Any) -> list[EvaluationRef]:
    """Return the first calls of a query, without their texts."""
    listed = list(rows.values_list("id", "completed_at", "n_bytes"))
    verdicts = _load_verdicts(account_id, [id for id, _, _ in listed])
    traces = {id: said[0].trace_id for id, said in verdicts.items()}
    return [
        EvaluationRef(id, completed_at, n_bytes or 0, name_unit(id, traces.get(id)))
        for id, completed_at, n_bytes in listed
    ]


def read_evaluations(account_id: int, ids: Sequence[int]) -> list[CandidateEvaluation]:
    """Return calls with their texts and verdicts, in the order of the ids. Within the account's scope."""
    verdicts = _load_verdicts(account_id, ids)
    requests = EvaluationRequest.objects.filter(account=account_id, id__in=list(verdicts)).in_bulk()
    return [CandidateEvaluation(requests[id], verdicts[id]) for id in ids if id in requests]


def _load_verdicts(account_id: int, ids: Sequence[int]) -> dict[int, list[SentVerdict]]:
    """Return what the evaluators of calls have said; neither scores made elsewhere nor annotations."""
    verdicts: dict[int, list[SentVerdict]] = {}
    if not ids:
        return verdicts
    rows = Evaluation.objects.filter(
        account=account_id, evaluation_type=Evaluation.Type.MANAGED, **lookups_for_requests(ids)
    )
    undecided = KeyTextTransform(UNDECIDED, "extra")
    values = rows.annotate(undecided=undecided).order_by("request_id", "position").values_list("request_id", *FIELDS)
    for id, *fields in values:
        verdicts.setdefault(id, []).append(SentVerdict(*fields))
    return verdicts
