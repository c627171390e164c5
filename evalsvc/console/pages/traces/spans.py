"""A span of a trace as an example of a dataset."""

from __future__ import annotations

from django.utils.html import format_html

from evalsvc.accounts.models import Account
from evalsvc.console.parts.addresses import page_address
from evalsvc.datasets.models import DatasetVersion
from evalsvc.rules.examples import SpanAdditions, add_span
from evalsvc.telemetry.selectors import get_span


def add_trace_span(
    *, account: Account, trace_id: str, span_id: str, name: str, actor: str
) -> tuple[DatasetVersion, SpanAdditions]:
    """Add a span to the dataset of this name, or to a new one. Raises as the API does."""
    span = get_span(account=account, trace_id=trace_id, span_id=span_id)
    return add_span(account=account, dataset=name, span=span, actor=actor)


def format_span_addition(version: DatasetVersion, additions: SpanAdditions) -> str:
    """Return what became of the span, in a sentence with a link to the dataset."""
    link = format_html('<a href="{}">{}</a>', page_address("console_dataset", version.dataset_id), version.dataset.name)
    if additions.records:
        return format_html("Added to {}: version {} has {} examples.", link, version.number, version.n_examples)
    if additions.left_out:
        return format_html("Not added to {}: {}", link, additions.left_out[0].detail)
    return format_html("{} already contains this span, in version {}.", link, version.number)
