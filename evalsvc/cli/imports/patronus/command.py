"""`evalsvc import patronus`: everything in its order, to be run again as often as needed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from evalsvc.cli.imports.patronus.judged import Evaluations
from evalsvc.cli.imports.patronus.labelled import Labels
from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.cli.imports.patronus.places import Places, import_places
from evalsvc.cli.imports.patronus.progress import Bookmark, bookmark_path, open_bookmark
from evalsvc.cli.imports.patronus.recount import count_both_sides, split_labels
from evalsvc.cli.imports.patronus.rowsets import import_datasets
from evalsvc.cli.imports.patronus.settings import import_annotation_criteria, import_criteria
from evalsvc.cli.imports.patronus.source import DEFAULT_PATIENCE_SECONDS, OldService
from evalsvc.cli.imports.patronus.windows import TimeRange, TooDense, read_complete_ranges
from evalsvc.cli.options import INCOMPLETE, TIME, CommandError, Incomplete, report_options, target_options
from evalsvc.cli.report import Report
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

DEFAULT_URL = "https://api.patronus.ai"
EARLIEST = "2023-01-01"


@click.command("patronus")
@click.option("--from", "old_url", default=DEFAULT_URL, show_default=True, help="Address of the service to read.")
@click.option("--from-key", "old_key", envvar="PATRONUS_API_KEY", show_envvar=True, help="Key of the account there.")
@click.option("--since", default=EARLIEST, show_default=True, type=TIME, help="Evaluations from then on.")
@click.option("--until", default=None, type=TIME, help="Evaluations before then; else until now.")
@click.option(
    "--state", "state", type=click.Path(path_type=Path, dir_okay=False), help="File that says how far it came."
)
@click.option("--again", is_flag=True, help="Look at everything again, not only at what is after the last run.")
@click.option("--no-recount", is_flag=True, help="Do not count both sides at the end.")
@click.option("--dry-run", is_flag=True, help="Read and count what would come; change nothing here.")
@click.option(
    "--patience", default=DEFAULT_PATIENCE_SECONDS, show_default=True, help="Seconds to wait for it when it is away."
)
@report_options
@target_options
def import_patronus(
    *, old_url: str, old_key: str | None, since: datetime, until: datetime | None, state: Path | None, again: bool,
    no_recount: bool, dry_run: bool, patience: float, report: Report, target: Transport,
) -> None:  # fmt: skip
    """Bring an account of Patronus along.

    Projects, experiments, criteria with their revisions, annotation criteria, datasets, then evaluations with the texts
    that were judged, and labels, oldest first. Ends by counting both sides. Run it again as often as you like: what is
    here already is not kept twice, and a run that was ended goes on where it stood.
    """
    if not old_key:
        raise CommandError("There is no key for the service to read: pass --from-key, or set PATRONUS_API_KEY.")
    all_of = TimeRange(since, until or datetime.now(UTC))
    if all_of.start >= all_of.end:
        raise CommandError("--since is not before --until: there is nothing between them.")
    source = Transport(old_url, old_key, retries=4)
    try:
        old = OldService(source, report, patience_seconds=patience)
        path = state or bookmark_path(old_url=old_url, url=target.base_url, old_key=old_key, key=target.key_id)
        outcome = _bring_all(
            old, target, all_of, open_bookmark(path), again=again, is_dry=dry_run, recount=not no_recount
        )
    finally:
        source.close()
    report.finish(outcome.as_json(), list(outcome.lines()))
    if not outcome.is_complete:
        raise SystemExit(INCOMPLETE)


def _bring_all(
    old: OldService,
    target: Transport,
    all_of: TimeRange,
    bookmark: Bookmark,
    *,
    again: bool,
    is_dry: bool,
    recount: bool,
) -> ImportOutcome:
    outcome = ImportOutcome()
    places = import_places(old, target, outcome, is_dry=is_dry)
    import_criteria(old, target, outcome, is_dry=is_dry)
    criteria = import_annotation_criteria(old, target, outcome, places, is_dry=is_dry)
    import_datasets(old, target, outcome, is_dry=is_dry)
    try:
        _bring_rows(
            old,
            target,
            outcome,
            places,
            criteria,
            _compute_remaining(all_of, bookmark, again=again),
            bookmark,
            is_dry=is_dry,
        )
        if recount and not is_dry:
            with old.report.progress("counted") as advance:
                outcome.differences = count_both_sides(old, target, all_of, criteria, advance)
            outcome.recounted = True
    except TooDense as exc:
        raise Incomplete(f"{exc} What came before is here.") from None
    return outcome


def _compute_remaining(all_of: TimeRange, bookmark: Bookmark, *, again: bool) -> TimeRange:
    done_until = bookmark.done_until
    return (
        all_of
        if again or done_until is None or not all_of.start < done_until < all_of.end
        else TimeRange(done_until, all_of.end)
    )


def _bring_rows(
    old: OldService, target: Transport, outcome: ImportOutcome, places: Places, criteria: dict[str, JsonObject],
    left: TimeRange, bookmark: Bookmark, *, is_dry: bool,
) -> None:  # fmt: skip
    """Bring evaluations and labels along, stretch after stretch; a stretch is done when both of it are here."""
    evaluations = Evaluations(old, target, outcome, places)
    labels = None if is_dry else Labels(target, outcome, criteria)
    with old.report.progress("evaluations and labels") as advance:
        for stretch, rows in read_complete_ranges(old.evaluations, left):
            evaluation_rows, label_rows = split_labels(rows)
            outcome.found["evaluations"] += len(evaluation_rows)
            outcome.found["labels"] += len(label_rows)
            if labels is not None:
                if evaluation_rows:
                    evaluations.bring(stretch, evaluation_rows)
                labels.import_rows(label_rows)
                bookmark.move(stretch.end)
            advance(len(rows))
