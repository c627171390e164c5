"""`evalsvc gate`: good enough to go out? Answered by the exit status."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from evalsvc.cli.deciding.decision import TROUBLE
from evalsvc.cli.deciding.gates_api import gate_page, name_side, request_gate
from evalsvc.cli.deciding.rule_texts import read_rules
from evalsvc.cli.looking.board import open_board
from evalsvc.cli.looking.commands import write_text
from evalsvc.cli.looking.follower import follow
from evalsvc.cli.options import CommandError, client_options, report_options
from evalsvc.cli.report import Report
from evalsvc.client.client import Client
from evalsvc.client.service.evaluators import build_evaluator_entry
from evalsvc.client.service.experiments_api import ExperimentsApi

Answer = TypeVar("Answer")
EPILOG = """Examples:

\b
evalsvc gate --candidate nightly:new --baseline nightly:old --rule "accuracy not_worse_by 0.02"
evalsvc gate --candidate nightly --rule "accuracy >= 0.8" --rule "latency_ms p95 <= 1200" --junit gate.xml
evalsvc gate --history exact-match --truth "right capital" --rule "truth >= 0.8"
"""


class TroubleCommand(click.Command):
    """A command with the exit statuses 0, 1 and 2 for its results; any other ending has status 3."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; what is wrong with them is trouble."""
        return _trouble(lambda: click.Command.make_context(self, *args, **kwargs))

    def invoke(self, ctx: click.Context) -> Any:
        """Run; an error of any kind is trouble, and never looks like a decision."""
        return _trouble(lambda: click.Command.invoke(self, ctx))


def _trouble(step: Callable[[], Answer]) -> Answer:
    try:
        return step()
    except click.ClickException as exc:
        exc.exit_code = TROUBLE
        raise
    except (click.exceptions.Exit, SystemExit):
        raise
    except BaseException as exc:
        click.echo("".join(traceback.format_exception(exc)), err=True)
        raise SystemExit(TROUBLE) from exc


@click.command("gate", cls=TroubleCommand, epilog=EPILOG)
@click.option("--candidate", metavar="EXPERIMENT[:CONFIG]", help="What may go out; by id or name.")
@click.option("--baseline", metavar="EXPERIMENT[:CONFIG]", help="What it is compared with, example by example.")
@click.option("--history", metavar="EVALUATOR[/PROFILE]", help="In place of a candidate: what has been captured.")
@click.option("--truth", metavar="CRITERIA",
              help='With a history: rules on "truth" are about what people would say by these criteria.')  # fmt: skip
@click.option(
    "--rule", "rule_texts", multiple=True, help="METRIC [p95] not_worse_by|better_by|at_least|at_most NUMBER."
)
@click.option("--rules", "rules_path", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="JSON file with a list of rules.")  # fmt: skip
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Of the intervals; else 0.95.")
@click.option("--covers", type=click.Choice(["new_data", "this_set"]), help="What the decision is about.")
@click.option("--looks", type=click.Choice(["one", "watched"]),
              help="watched: may be asked as often as you like while answers come in.")  # fmt: skip
@click.option("--cluster-by", metavar="metadata.KEY", help="What examples share: intervals are over clusters.")
@click.option("--benchmark", help="Many candidates are tried on these examples, and each spends of the same error.")
@click.option("--attempt", type=click.IntRange(min=1),
              help="Without a benchmark: which candidate this is, counted by you.")  # fmt: skip
@click.option("--min-share", type=click.FloatRange(0, 1, min_open=True),
              help="Of the examples of either, so many must be in both; else 0.8.")  # fmt: skip
@click.option("--name", help="Shown in lists and reports.")
@click.option("--markdown", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="For a pull request.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="For a build server.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="For people.")
@click.option("--no-wait", is_flag=True, help="Decide on what is there, also while the experiment still runs.")
@report_options
@client_options
def decide_gate(
    *, candidate: str | None, baseline: str | None, history: str | None, truth: str | None,
    rule_texts: tuple[str, ...], rules_path: Path | None,
    level: float | None, covers: str | None, looks: str | None, benchmark: str | None,
    cluster_by: str | None, attempt: int | None, min_share: float | None,
    name: str | None, markdown: Path | None, junit: Path | None, html: Path | None, no_wait: bool, report: Report,
    client: Client,
) -> None:  # fmt: skip
    """Decide about a candidate, against a baseline or a limit.

    Ends with 0 when every rule is shown to hold (pass), with 1 when the opposite of one is shown (fail), with 2 when
    these examples cannot tell (undecided), and with 3 in trouble: nothing was decided. Waits for experiments that run.
    """
    rules = read_rules(rule_texts, rules_path)
    if not rules:
        raise CommandError('A gate needs a rule: pass --rule "accuracy not_worse_by 0.02", or --rules FILE.')
    if (candidate is None) == (history is None):
        raise CommandError("A gate decides about a --candidate EXPERIMENT[:CONFIG], or about a --history EVALUATOR.")
    if truth and history is None:
        raise CommandError("--truth goes with a --history EVALUATOR.")
    api = client.experiments_api
    texts = {"candidate": candidate, "baseline": baseline}
    sides = {word: name_side(api, text) for word, text in texts.items() if text}
    if not no_wait and looks != "watched":
        _wait_for(api, [side["experiment_id"] for side in sides.values()], report)
    named = {"truth": truth} if truth else {}
    subject = {**sides, **({"history": {**build_evaluator_entry(history), **named}} if history else {})}
    decision = request_gate(
        api, rules, subject, level=level, covers=covers, looks=looks, cluster_by=cluster_by, benchmark=benchmark,
        attempt=attempt, min_share=min_share, name=name,
    )  # fmt: skip
    for path, kind in ((markdown, "md"), (junit, "junit"), (html, "html")):
        if path is not None:
            write_text(path, gate_page(api, decision.id, kind))
    report.finish(decision.raw, decision.lines())
    raise SystemExit(decision.exit_status)


def _wait_for(api: ExperimentsApi, ids: list[str], report: Report) -> None:
    for id in dict.fromkeys(ids):
        with open_board(api.experiment(id)["plan"], quiet=report.quiet or report.as_json) as show:
            follow(api, id, show)
