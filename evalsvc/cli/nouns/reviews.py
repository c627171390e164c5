"""`evalsvc reviews`: questions to people, how far they are, and what follows from their answers."""

from __future__ import annotations

import shlex
from itertools import islice
from typing import Any

import click

from evalsvc.cli.nouns.answers import link_line, review_line, review_lines
from evalsvc.cli.options import CommandError, client_options, drop_none, limit_options, read_key_values, report_options
from evalsvc.cli.places import find_review, resolve_experiment
from evalsvc.cli.report import Report
from evalsvc.client import Client

SECONDS_A_DAY = 86_400
CREATE_EPILOG = """Examples:

\b
evalsvc reviews create "Which is better?" --pairs nightly --answers 2
evalsvc reviews create "Last week" --evaluations app=support --criteria "is it right?" --sample random --n 50
"""
NO_ITEMS = (
    "What is reviewed? Pass one of --outputs EXPERIMENT, --pairs EXPERIMENT, --evaluations FIELD=VALUE and "
    "--spans FIELD=VALUE."
)


@click.group("reviews")
def reviews_group() -> None:
    """Ask people about outputs, pairs, evaluations and spans.

    `evalsvc export review` and `evalsvc import review` let another tool ask.
    """


@reviews_group.command("create", epilog=CREATE_EPILOG)
@click.argument("name")
@click.option("--outputs", metavar="EXPERIMENT", help="Ask about each output of it.")
@click.option("--pairs", metavar="EXPERIMENT", help="Ask which of two outputs is better.")
@click.option("--config", "configs", multiple=True, help="Of --outputs and --pairs: only these; by default all.")
@click.option("--evaluations", multiple=True, metavar="FIELD=VALUE", help="Ask about what was captured; all must hold.")
@click.option("--spans", multiple=True, metavar="FIELD=VALUE", help="Ask about spans; all must hold.")
@click.option("--criteria", multiple=True, help="Name or id of annotation criteria: what is asked. None for pairs.")
@click.option("--instructions", help="What reviewers should know.")
@click.option("--answers", "n_answers", type=click.IntRange(1), help="People for each item; else 1.")
@click.option("--sample", "method", type=click.Choice(["all", "random", "uncertain", "disagreeing"]),
              help="How items are drawn; by default all are taken.")  # fmt: skip
@click.option("--n", type=click.IntRange(1), help="So many items; with each --sample but all.")
@click.option("--metric", help="Of --sample uncertain: near the threshold by this one.")
@click.option("--threshold", type=float, help="Of --sample uncertain; else 0.5.")
@click.option("--seed", type=click.IntRange(0), help="Of draw, order and sides.")
@click.option("--show-scores", is_flag=True, help="Let reviewers see scores.")
@click.option("--show-answers", is_flag=True, help="Let reviewers see what others have said.")
@report_options
@client_options
def reviews_create(
    *, name: str, outputs: str | None, pairs: str | None, configs: tuple[str, ...], evaluations: tuple[str, ...],
    spans: tuple[str, ...], criteria: tuple[str, ...], method: str | None, n: int | None, metric: str | None,
    threshold: float | None, show_scores: bool, show_answers: bool, report: Report, client: Client, **options: Any,
) -> None:  # fmt: skip
    """Draw items and make a review NAME of them. What it asks, and which items it has, never change."""
    ways = drop_none(outputs=outputs, pairs=pairs, evaluations=evaluations or None, spans=spans or None)
    if len(ways) != 1:
        raise CommandError(NO_ITEMS)
    ((kind, selection),) = ways.items()
    items = (
        _build_experiment_items(client, selection, configs)
        if kind in ("outputs", "pairs")
        else _build_filters(kind, selection)
    )
    sample = drop_none(method=method, n=n, metric=metric, threshold=threshold)
    settings = drop_none(
        **options, sample=sample or None, show_scores=show_scores or None, show_answers=show_answers or None
    )
    review = client.reviews.create(name, {kind: items}, criteria, **settings)
    lines = [
        review_line(review),
        f"`evalsvc reviews link {review.id} NAME` makes a link for somebody without an account.",
    ]
    report.finish({"review": review.raw}, lines)


@reviews_group.command("list", epilog="Example: evalsvc reviews list --limit 5")
@limit_options
@report_options
@client_options
def reviews_list(limit: int | None, report: Report, client: Client) -> None:
    """List reviews, newest first, with how far each has come."""
    reviews = [*islice(client.reviews.list(), limit)]
    report.finish({"reviews": [review.raw for review in reviews]}, map(review_line, reviews))


@reviews_group.command("show", epilog='Example: evalsvc reviews show "Last week"')
@click.argument("review")
@report_options
@client_options
def reviews_show(review: str, report: Report, client: Client) -> None:
    """Print how far REVIEW is, by id or name, how far people agree, and what their answers say of the rest."""
    record = client.reviews.get(find_review(client, review))
    report.finish({"review": record.raw}, review_lines(record))


@reviews_group.command("link", epilog='Example: evalsvc reviews link "Last week" "Dana, support" --days 14')
@click.argument("review")
@click.argument("name")
@click.option("--days", default=7.0, show_default=True, type=click.FloatRange(0, 90, min_open=True), help="Until then.")
@report_options
@client_options
def reviews_link(review: str, name: str, days: float, report: Report, client: Client) -> None:
    """Make a link by which NAME, who needs no account, may answer REVIEW and nothing else.

    Its address is shown this once. Give each person a link of their own.
    """
    link = client.reviews.create_link(find_review(client, review), name, expires_in_seconds=round(days * SECONDS_A_DAY))
    report.say(
        f"For {link.name}, until {link.expires_at}; `evalsvc reviews revoke {shlex.quote(review)} {link.id}` ends it."
    )
    report.finish({"link": link.raw}, [str(link.url)])


@reviews_group.command("links", epilog='Example: evalsvc reviews links "Last week"')
@click.argument("review")
@report_options
@client_options
def reviews_links(review: str, report: Report, client: Client) -> None:
    """List the links of REVIEW, newest first; their addresses are never shown again."""
    links = client.reviews.links(find_review(client, review))
    report.finish({"links": [link.raw for link in links]}, map(link_line, links))


@reviews_group.command(
    "revoke", epilog='Example: evalsvc reviews revoke "Last week" 0b9d8e9c-2f6e-4a58-9d0c-6f3b0f1f2a10'
)
@click.argument("review")
@click.argument("link")
@report_options
@client_options
def reviews_revoke(review: str, link: str, report: Report, client: Client) -> None:
    """End LINK of REVIEW, by its id: its holder's next step is refused; what they have answered stays."""
    client.reviews.revoke_link(find_review(client, review), link)
    report.finish({"link_id": link, "revoked": True}, [f"Link {link} has ended."])


@reviews_group.command("close", epilog='Example: evalsvc reviews close "Last week"')
@click.argument("review")
@report_options
@client_options
def reviews_close(review: str, report: Report, client: Client) -> None:
    """Let nobody answer REVIEW any more, and end all its links; what was answered stays."""
    record = client.reviews.close(find_review(client, review))
    report.finish({"review": record.raw}, review_lines(record))


def _build_experiment_items(client: Client, text: str, configs: tuple[str, ...]) -> dict[str, object]:
    experiment = resolve_experiment(client.experiments_api, text)
    return {"experiment_id": experiment["id"], **({"configs": [*configs]} if configs else {})}


def _build_filters(kind: str, texts: tuple[str, ...]) -> dict[str, object]:
    values = read_key_values(texts, f"--{kind}")
    return {"filters": [{"field": name, "operation": "eq", "value": value} for name, value in values.items()]}
