"""Exports over gRPC of several accounts at once, and doubled by retries: each has its own, and each span once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from evalsvc.telemetry.receiver.exports import EXPORTS
from tests.conftest import Caller
from tests.telemetry.otlp import n_logs, n_spans, new_id, protobuf
from tests.telemetry.receiving import LOGS, METRICS, TRACES, answers_to, call, receiving

N_EXPORTS, N_SPANS = 20, 500
EMPTY = b""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where exports are taken."""
    with receiving(tmp_path_factory.mktemp("otlp")) as found:
        yield found


def an_export(n: int = 1, trace_id: bytes | None = None) -> bytes:
    trace = trace_id or bytes.fromhex(new_id())
    return protobuf(*((trace, bytes.fromhex(new_id(8))) for _ in range(n)))


def a_log(log_id: str) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = "said"
    record.attributes.add(key="pat.log.id").value.string_value = log_id
    return request.SerializeToString()


def test_ten_thousand_spans_that_are_sent_twice_count_once(address: str, alice: Caller, charlie: Caller) -> None:
    exports = [call(TRACES, an_export(N_SPANS), x_api_key=alice.key) for _ in range(N_EXPORTS)]
    # Each is tried again at once, and all of them once more in the other order.
    tries = [one for export in exports for one in (export, export)] + exports[::-1]

    assert {found["code"] for found in answers_to(address, *tries)} == {"OK"}
    assert n_spans(alice) == N_EXPORTS * N_SPANS == 10_000
    assert n_spans(charlie) == 0


def test_a_trace_of_two_accounts_is_two_traces(address: str, alice: Caller, charlie: Caller) -> None:
    trace = new_id()
    body = an_export(trace_id=bytes.fromhex(trace))
    calls = [call(TRACES, body, x_api_key=caller.key) for caller in (alice, charlie, alice)]
    calls += [call(LOGS, a_log("same"), x_api_key=caller.key) for caller in (charlie, alice, charlie)]

    assert {found["code"] for found in answers_to(address, *calls)} == {"OK"}
    for caller in (alice, charlie):
        assert (n_spans(caller), n_logs(caller)) == (1, 1)
        assert len(caller.get(f"/v1/traces/{trace}").json()["spans"]) == 1
    alice.call("DELETE", f"/v1/otel/spans?trace_id={trace}")
    assert (n_spans(alice), n_spans(charlie)) == (0, 1)


@pytest.mark.parametrize("method", sorted(EXPORTS))
def test_every_method_asks_who_calls(method: str, address: str, alice: Caller, bob: Caller) -> None:
    found = answers_to(
        address,
        call(method, EMPTY),
        call(method, EMPTY, x_api_key="ek_nothing"),
        call(method, EMPTY, authorization="Basic eDp5"),
        call(method, EMPTY, x_api_key=bob.key),
        call(method, EMPTY, x_api_key=alice.key),
        call(method, EMPTY, authorization=f"Bearer {alice.key}"),
    )

    assert [one["code"] for one in found] == ["UNAUTHENTICATED"] * 3 + ["PERMISSION_DENIED", "OK", "OK"]
    assert {TRACES, LOGS, METRICS} == set(EXPORTS)


@pytest.mark.parametrize("method", sorted(EXPORTS))
def test_a_key_that_is_revoked_sends_nothing_by_any_method(method: str, address: str, alice: Caller) -> None:
    from django.utils import timezone

    from evalsvc.accounts.models import ApiKey
    from evalsvc.accounts.services import revoke_key
    from evalsvc.tenancy.scope import account_scope

    sent = call(method, an_export() if method == TRACES else EMPTY, x_api_key=alice.key)
    (before,) = answers_to(address, sent)
    with account_scope(alice.account.pk):
        key = ApiKey.objects.get(account=alice.account)
    revoke_key(account=alice.account, key=key, now=timezone.now())
    (after,) = answers_to(address, sent)

    assert (before["code"], after["code"]) == ("OK", "UNAUTHENTICATED")
