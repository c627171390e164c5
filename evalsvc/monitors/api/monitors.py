"""/v1/monitors: list, preview, create, read, change, delete."""

from __future__ import annotations

import msgspec
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.monitors import services
from evalsvc.monitors.answers import MonitorAnswer, MonitorPage, MonitorPreview, list_monitors_out, preview_out
from evalsvc.monitors.bodies import MonitorBody, MonitorChanges, MonitorsQuery
from evalsvc.monitors.models import Monitor
from evalsvc.monitors.selectors import get_monitor, list_monitors
from evalsvc.rest.answering.pagination import page
from evalsvc.rest.answering.shapes import AnswerShape, answer_with, answers_with, reference
from evalsvc.rest.bodies.parsers import decode, read_body

_body = msgspec.json.Decoder(MonitorBody)
_changes = msgspec.json.Decoder(MonitorChanges)


class MonitorPreviewAnswer(AnswerShape):
    """The monitor that a body would create."""

    monitor: MonitorPreview


def _answer(monitor: Monitor) -> MonitorAnswer:
    (shown,) = list_monitors_out([monitor])
    return MonitorAnswer(monitor=shown)


class MonitorsView(AccountView):
    """The account's monitors."""

    @extend_schema(
        operation_id="list_monitors",
        tags=["monitors"],
        parameters=[MonitorsQuery],
        responses=answers_with(MonitorPage),
    )
    def get(self, request: Request) -> Response:
        """List monitors, newest first."""
        query = validate_strict(MonitorsQuery(data=get_query_params(request)))
        rows = list_monitors(account=self.account, state=query.get("state"), evaluator=query.get("evaluator"))
        of = f"monitors:{self.account.pk}"
        monitors, cursor = page(rows, limit=query["limit"], cursor=query.get("cursor"), of=of)
        return Response(MonitorPage(monitors=list_monitors_out(monitors), next_cursor=cursor))

    @extend_schema(
        operation_id="create_monitor",
        tags=["monitors"],
        request={"application/json": reference(MonitorBody)},
        responses={201: answer_with(MonitorAnswer)},
    )
    def post(self, request: Request) -> Response:
        """Freeze the newest scores of a history as a baseline, and watch the scores from now on."""
        monitor = services.create_monitor(
            account=self.account,
            epoch=self.caller.admission.epoch,
            body=decode(read_body(request), _body),
            now=timezone.now(),
            actor=self.caller.actor,
        )
        return Response(_answer(monitor), status=201)


class PreviewMonitorView(AccountView):
    """What would be watched?"""

    reads = True

    @extend_schema(
        operation_id="preview_monitor",
        tags=["monitors"],
        request={"application/json": reference(MonitorBody)},
        responses=answers_with(MonitorPreviewAnswer),
    )
    def post(self, request: Request) -> Response:
        """Return the baseline and the unit that a monitor would have; nothing is stored."""
        body = decode(read_body(request), _body)
        epoch = self.caller.admission.epoch
        monitor = services.build_monitor(account=self.account, epoch=epoch, body=body, now=timezone.now())
        return Response(MonitorPreviewAnswer(monitor=preview_out(monitor)))


class MonitorView(AccountView):
    """One monitor."""

    remembers_tries = ("DELETE",)

    @extend_schema(operation_id="get_monitor", tags=["monitors"], responses=answers_with(MonitorAnswer))
    def get(self, request: Request, id: int) -> Response:
        """Return a monitor with its baseline."""
        return Response(_answer(get_monitor(account=self.account, id=id)))

    @extend_schema(
        operation_id="revise_monitor",
        tags=["monitors"],
        request={"application/json": reference(MonitorChanges)},
        responses=answers_with(MonitorAnswer),
    )
    def patch(self, request: Request, id: int) -> Response:
        """Rename, pause or resume a monitor, or freeze a new baseline. Scores of a pause are not read.

        An alarm that is open stays so during a pause, and ends by a recovery after it, or by a person.
        """
        # A stranger learns nothing from a body that would be refused.
        get_monitor(account=self.account, id=id)
        monitor = services.revise_monitor(
            account=self.account,
            epoch=self.caller.admission.epoch,
            id=id,
            changes=decode(read_body(request), _changes),
            now=timezone.now(),
            actor=self.caller.actor,
        )
        return Response(_answer(monitor))

    @extend_schema(
        operation_id="delete_monitor",
        tags=["monitors"],
        responses={204: OpenApiResponse(description="It is gone, with its alarms.")},
    )
    def delete(self, request: Request, id: int) -> Response:
        """Delete a monitor with its alarms. The event `alarm.resolved` is sent of one that is open."""
        services.delete_monitor(account=self.account, id=id, now=timezone.now(), actor=self.caller.actor)
        return Response(status=204)
