"""`client.evaluators`: what the account can run, and evaluators of its own on top of managed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/evaluators"


@dataclass(frozen=True, kw_only=True)
class EvaluatorRecord(ServiceObject):
    """An evaluator. `base` is the managed evaluator that does the work; only `get` and changes bring the `card`."""

    id: str
    name: str
    evaluator_family: str
    base: str = ""
    description: str = ""
    question: str = ""
    aliases: Sequence[str] = ()
    default_criteria: str | None = None
    evaluation_enabled: bool = True
    deprecated: bool = False
    card: Mapping[str, Any] | None = None


class EvaluatorsApi:
    """Calls of `/v1/evaluators`. Where an evaluator is named, its id or an `EvaluatorRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, id: str, base: str, **settings: object) -> EvaluatorRecord:
        """Make an evaluator of the account's own on top of a managed one.

        `settings` are `aliases`, `default_criteria` and so on, as in the API.
        """
        body: JsonObject = {"id": id, "base": base, **to_json_object(settings)}
        return self._evaluator(self._transport.post(PATH, body))

    def update(self, evaluator: str | EvaluatorRecord, **settings: object) -> EvaluatorRecord:
        """Change an evaluator of the account's own, or switch a managed one by `evaluation_enabled`."""
        body = to_json_object(settings)
        return self._evaluator(self._transport.patch(self._path(evaluator), body))

    def list(self, *, include_deprecated: bool = False) -> Listing[EvaluatorRecord]:
        """Return what the account can run, its own evaluators first."""

        def read() -> Sequence[JsonObject]:
            answer = self._transport.get(PATH, {"include_deprecated": str(include_deprecated).lower()})
            return cast("Sequence[JsonObject]", answer["evaluators"])

        return Listing(lambda: map(EvaluatorRecord.read, read()))

    def get(self, evaluator: str | EvaluatorRecord) -> EvaluatorRecord:
        """Return one evaluator, by its id or an alias, with its card."""
        return self._evaluator(self._transport.get(self._path(evaluator)))

    @staticmethod
    def _path(evaluator: str | EvaluatorRecord) -> str:
        return f"{PATH}/{quote(get_id(evaluator), safe='')}"

    @staticmethod
    def _evaluator(answer: JsonObject) -> EvaluatorRecord:
        return EvaluatorRecord.read(answer["evaluator"])
