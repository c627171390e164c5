"""`client.connections`: connections to the LLMs that evaluators call. Keys are write-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/connections"


@dataclass(frozen=True, kw_only=True)
class ConnectionRecord(ServiceObject):
    """A connection without its secrets; `key_last4` tells which key it has."""

    id: str
    name: str
    base_url: str
    model: str
    key_set: bool = False
    key_last4: str | None = None
    protocol: str = "chat"
    extra_body: Mapping[str, object] | None = None
    max_output_tokens: int | None = None
    currency: str | None = None
    hint: str | None = None
    rpm: int | None = None
    tpm: int | None = None
    daily_budget: float | None = None
    spent_today: float | None = None
    is_enabled: bool = True
    is_default: bool = False


@dataclass(frozen=True, kw_only=True)
class TrialRecord(ServiceObject):
    """What a test brought; `error` has a code and a sentence where it brought no verdict."""

    ok: bool
    model: str = ""
    latency_ms: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    currency: str | None = None
    calls: int = 0
    dialect: Mapping[str, object] | None = None
    hint: str | None = None
    error: Mapping[str, str] | None = None


class ConnectionsApi:
    """Calls of `/v1/connections`. Where a connection is named, its id or a `ConnectionRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, name: str, *, base_url: str, model: str, key: str | None = None, **settings: object
    ) -> ConnectionRecord:
        """Make a connection to an OpenAI-compatible address; `settings` are prices, limits and so on, as in the API."""
        body: JsonObject = {"name": name, "base_url": base_url, "model": model, **({} if key is None else {"key": key})}
        return self._connection(self._transport.post(PATH, body | to_json_object(settings)))

    def list(self) -> Listing[ConnectionRecord]:
        """Return the account's connections by name."""

        def read() -> Sequence[JsonObject]:
            return cast("Sequence[JsonObject]", self._transport.get(PATH)["connections"])

        return Listing(lambda: map(ConnectionRecord.read, read()))

    def get(self, connection: str | ConnectionRecord) -> ConnectionRecord:
        """Return one connection."""
        return self._connection(self._transport.get(f"{PATH}/{get_id(connection)}"))

    def update(self, connection: str | ConnectionRecord, **changes: object) -> ConnectionRecord:
        """Change what is named; None takes a limit, a price or the budget away."""
        return self._connection(self._transport.patch(f"{PATH}/{get_id(connection)}", to_json_object(changes)))

    def test(self, connection: str | ConnectionRecord) -> TrialRecord:
        """Ask the model one small judge question, which can take a minute; `ok` is whether it gave a verdict."""
        return TrialRecord.read(self._transport.post(f"{PATH}/{get_id(connection)}/test"))

    def delete(self, connection: str | ConnectionRecord) -> None:
        """Delete it and forget its key; what names it is not configured from now on."""
        self._transport.call("DELETE", f"{PATH}/{get_id(connection)}")

    @staticmethod
    def _connection(answer: JsonObject) -> ConnectionRecord:
        return ConnectionRecord.read(answer["connection"])
