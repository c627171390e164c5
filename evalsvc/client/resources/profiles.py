"""`client.profiles`: named settings of evaluators, in frozen revisions. On the wire they are criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.service.transport import Transport
from evalsvc.client.showing.records import Listing, ServiceObject
from evalsvc.client.values import JsonObject, to_json_object

PATH = "/v1/evaluator-criteria"


@dataclass(frozen=True, kw_only=True)
class ProfileRecord(ServiceObject):
    """A profile in one of its revisions; `public_id` is the revision's."""

    public_id: str
    evaluator_family: str
    name: str
    revision: int
    config: Mapping[str, Any] = field(default_factory=dict)
    is_patronus_managed: bool = False
    description: str = ""
    created_at: str = ""


class ProfilesApi:
    """Calls of `/v1/evaluator-criteria`. Where a profile is named, its name or a `ProfileRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, family: str, name: str, config: Mapping[str, object] | None = None, *, description: str = ""
    ) -> ProfileRecord:
        """Make a profile of a family of evaluators; its name is new in the account."""
        body: JsonObject = {"evaluator_family": family, "name": name, "config": to_json_object(config or {})}
        return self._profile(self._transport.post(PATH, body | _description(description)))

    def revise(
        self, profile: str | ProfileRecord, config: Mapping[str, object], *, description: str = ""
    ) -> ProfileRecord:
        """Freeze new settings as the next revision; earlier results keep pointing at theirs."""
        body: JsonObject = {"config": to_json_object(config)}
        path = f"{PATH}/{self._public_id(profile)}/revision"
        return self._profile(self._transport.post(path, body | _description(description)))

    def list(
        self,
        *,
        family: str | None = None,
        evaluator: str | None = None,
        name: str | None = None,
        managed: bool | None = None,
        archived: bool = False,
        all_revisions: bool = False,
    ) -> Listing[ProfileRecord]:
        """Return the account's own and the managed profiles: each in its newest revision, or all revisions."""
        params = {
            "evaluator_family": family,
            "evaluator_id": evaluator,
            "name": name,
            "is_patronus_managed": _flag(managed),
            "enabled": _flag(not archived),
            "get_last_revision": _flag(not all_revisions),
        }
        pages = self._transport.pages_by_offset
        return Listing(lambda: map(ProfileRecord.read, pages(PATH, "evaluator_criteria", params)))

    def get(self, name: str) -> ProfileRecord:
        """Return the newest revision of a profile. KeyError where the account has none of that name."""
        profile = self.list(name=name).first()
        if profile is None:
            raise KeyError(f"The account has no profile {name!r}. `client.profiles.list()` has them all.")
        return profile

    def archive(self, profile: str | ProfileRecord) -> None:
        """Take a profile out of use; its name stays taken, and what points at its revisions stays."""
        self._transport.call("PATCH", f"{PATH}/{self._public_id(profile)}/archive")

    def _public_id(self, profile: str | ProfileRecord) -> str:
        return (profile if isinstance(profile, ProfileRecord) else self.get(profile)).public_id

    @staticmethod
    def _profile(answer: JsonObject) -> ProfileRecord:
        return ProfileRecord.read(answer["evaluator_criteria"])


def _description(text: str) -> JsonObject:
    return {"description": text} if text else {}


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()
