"""What the start page shows of an account: what was measured, which alarms are open, and what waits for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import load_own_catalog
from evalsvc.console.pages.account.uses import list_spends
from evalsvc.console.parts.scorers import scorer_names
from evalsvc.evaluations.rollups.counts import DayRange, FailureCount, PassRate
from evalsvc.evaluations.rollups.read import read_days
from evalsvc.events.selectors import EndpointHealth, list_endpoint_health
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.overview import ExperimentOverview, build_overviews
from evalsvc.experiments.selectors import list_latest_plans
from evalsvc.gates.models import Gate
from evalsvc.gates.selectors import list_gates
from evalsvc.judges.ledger.status import ConnectionStatus
from evalsvc.monitors.answers import AlarmOut, alarm_out
from evalsvc.monitors.models import Alarm
from evalsvc.monitors.selectors import list_alarms
from evalsvc.reviews.selectors import OpenReview, open_reviews

MAX_EXPERIMENTS, MAX_REVIEWS, MAX_GATES, MAX_ALARMS = 6, 6, 8, 3


@dataclass(frozen=True, slots=True)
class HomeReading:
    """The data of the start page.

    Experiments, reviews, gates and alarms include one entry more than the page displays.
    """

    days: DayRange
    names: Mapping[str, str]
    rates: Sequence[PassRate]
    revised: Mapping[str, datetime]
    """When profiles were revised within these days, by name."""
    undecided: Set[str]
    """The evaluators whose scores may be undecided."""
    failures: Sequence[FailureCount]
    experiments: Sequence[tuple[ExperimentPlan, ExperimentOverview]]
    """Those that run, then the newest."""
    reviews: Sequence[OpenReview]
    gates: Sequence[Gate]
    connections: Sequence[ConnectionStatus]
    webhooks: Sequence[EndpointHealth]
    """Those at which something has not arrived."""
    alarms: Sequence[AlarmOut]
    """The newest that are open."""

    def get_display_name(self, evaluator_id: str, profile_name: str) -> str:
        """Return a history's name in words."""
        name = self.names.get(evaluator_id, evaluator_id)
        return f"{name} · {profile_name}" if profile_name else name

    @property
    def is_new(self) -> bool:
        """Whether nothing was measured recently and there is no experiment, so that the page shows the first steps."""
        return not self.rates and not self.experiments


def read_home(account: Account, now: datetime) -> HomeReading:
    """Read the last fourteen days of an account."""
    days = DayRange.latest(14, now=now)
    rates, failures = read_days(account=account, days=days)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    catalog = load_own_catalog(account.pk, None)
    families = catalog.find_families({rate.evaluator_id for rate in rates})
    first = datetime.combine(days.first, datetime.min.time(), UTC)
    plans = list_latest_plans(account=account, limit=MAX_EXPERIMENTS + 1)
    overviews = build_overviews(plans, concludes=True) if plans else {}
    return HomeReading(
        days=days,
        names=scorer_names(account, {rate.evaluator_id for rate in rates}),
        rates=rates,
        revised={name: at for name, at in catalog.revised.items() if at >= first},
        undecided={name for name, family in families.items() if family.can_be_undecided},
        failures=failures,
        experiments=[(plan, overviews[plan.pk]) for plan in plans],
        reviews=open_reviews(account=account, limit=MAX_REVIEWS + 1),
        gates=list(list_gates(account=account, since=today).order_by("-id")[: MAX_GATES + 1]),
        connections=list_spends(account, now),
        webhooks=[webhook for webhook in list_endpoint_health(account=account, now=now) if webhook.wants_a_look],
        alarms=_list_open_alarms(account),
    )


def _list_open_alarms(account: Account) -> list[AlarmOut]:
    rows = list_alarms(account=account, state=Alarm.State.OPEN).order_by("-id")
    return [alarm_out(alarm) for alarm in rows[: MAX_ALARMS + 1]]
