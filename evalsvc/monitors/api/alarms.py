"""/v1/alarms: list, read, acknowledge, resolve."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.monitors import services
from evalsvc.monitors.answers import AlarmAnswer, AlarmPage, alarm_out
from evalsvc.monitors.bodies import AlarmsQuery
from evalsvc.monitors.selectors import get_alarm, list_alarms
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import answers_with


class AlarmsView(AccountView):
    """The account's alarms."""

    @extend_schema(
        operation_id="list_alarms", tags=["monitors"], parameters=[AlarmsQuery], responses=answers_with(AlarmPage)
    )
    def get(self, request: Request) -> Response:
        """List alarms, newest first."""
        query = validate_strict(AlarmsQuery(data=get_query_params(request)))
        rows = list_alarms(account=self.account, state=query.get("state"), monitor_id=query.get("monitor_id"))
        of = f"alarms:{self.account.pk}"
        alarms, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=of)
        return Response(AlarmPage(alarms=[alarm_out(alarm) for alarm in alarms], next_cursor=cursor))


class AlarmView(AccountView):
    """One alarm."""

    @extend_schema(operation_id="get_alarm", tags=["monitors"], responses=answers_with(AlarmAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return an alarm: since when, from what to what, on how many units, which slices, and examples."""
        return Response(AlarmAnswer(alarm=alarm_out(get_alarm(account=self.account, id=id))))


class AcknowledgeAlarmView(AccountView):
    """An alarm that somebody looks after."""

    @extend_schema(
        operation_id="acknowledge_alarm", tags=["monitors"], request=None, responses=answers_with(AlarmAnswer)
    )
    def post(self, request: Request, id: int) -> Response:
        """Acknowledge an alarm: it stays until the scores recover or somebody resolves it."""
        alarm = services.acknowledge_alarm(account=self.account, id=id, actor=self.caller.actor)
        return Response(AlarmAnswer(alarm=alarm_out(alarm)))


class ResolveAlarmView(AccountView):
    """An alarm that is over."""

    @extend_schema(operation_id="resolve_alarm", tags=["monitors"], request=None, responses=answers_with(AlarmAnswer))
    def post(self, request: Request, id: int) -> Response:
        """Resolve an alarm. The monitor starts again where it has read to, against the same baseline."""
        now = timezone.now()
        alarm = services.resolve_alarm(account=self.account, id=id, now=now, actor=self.caller.actor)
        return Response(AlarmAnswer(alarm=alarm_out(alarm)))
