"""`client.reviews`: questions to people about outputs, pairs, evaluations and spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsvc.client.resources.annotations import build_value
from evalsvc.client.results.files import write_pieces
from evalsvc.client.service.transport import Transport, add_params
from evalsvc.client.showing.charts import DrawnInterval, Plottable, render_table
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import JsonObject, to_json_object
from evalsvc.digits import estimate_texts

PATH = "/v1/reviews"
ITEMS_A_PAGE = 200
FORMATS = ("jsonl", "csv")


@dataclass(frozen=True, kw_only=True)
class ReviewRecord(ServiceObject, Plottable):
    """A review and its progress; `agreement` and `estimates` are set when a single review is requested."""

    id: str
    name: str
    kind: str
    state: str
    n_items: int = 0
    n_answered: int = 0
    n_partial: int = 0
    n_pending: int = 0
    n_reviewers: int = 0
    non_response: float | None = None
    created_at: str = ""
    closed_at: str | None = None
    agreement: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    estimates: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    def cells(self) -> dict[str, object]:
        """Return what a list of reviews shows."""
        return {name: value for name, value in super().cells().items() if name not in ("agreement", "estimates")}

    def spans(self) -> list[DrawnInterval]:
        """Return the intervals to plot: the estimates from the answers."""
        return [_estimate(estimate) for estimate in self.estimates]

    def _repr_html_(self) -> str:
        """Draw it in a notebook: how far it is, what was answered, and how far people agree."""
        caption = f"{self.name}: {self.state}, {self.n_answered} of {self.n_items} answered, {self.n_pending} pending"
        rows = [
            (span, str(estimate["reason"] or "")) for span, estimate in zip(self.spans(), self.estimates, strict=True)
        ]
        table = render_table(("answers", "why none"), rows, caption=caption)
        agreed = [
            (_alpha(agreement), str(agreement["krippendorff_alpha"]["reason"] or "")) for agreement in self.agreement
        ]
        return table + (render_table(("agreement", "why none"), agreed) if agreed else "")


def _estimate(body: Mapping[str, Any]) -> DrawnInterval:
    ends = body["new_data"] or {}
    name = body["name"] if body["answer"] is None else f"{body['name']}: {body['answer']}"
    return _build_interval(name, body["estimate"], ends, body["n"])


def _alpha(body: Mapping[str, Any]) -> DrawnInterval:
    alpha = body["krippendorff_alpha"]
    return _build_interval(f"{body['name']}: Krippendorff's alpha", alpha["value"], alpha, alpha["n_items"])


def _build_interval(name: str, value: float | None, ends: Mapping[str, Any], n: int) -> DrawnInterval:
    lower, upper = ends.get("lower"), ends.get("upper")
    text = f"{name} {' '.join(estimate_texts(value, lower, upper)).rstrip()}, n = {n}"
    return DrawnInterval(name, value, lower, upper, text, scale=name)


@dataclass(frozen=True, kw_only=True)
class ReviewItemRecord(ServiceObject):
    """An item with all its answers, and the probability with which it was sampled."""

    id: str
    position: int
    status: str
    probability: float = 1.0
    output_id: str | None = None
    other_output_id: str | None = None
    evaluation_id: str | None = None
    span_id: str | None = None
    answers: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class LeaseRecord(ServiceObject):
    """An item leased to a reviewer: its content, and the token that its answer requires."""

    item_id: str
    lease_token: str
    kind: str
    lease_expires_at: str = ""
    input: str | None = None
    expected: str | None = None
    contexts: Sequence[str] = ()
    outputs: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class LinkRecord(ServiceObject):
    """A link for a reviewer outside the account. The `url` opens the review: hand it to one person."""

    id: str
    name: str
    expires_at: str
    url: str | None = field(default=None, repr=False)
    revoked_at: str | None = None

    def cells(self) -> dict[str, object]:
        """Return what a table shows, which is not the address."""
        return {name: value for name, value in super().cells().items() if name != "url"}


class ReviewsApi:
    """Calls of `/v1/reviews`. Where a review is named, its id or a `ReviewRecord` will do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, name: str, items: Mapping[str, object], criteria: Sequence[object] = (), **options: object
    ) -> ReviewRecord:
        """Draw items and make a review of them.

        `items` are `{"outputs": {"experiment_id": …}}`, `{"pairs": …}`, `{"evaluations": {"filters": […]}}` or
        `{"spans": …}`; `criteria` are ids, names or records, none for pairs. `options` are `n_answers`, `sample`,
        `seed`, `instructions` and the others of the API.
        """
        criteria_ids = [get_id(criterion) for criterion in criteria]
        body: JsonObject = {"name": name, "items": to_json_object(items)}
        body |= {"criteria": [*criteria_ids]} if criteria_ids else {}
        return ReviewRecord.read(self._transport.post(PATH, body | to_json_object(options))["review"])

    def list(self) -> Listing[ReviewRecord]:
        """Return reviews, newest first, with how far each has come."""
        pages, params = self._transport.pages, {"limit": ITEMS_A_PAGE}
        return Listing(lambda: map(ReviewRecord.read, pages(PATH, "reviews", params)))

    def get(self, review: str | ReviewRecord) -> ReviewRecord:
        """Return a review with the agreement between reviewers, and the estimates from their answers."""
        return ReviewRecord.read(self._transport.get(f"{PATH}/{get_id(review)}")["review"])

    def close(self, review: str | ReviewRecord) -> ReviewRecord:
        """Close a review to further answers; existing answers are retained."""
        self._transport.post(f"{PATH}/{get_id(review)}/close")
        return self.get(review)

    def delete(self, review: str | ReviewRecord) -> None:
        """Delete a review; the labels that it made stay, as they are scores."""
        self._transport.call("DELETE", f"{PATH}/{get_id(review)}")

    def items(self, review: str | ReviewRecord, status: str | None = None) -> Listing[ReviewItemRecord]:
        """Return the items in their order: all, or those that are `pending`, `partial` or `complete`."""
        path, params = f"{PATH}/{get_id(review)}/items", {"status": status, "limit": ITEMS_A_PAGE}
        return Listing(lambda: map(ReviewItemRecord.read, self._transport.pages(path, "items", params)))

    def lease(
        self, review: str | ReviewRecord, *, reviewer: str | None = None, seconds: int | None = None
    ) -> LeaseRecord | None:
        """Lease the next item to a reviewer, exclusively until the lease expires.

        Return None if no items remain for the reviewer.
        """
        body = {name: value for name, value in (("reviewer", reviewer), ("seconds", seconds)) if value is not None}
        lease_body = self._transport.post(f"{PATH}/{get_id(review)}/lease", body)["lease"]
        return None if lease_body is None else LeaseRecord.read(lease_body)

    def answer(
        self,
        review: str | ReviewRecord,
        lease: LeaseRecord,
        answers: Mapping[str, bool | float | str] | None = None,
        *,
        choice: str | None = None,
        explanation: str | None = None,
        revise: bool = False,
    ) -> None:
        """Store a person's answer to a leased item: a value for each question, or a `choice` for a pair.

        `answers` is keyed by criteria ID; a choice is `first`, `second` or `tie`, in the displayed order.
        """
        body: JsonObject = {"lease_token": lease.lease_token}
        body |= (
            {"answers": [{"criteria": name, **build_value(value)} for name, value in answers.items()]}
            if answers
            else {}
        )
        options = {"choice": choice, "explanation": explanation, "revise": revise or None}
        body |= {name: value for name, value in options.items() if value is not None}
        self._transport.post(f"{PATH}/{get_id(review)}/items/{lease.item_id}/answers", body)

    def skip(self, review: str | ReviewRecord, lease: LeaseRecord) -> None:
        """Pass an item over; it waits for others."""
        body = {"lease_token": lease.lease_token}
        self._transport.post(f"{PATH}/{get_id(review)}/items/{lease.item_id}/skip", body)

    def create_link(self, review: str | ReviewRecord, name: str, *, expires_in_seconds: int = 7 * 86400) -> LinkRecord:
        """Create a link by which an external reviewer can answer only this review; its `url` is displayed only once."""
        body = {"name": name, "expires_in_seconds": expires_in_seconds}
        return LinkRecord.read(self._transport.post(f"{PATH}/{get_id(review)}/links", body)["link"])

    def links(self, review: str | ReviewRecord) -> Sequence[LinkRecord]:
        """Return the links of a review, newest first, without their addresses."""
        answer: Any = self._transport.get(f"{PATH}/{get_id(review)}/links")
        return [LinkRecord.read(link) for link in answer["links"]]

    def revoke_link(self, review: str | ReviewRecord, link: str | LinkRecord) -> None:
        """End a link; what its holder has answered stays."""
        self._transport.call("DELETE", f"{PATH}/{get_id(review)}/links/{get_id(link)}")

    def export(self, review: str | ReviewRecord, path: str | Path) -> Path:
        """Write the items with their texts and answers to a `.jsonl` or `.csv` file; return its path."""
        target = Path(path)
        address = add_params(f"{PATH}/{get_id(review)}/export", {"format": _get_format(target)})
        return write_pieces(target, self._transport.download(address))

    def import_answers(self, review: str | ReviewRecord, path: str | Path) -> JsonObject:
        """Store answers collected elsewhere, from a file with the columns of an export: all of them, or none.

        Return `n_kept`, `n_repeated` and `n_empty`; importing the same file again stores nothing twice.
        """
        source = Path(path)
        body = {"format": _get_format(source), "text": source.read_text(encoding="utf-8")}
        return self._transport.post(f"{PATH}/{get_id(review)}/import", body)


def _get_format(path: Path) -> str:
    if (format := path.suffix[1:].lower()) not in FORMATS:
        raise ValueError(f"Reviews are kept in .jsonl or .csv files, not in '{path.suffix}'.")
    return format
