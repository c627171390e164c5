"""`evalsvc comparisons`: which outputs are better, pair by pair, and the ranking that follows."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from evalsvc.cli.nouns.rankings import comparison_line, follow_ranking, ranking_lines
from evalsvc.cli.options import INCOMPLETE, CommandError, client_options, drop_none, limit_options, report_options
from evalsvc.cli.places import find_review, resolve_experiment, resolve_id
from evalsvc.cli.report import Report
from evalsvc.client import Client
from evalsvc.client.service.evaluators import build_evaluator_entry

CREATE_EPILOG = """Examples:

\b
evalsvc comparisons create nightly --metric accuracy
evalsvc comparisons create nightly --connection judge --criteria "The better answer is shorter." --design active
evalsvc comparisons create nightly --metric accuracy --previous 123456
"""
NO_JUDGE = (
    "Who judges? Pass one of --metric NAME (scores that are there), --evaluator NAME, --connection NAME with "
    "--criteria TEXT (an LLM that sees both outputs), and --review REVIEW (people)."
)


@click.group("comparisons")
def comparisons_group() -> None:
    """Rank configs by which of two outputs is better."""


@comparisons_group.command("create", epilog=CREATE_EPILOG)
@click.argument("experiment")
@click.option("--metric", help="Judge by scores that the experiment has: the higher one wins.")
@click.option("-e", "--evaluator", metavar="EVALUATOR[/PROFILE]", help="Judge by the scores of this evaluator.")
@click.option("--connection", help="Judge by an LLM, which sees both outputs in both orders; needs --criteria.")
@click.option("--criteria", metavar="TEXT", help="What is better, in your words.")
@click.option("--model", help="Of the connection; by default its own.")
@click.option("--review", metavar="REVIEW", help="Judge by people: a review of pairs of this experiment.")
@click.option("--tie-width", type=click.FloatRange(0), help="Scores no further apart are a tie; else equal ones are.")
@click.option("--config", "configs", multiple=True, help="Only these configs; by default all.")
@click.option("--design", type=click.Choice(["all", "baseline", "active"]), help="Which pairs; by default all.")
@click.option("--baseline", metavar="CONFIG", help="Compare each config with this one; means --design baseline.")
@click.option("--budget", type=click.IntRange(1), help="Judgements at most.")
@click.option("--half-width", type=click.FloatRange(0, min_open=True), help="active: stop at so narrow differences.")
@click.option("--previous", metavar="COMPARISON", help="Take over what this one has judged of unchanged outputs.")
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Of the intervals; else 0.95.")
@click.option("--seed", type=click.IntRange(0), help="Of the order of pairs, and of the resamples.")
@click.option("--name", help="By default the experiment's.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the judgements.")
@report_options
@client_options
def comparisons_create(
    *, experiment: str, metric: str | None, evaluator: str | None, connection: str | None, criteria: str | None,
    model: str | None, review: str | None, tie_width: float | None, configs: tuple[str, ...], design: str | None,
    baseline: str | None, previous: str | None, no_wait: bool, report: Report, client: Client, **options: Any,
) -> None:  # fmt: skip
    """Compare the outputs of EXPERIMENT, by id or name, in pairs, wait, and print the ranking with its intervals.

    Ends with 0 when all is judged, with 1 when it was stopped before, with 2 when nothing was made. Ctrl-C ends the
    waiting, not the judging. People take their time: with --review, nothing is waited for.
    """
    ways = drop_none(metric=metric, evaluator=evaluator, connection=connection, review=review)
    if len(ways) != 1:
        raise CommandError(NO_JUDGE)
    judge: dict[str, object] = drop_none(metric=metric, connection=connection, criteria=criteria, model=model)
    judge |= drop_none(tie_width=tie_width) | (build_evaluator_entry(evaluator) if evaluator else {})
    judge |= {"review_id": find_review(client, review)} if review else {}
    experiment_body = resolve_experiment(client.experiments_api, experiment)
    settings = drop_none(**options, baseline=baseline, design="baseline" if baseline and not design else design)
    earlier = _find(client, previous) if previous else None
    comparison = client.comparisons.create(experiment_body["id"], judge, configs=configs, previous=earlier, **settings)
    report.say(
        f"Comparison {comparison.id}: {comparison.name}. `evalsvc comparisons show {comparison.id}` shows it elsewhere."
    )
    _show(client, comparison.id, report, is_followed=not (no_wait or review))


@comparisons_group.command("list", epilog="Example: evalsvc comparisons list --experiment nightly")
@click.option("--experiment", help="Only those of this experiment, by id or name.")
@limit_options
@report_options
@client_options
def comparisons_list(experiment: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List comparisons, newest first, with how far each has come."""
    of = resolve_experiment(client.experiments_api, experiment)["id"] if experiment else None
    comparisons = [*islice(client.comparisons.list(experiment_id=of), limit)]
    report.finish({"comparisons": [comparison.raw for comparison in comparisons]}, map(comparison_line, comparisons))


@comparisons_group.command("show", epilog="Example: evalsvc comparisons show nightly --pairs")
@click.argument("comparison")
@click.option("--pairs", is_flag=True, help="Tell of each two configs which is better, too.")
@click.option("--elo", is_flag=True, help="Elo ratings too; their noise is that of the order alone.")
@click.option("--wait", is_flag=True, help="Wait until all is judged.")
@report_options
@client_options
def comparisons_show(comparison: str, pairs: bool, elo: bool, wait: bool, report: Report, client: Client) -> None:
    """Print the ranking of COMPARISON, by id or name (the newest of it): of all judgements, or of those so far."""
    id = _find(client, comparison)
    _show(client, id, report, is_followed=wait, with_pairs=pairs, with_elo=elo)


@comparisons_group.command("stop", epilog="Example: evalsvc comparisons stop nightly")
@click.argument("comparison")
@report_options
@client_options
def comparisons_stop(comparison: str, report: Report, client: Client) -> None:
    """Judge no more of COMPARISON, by id or name; what is judged stays, and is ranked."""
    record = client.comparisons.stop(_find(client, comparison))
    report.finish({"comparison": record.raw}, [comparison_line(record)])


def _find(client: Client, text: str) -> str:
    remedy = "`evalsvc comparisons list` shows those that there are."
    return resolve_id(client.comparisons.list(), text, noun="comparison", remedy=remedy)


def _show(
    client: Client, id: str, report: Report, *, is_followed: bool, with_pairs: bool = False, with_elo: bool = False
) -> None:
    ranking = follow_ranking(client, id, report) if is_followed else None
    if ranking is None or with_elo:
        ranking = client.comparisons.get(id, elo=with_elo)
    report.finish(ranking.raw, ranking_lines(ranking, with_pairs=with_pairs))
    if is_followed and ranking.comparison.state != "finished":
        raise SystemExit(INCOMPLETE)
