"""POST /v1/calibrations: the threshold that labels support, and how sure that is."""

from __future__ import annotations

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.calibrations.bodies import CalibrationAnswer, CalibrationBody
from evalsvc.calibrations.use_case import calibrate
from evalsvc.rest.answering.shapes import answers_with, reference
from evalsvc.rest.bodies.parsers import decode, read_body

N_REQUESTS = 10
"""What a calibration counts towards the account's limits, by the time that it takes."""
_decoder = msgspec.json.Decoder(CalibrationBody)


class CalibrationsView(AccountView):
    """Calibrations. Only the revision is stored, if one is requested."""

    @extend_schema(
        operation_id="calibrate",
        tags=["calibrations"],
        request={"application/json": reference(CalibrationBody)},
        responses=answers_with(CalibrationAnswer),
    )
    def post(self, request: Request) -> Response:
        """Choose the threshold for an aim by labelled rows, and say how good it is on rows that did not choose it."""
        body = decode(read_body(request), _decoder)
        self.charge(N_REQUESTS)
        caller = self.caller
        answer = calibrate(account=self.account, epoch=caller.admission.epoch, actor=caller.actor, body=body)
        return Response(answer)
