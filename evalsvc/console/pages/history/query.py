"""From the page's address to the question, which the API's own reader checks: the same names, the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import ResolvedEvaluator, UnresolvedEvaluator, resolve
from evalsvc.console.parts.addresses import add_zone, datetime_param
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import FormField, errors_at
from evalsvc.evaluations.history.read import apps_with_scores
from evalsvc.evaluations.ingest.labels import PREFIX as LABELS
from evalsvc.evaluations.models import EXTERNAL_PREFIX
from evalsvc.evaluations.wire.interval_request import DEFAULT_STRATEGY, INCLUDE, LEVEL, OF, IntervalOptions, read_query
from evalsvc.projects.selectors import list_projects
from evalsvc.rest.problems import Invalid
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES

ASKED = ("strategy", "level", "of", "scope.app", "scope.project", "scope.experiment", "since", "since.scores",
         "since.revision", "include_experiments", "cluster_by")  # fmt: skip
MAX_CHOICES = 200
DEFAULT = IntervalOptions(strategy=DEFAULT_STRATEGY)
OF_WORDS = {"pass": "pass rate", "score": "mean score"}
INCLUDE_WORDS = {"none": "none", "promoted": "promoted ones", "all": "all"}


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """A query about a history: which history, the quantity and options of its interval, and a comparison."""

    evaluator_id: str
    profile_name: str
    run: ResolvedEvaluator | None
    asked: Mapping[str, str]
    """What was said, by the API's names."""
    ask: IntervalOptions
    errors: Mapping[str, str] = field(default_factory=dict)
    other_app: str = ""
    split_at: datetime | None = None
    by_number: bool = False
    """Whether charts count scores across, rather than time."""

    @property
    def answers_default(self) -> bool:
        """Return whether the default options replace invalid ones. They do not if only the comparison is invalid."""
        return any(not name.startswith("vs.") for name in self.errors)

    @property
    def pair(self) -> tuple[str, str]:
        """The evaluator ID and the profile name of the history."""
        return self.evaluator_id, self.profile_name

    @property
    def is_external(self) -> bool:
        """Whether the scores were made elsewhere, by a program or a person."""
        return self.evaluator_id.startswith((EXTERNAL_PREFIX, LABELS))

    @property
    def names(self) -> dict[str, str]:
        """The same by the names of the address."""
        return {"evaluator": self.evaluator_id, "profile": self.profile_name}

    def build_call(self, truth: str = "", by: str = "") -> ApiCall:
        """Return the call that answers the same, with what people would say by these criteria, and by slice."""
        truth_params = {"truth": truth, "truth_by": by} if truth else {}
        return ApiCall("GET", "/v1/history", {**self.names, **self.asked, **truth_params, "limit": 100})


def parse_history_query(request: HttpRequest, account: Account) -> HistoryQuery:
    """Parse the address.

    Options that the API would reject are reported at their fields and replaced by the default.
    """
    evaluator, profile = request.GET.get("evaluator", ""), request.GET.get("profile", "")
    if not evaluator or "\0" in f"{evaluator}{profile}":
        raise Http404
    evaluator_id, profile_name, run = _resolved(account, evaluator, profile)
    parameters = dict(_iter_parameters(request))
    ask, errors = _parse_options(parameters)
    split_at, no_moment = datetime_param(request, "vs.before")
    other_app = request.GET.get("vs.app", "")[:255].replace("\0", "")
    comparison_errors = {"vs.before": no_moment, "vs.app": _no_other_app(other_app, ask)}
    errors |= {name: text for name, text in comparison_errors.items() if text}
    question = HistoryQuery(evaluator_id, profile_name, run, parameters, ask, errors)
    return replace(question, other_app=other_app, split_at=split_at, by_number=request.GET.get("x") == "n")


def _no_other_app(name: str, ask: IntervalOptions) -> str:
    """Return why what is shown cannot be compared with an app: the two must be apart, as independent samples are."""
    kind, scope_name = ask.scope or ("", None)
    if name and kind != "app":
        return "Choose an app on both sides: the scores shown may include this app's."
    return "Choose a different app than the one shown." if name and scope_name == name else ""


def _resolved(account: Account, evaluator: str, profile: str) -> tuple[str, str, ResolvedEvaluator | None]:
    """Return the names and what runs; scores made elsewhere, and of what is switched off, are shown by their names."""
    if evaluator.startswith((EXTERNAL_PREFIX, LABELS)):
        return evaluator, profile, None
    try:
        run = resolve(account_id=account.pk, epoch=None, evaluator=evaluator, profile=profile or None)
    except UnresolvedEvaluator:
        return evaluator, profile, None
    return run.evaluator_id, run.profile.name, run


def _iter_parameters(request: HttpRequest) -> Iterator[tuple[str, str]]:
    for name, value in request.GET.items():
        text = str(value).strip()
        if text and (name in ASKED or name.startswith("scope.tags.")):
            yield name, add_zone(text) if name == "since" else text


def _parse_options(asked: Mapping[str, str]) -> tuple[IntervalOptions, dict[str, str]]:
    try:
        return read_query(asked), {}
    except Invalid as exc:
        return DEFAULT, errors_at(exc)


def question_fields(question: HistoryQuery, account: Account) -> list[FormField]:
    """Return the form fields of a query."""
    parameters, errors = question.asked, question.errors
    apps = apps_with_scores(account=account, pair=question.pair, limit=MAX_CHOICES)
    projects = list(list_projects(account=account).values_list("name", flat=True)[:MAX_CHOICES])

    def one(name: str, label: str, kind: Any = "text", **more: Any) -> FormField:
        value = more.pop("value", parameters.get(name, ""))
        return FormField(name, label, kind, value, error=errors.get(name, ""), **more)

    return [
        *(FormField(name, "", "hidden", value) for name, value in question.names.items()),
        one("strategy", "Strategy", "select", value=question.ask.strategy, options=_same(HISTORY_STRATEGIES)),
        one("level", "Level", "number", value=parameters.get("level", f"{LEVEL:g}")),
        one("of", "Of", "select", options=[("", "Metric: default"), *((name, OF_WORDS[name]) for name in OF)]),
        one("scope.app", "App", "select", options=_choices(parameters.get("scope.app"), apps)),
        one("scope.project", "Project", "select", options=_choices(parameters.get("scope.project"), projects)),
        one("since", "Since (UTC)", "datetime-local", value=parameters.get("since", "")[:16]),
        one("since.scores", "Newest scores", "number"),
        one("since.revision", "From revision", "number"),
        one("include_experiments", "Experiments", "select",
            options=[("", "as the scope"), *((name, INCLUDE_WORDS[name]) for name in INCLUDE)]),
        one("cluster_by", "Cluster by tag"),
        FormField("x", "Across", "select", "n" if question.by_number else "", [("", "time"), ("n", "scores")]),
        FormField("vs.app", "Against app", "select", question.other_app, _choices(question.other_app, apps, "nothing"),
                  error=errors.get("vs.app", "")),
        one("vs.before", "Against before (UTC)", "datetime-local",
            value=f"{question.split_at:%Y-%m-%dT%H:%M}" if question.split_at else ""),
    ]  # fmt: skip


def _same(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


def _choices(chosen: str | None, names: Sequence[str], none: str = "all") -> list[tuple[str, str]]:
    """Return the names to choose from; one that is chosen and not among them stays chosen, and finds nothing."""
    return [("", none), *_same([*names, *([chosen] if chosen and chosen not in names else [])])]
