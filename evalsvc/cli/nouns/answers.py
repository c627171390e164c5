"""Text output of reviews: progress, answers, estimates and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.client.resources.reviews import LinkRecord, ReviewRecord
from evalsvc.digits import estimate_texts, level_text, percent_text

MOST_ITEMS = 5


def review_line(one: ReviewRecord) -> str:
    """Return which review it is, and how far it has come."""
    counts = {"partly answered": one.n_partial, "pending": one.n_pending}
    details = "".join(f", {n} {word}" for word, n in counts.items() if n)
    state = "closed" if one.closed_at else one.state
    return f"{one.name}: {state}, {one.n_answered} of {one.n_items} answered{details}; review {one.id}"


def review_lines(found: ReviewRecord) -> Iterator[str]:
    """Yield the progress of a review, the estimates from its answers, and the agreement between reviewers."""
    yield review_line(found)
    raw = found.raw
    people = "1 reviewer" if found.n_reviewers == 1 else f"{found.n_reviewers} reviewers"
    yield (
        f"{people}, {raw['n_answers_given']} answers given, {raw['n_skipped']} skipped; {_format_sample(raw['sample'])}"
    )
    for estimate in found.estimates:
        yield f"  {_estimate_line(estimate)}"
    for agreement in found.agreement:
        yield from _agreement_lines(agreement)


def link_line(link: LinkRecord) -> str:
    """Return whom a link is for, and until when."""
    ended = f", ended {link.revoked_at}" if link.revoked_at else ""
    return f"{link.id}  {link.name}, until {link.expires_at}{ended}"


def _format_sample(sample: Mapping[str, Any]) -> str:
    return f"items: {sample['method']}, {sample['n']} of {sample['n_frame']}"


def _estimate_line(one: Mapping[str, Any]) -> str:
    name = one["name"] if one["answer"] is None else f"{one['name']}: {one['answer']}"
    if one["estimate"] is None:
        return f"{name} ? ({one['reason']}), n = {one['n']}"
    new_data, this_set = one["new_data"], one["this_set"]
    new_lower, new_upper = (new_data["lower"], new_data["upper"]) if new_data else (None, None)
    estimate, ends = estimate_texts(one["estimate"], new_lower, new_upper)
    text = f"{name} {estimate}" + (f" {ends} at {level_text(one['level'])} new data" if new_data else "")
    if this_set:
        text += f" (this set {estimate_texts(one['estimate'], this_set['lower'], this_set['upper'])[1]})"
    return f"{text}, n = {one['n']}{_reason(one['reason'])}"


def _agreement_lines(one: Mapping[str, Any]) -> Iterator[str]:
    share = one["agreeing_share"]
    pairs_text = "" if share is None else f"; {percent_text(share)} of pairs of answers are equal"
    yield f"  agreement about {one['name']}: {_figure('alpha', one['krippendorff_alpha'], one['level'])}{pairs_text}"
    for name, title in (("cohen_kappa", "Cohen's kappa"), ("fleiss_kappa", "Fleiss' kappa")):
        if one[name]["value"] is not None:
            yield f"    {_figure(title, one[name], one['level'])}"
    if items := one["disagreements"]:
        item_ids = ", ".join(item["item_id"] for item in items[:MOST_ITEMS])
        yield f"    people differ about {len(items)} items, most about: {item_ids}"


def _figure(title: str, figure: Mapping[str, Any], level: float) -> str:
    if figure["value"] is None:
        return f"{title} ?{_reason(figure['reason'])}"
    value, ends = estimate_texts(figure["value"], figure["lower"], figure["upper"])
    at = f" {ends} at {level_text(level)}" if ends else ""
    return f"{title} {value}{at}, {figure['n_items']} items{_reason(figure['reason'])}"


def _reason(reason: str | None) -> str:
    return f" ({reason.replace('_', ' ')})" if reason else ""
