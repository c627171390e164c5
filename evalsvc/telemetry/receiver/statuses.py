"""Problems in gRPC's words. What exporters send again is what they send again over HTTP, after as long."""

from __future__ import annotations

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from evalsvc.rest.basics.request_id import HEADER, current_request_id
from evalsvc.rest.problems import Problem

CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    413: grpc.StatusCode.INVALID_ARGUMENT,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
}


def get_status_code(problem: Problem) -> grpc.StatusCode:
    """Return the code of the status; INTERNAL for a bug of ours, which is not sent again."""
    return CODES.get(problem.row.status, grpc.StatusCode.INTERNAL)


def build_trailers(problem: Problem) -> list[tuple[str, str | bytes]]:
    """Return the trailing metadata: the request's id and, where a retry helps, when.

    RESOURCE_EXHAUSTED is sent again only with a RetryInfo. Exporters look for it in either of two places.
    """
    trailers: list[tuple[str, str | bytes]] = [(HEADER.lower(), current_request_id())]
    if "Retry-After" in problem.headers:
        info = RetryInfo(retry_delay=Duration(seconds=int(problem.headers["Retry-After"])))
        packed = AnyMessage()
        packed.Pack(info)
        status = Status(code=get_status_code(problem).value[0], message=problem.detail, details=[packed])
        trailers += [
            ("grpc-status-details-bin", status.SerializeToString()),
            ("google.rpc.retryinfo-bin", info.SerializeToString()),
        ]
    return trailers
