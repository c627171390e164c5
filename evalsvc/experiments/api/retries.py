"""Try again what has failed."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.experiments.api.answers.retries import RetriedConfig, RetryAnswer
from evalsvc.experiments.bodies.plans import read_digits
from evalsvc.experiments.bodies.strict import Strict
from evalsvc.experiments.models import Retry
from evalsvc.experiments.queueing import enqueue_after_commit
from evalsvc.experiments.runner.retry_orders import FAILED, order_retry
from evalsvc.experiments.selectors import get_plan
from evalsvc.rest.answering.shapes import answers_with
from evalsvc.rest.bodies.fields import StrictText

WHAT = [*Retry.What.choices, (FAILED, "Outputs, and scores that failed for a reason of the infrastructure")]


class RetryIn(Strict):
    """What to try again."""

    what = serializers.ChoiceField(choices=WHAT, default=FAILED)
    error_types = serializers.ListField(
        child=StrictText(max_length=40), min_length=1, max_length=50, required=False, allow_null=True
    )
    config_ids = serializers.ListField(
        child=StrictText(max_length=20), min_length=1, max_length=1000, required=False, allow_null=True
    )

    def validate_config_ids(self, value: list[Any] | None) -> list[int] | None:
        """Return the ids, each once."""
        return None if value is None else list(dict.fromkeys(read_digits(config_id) for config_id in value))


class RetryView(AccountView):
    """Failures of an experiment."""

    @extend_schema(
        operation_id="retry_experiment", tags=["experiments"], request=RetryIn, responses=answers_with(RetryAnswer)
    )
    def post(self, request: Request, id: int) -> Response:
        """Ask again for outputs that failed, or score again what failed to be scored; nothing else is run.

        Without `what` both: outputs that failed, and scores that failed for a reason of the infrastructure, such as a
        judge endpoint that was away. The outputs of a push config are leased to its caller again. What waits for an
        earlier retry is not tried twice.
        """
        get_plan(account=self.account, id=id)
        body = validate_strict(RetryIn(data=request.data))
        order = order_retry(
            account=self.account,
            experiment_id=id,
            what=body["what"],
            error_types=body.get("error_types"),
            config_ids=body.get("config_ids"),
            actor=self.caller.actor,
        )
        if order.retry is not None:
            enqueue_after_commit()
        return Response(
            RetryAnswer(
                experiment_id=str(id),
                number=order.retry.number if order.retry else None,
                what=body["what"],
                error_types=body.get("error_types"),
                n_outputs=order.n_outputs,
                n_waiting=order.n_waiting,
                configs=[
                    RetriedConfig(config_id=str(config.pk), config=config.name, n_outputs=n)
                    for config, n in order.counts
                ],
            )
        )
