"""`evalsvc rules`: score live spans, or evaluations again, and see what was scored."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

import click

from evalsvc.cli.options import (
    TIME,
    Command,
    CommandError,
    client_options,
    drop_none,
    limit_options,
    read_key_values,
    report_options,
)
from evalsvc.cli.places import console_address, resolve_id
from evalsvc.cli.report import Report, shorten
from evalsvc.client import Client
from evalsvc.client.resources.rules import BackfillRecord, RuleSpanRecord, ScoringRuleRecord
from evalsvc.client.service.evaluators import evaluator_label
from evalsvc.digits import digits_text, percent_text

MOST_BACKFILLS = 10
ATTRIBUTE, TAG = "attributes.", "tags."
REASONS = ("over_cap", "budget", "no_output", "unreadable", "invalid")
CREATE_EPILOG = """Examples:

\b
evalsvc rules create addresses -e pii --filter kind=llm --filter service_name=shop
evalsvc rules create tone -e judge/polite --rate 0.1 --by session --cap-per-hour 500
evalsvc rules create errors -e pii --rate 0.05 --stratum status=error:1
evalsvc rules create second -e judge/polite --source evaluations --filter verdict=fail
"""
DATASET_EPILOG = """Examples:

\b
evalsvc rules dataset support --filter kind=llm --filter service_name=shop --rate 0.1
evalsvc rules dataset support --rule addresses --since 2026-11-01T00:00Z --limit 500
"""


def span_options(command: Command) -> Command:
    """Add the options for which spans match and what is read of them, and pass those that were given as `parts`."""

    @click.option("--filter", "conditions", multiple=True, metavar="FIELD=VALUE",
                  help="Which spans, such as kind=llm or attributes.tier=gold; of evaluations, verdict=fail or"
                  " tags.lang=de. All fields must hold; of a field that is repeated, one value.")  # fmt: skip
    @click.option("--map", "mapped", multiple=True, metavar="FIELD=POINTER",
                  help="Where a field is, such as input=/attributes/question.")  # fmt: skip
    @functools.wraps(command)
    def wrapper(*args: Any, conditions: tuple[str, ...], mapped: tuple[str, ...], **kwargs: Any) -> Any:
        parts = drop_none(filter=_build_filter(conditions) or None, mapping=read_key_values(mapped, "--map") or None)
        return command(*args, parts=parts, **kwargs)

    return wrapper  # type: ignore[return-value]  # functools.wraps keeps the name, not the type


def part_options(command: Command) -> Command:
    """Add the options for what a rule sends to its evaluators, and pass those that were given as `parts`."""

    @click.option("-e", "--evaluator", "evaluators", multiple=True, metavar="EVALUATOR[/PROFILE]", help="What scores.")
    @span_options
    @functools.wraps(command)
    def wrapper(*args: Any, evaluators: tuple[str, ...], parts: dict[str, Any], **kwargs: Any) -> Any:
        return command(*args, parts=drop_none(evaluators=evaluators or None) | parts, **kwargs)

    return wrapper  # type: ignore[return-value]  # as above


def draw_options(command: Command) -> Command:
    """Add the options for which share is drawn, and pass those that were given as `sampling`."""

    @click.option("--rate", type=click.FloatRange(0, 1, min_open=True), help="Share of the traces that are drawn.")
    @click.option("--by", type=click.Choice(["trace", "session"]), help="What is drawn; by default traces.")
    @click.option("--stratum", "strata", multiple=True, metavar="FIELD=VALUE[,...]:RATE",
                  help="Another rate for some spans, such as status=error:1; the first that fits counts.")  # fmt: skip
    @functools.wraps(command)
    def wrapper(*args: Any, rate: float | None, by: str | None, strata: tuple[str, ...], **kwargs: Any) -> Any:
        sampling = drop_none(rate=rate, by=by, strata=[*map(_build_stratum, strata)] or None)
        return command(*args, sampling=sampling, **kwargs)

    return wrapper  # type: ignore[return-value]  # as above


def score_options(command: Command) -> Command:
    """Add the options for how many spans are scored and how their scores are kept, and pass them as `settings`."""

    @draw_options
    @click.option("--cap-per-hour", type=click.IntRange(1), help="Spans in an hour at most.")
    @click.option("--budget-per-day", type=click.FloatRange(0, min_open=True), help="Money for its judges a day.")
    @click.option("--app", help="App of the scores; by default the span's own.")
    @click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Tag of the scores.")
    @functools.wraps(command)
    def wrapper(*args: Any, sampling: dict[str, Any], tags: tuple[str, ...], **kwargs: Any) -> Any:
        settings = drop_none(
            sampling=sampling or None,
            cap_per_hour=kwargs.pop("cap_per_hour"),
            budget_per_day=kwargs.pop("budget_per_day"),
            app=kwargs.pop("app"),
            tags=read_key_values(tags, "--tag") or None,
        )
        return command(*args, settings=settings, **kwargs)

    return wrapper  # type: ignore[return-value]  # as above


source_option = click.option(
    "--source", type=click.Choice(["spans", "evaluations"]), help="What is scored; by default spans."
)


@click.group("rules")
def rules_group() -> None:
    """Score live spans, or evaluations again, without a change of the application."""


@rules_group.command("list", epilog="Example: evalsvc rules list --limit 5")
@limit_options
@report_options
@client_options
def rules_list(limit: int | None, report: Report, client: Client) -> None:
    """List rules, newest first, with what each has scored and dropped."""
    rules = [*islice(client.rules.list(), limit)]
    report.finish({"rules": [rule.raw for rule in rules]}, map(rule_line, rules))


@rules_group.command("show", epilog="Example: evalsvc rules show addresses")
@click.argument("rule")
@report_options
@client_options
def rules_show(rule: str, report: Report, client: Client) -> None:
    """Print RULE, by id or name: what it scores, what it has scored and dropped, and its newest backfills."""
    record = client.rules.get(_find(client, rule))
    backfills = [*islice(client.rules.backfills(record), MOST_BACKFILLS)]
    facts = {"rule": record.raw, "backfills": [backfill.raw for backfill in backfills]}
    report.finish(facts, [*rule_lines(record), *map(backfill_line, backfills)])


@rules_group.command("create", epilog=CREATE_EPILOG)
@click.argument("name")
@source_option
@part_options
@score_options
@click.option("--paused", is_flag=True, help="Score nothing until it is resumed.")
@report_options
@client_options
def rules_create(
    *, name: str, source: str | None, parts: dict[str, Any], settings: dict[str, Any], paused: bool, report: Report,
    client: Client,
) -> None:  # fmt: skip
    """Create a rule NAME, which scores what arrives from now on and matches, each once."""
    if "evaluators" not in parts:
        raise CommandError("What scores? Pass -e EVALUATOR, or several.")
    options = drop_none(source=source, state="paused" if paused else None)
    record = client.rules.create(name, **parts, **settings, **options)
    report.finish({"rule": record.raw}, rule_lines(record))


@rules_group.command("update", epilog="Example: evalsvc rules update addresses --rate 0.5 --no-cap")
@click.argument("rule")
@click.option("--name", help="Another name.")
@part_options
@score_options
@click.option("--no-cap", is_flag=True, help="End the cap per hour.")
@click.option("--no-budget", is_flag=True, help="End the budget per day.")
@report_options
@client_options
def rules_update(
    *, rule: str, name: str | None, parts: dict[str, Any], settings: dict[str, Any], no_cap: bool, no_budget: bool,
    report: Report, client: Client,
) -> None:  # fmt: skip
    """Change RULE, by id or name. What is given replaces what it has, such as all of its filter; the rest stays."""
    if no_cap and "cap_per_hour" in settings:
        raise CommandError("Pass --cap-per-hour, or --no-cap.")
    if no_budget and "budget_per_day" in settings:
        raise CommandError("Pass --budget-per-day, or --no-budget.")
    settings |= {"cap_per_hour": None} if no_cap else {}
    settings |= {"budget_per_day": None} if no_budget else {}
    id = _find(client, rule)
    if "sampling" in settings:
        settings["sampling"] = {**client.rules.get(id).sampling, **settings["sampling"]}
    record = client.rules.update(id, **parts, **settings, **drop_none(name=name))
    report.finish({"rule": record.raw}, rule_lines(record))


@rules_group.command("pause", epilog="Example: evalsvc rules pause addresses")
@click.argument("rule")
@report_options
@client_options
def rules_pause(rule: str, report: Report, client: Client) -> None:
    """Pause RULE, by id or name; its backfills go on."""
    _set_state(client, rule, "paused", report)


@rules_group.command("resume", epilog="Example: evalsvc rules resume addresses")
@click.argument("rule")
@report_options
@client_options
def rules_resume(rule: str, report: Report, client: Client) -> None:
    """Resume RULE, by id or name, with what arrives from now on."""
    _set_state(client, rule, "active", report)


@rules_group.command("delete", epilog="Example: evalsvc rules delete addresses")
@click.argument("rule")
@report_options
@client_options
def rules_delete(rule: str, report: Report, client: Client) -> None:
    """Delete RULE, by id or name, with the list of what it has drawn; its scores stay."""
    id = _find(client, rule)
    client.rules.delete(id)
    report.finish({"rule_id": id, "deleted": True}, [f"Rule {id} is deleted; its scores stay."])


@rules_group.command("preview", epilog="Example: evalsvc rules preview --filter kind=llm -e pii")
@source_option
@part_options
@report_options
@client_options
def rules_preview(source: str | None, parts: dict[str, Any], report: Report, client: Client) -> None:
    """Print the newest ten spans or evaluations that match, with what evaluators would read. Nothing is stored."""
    preview = client.rules.preview(**parts, source=source)
    lines = [*map(_preview_line, preview.spans)] or [f"Nothing matches; {preview.n_read} were read."]
    report.finish(preview.raw, lines)


@rules_group.command(
    "backfill", epilog="Example: evalsvc rules backfill addresses --since 2026-11-01T00:00Z --until 2026-11-08T00:00Z"
)
@click.argument("rule")
@click.option("--since", required=True, type=TIME, help="Spans that began, or evaluations that ended, then or later.")
@click.option("--until", required=True, type=TIME, help="Those of before.")
@report_options
@client_options
def rules_backfill(rule: str, since: datetime, until: datetime, report: Report, client: Client) -> None:
    """Score what is stored by RULE, by id or name, each once; `evalsvc rules show` says how far it has come."""
    backfill = client.rules.backfill(_find(client, rule), since, until)
    report.finish({"backfill": backfill.raw}, [backfill_line(backfill)])


@rules_group.command("spans", epilog="Example: evalsvc rules spans addresses --reason over_cap")
@click.argument("rule")
@click.option("--reason", type=click.Choice(REASONS), help="Only those that were dropped for this.")
@limit_options
@report_options
@client_options
def rules_spans(rule: str, reason: str | None, limit: int | None, report: Report, client: Client) -> None:
    """List what RULE, by id or name, has drawn, newest first: scored, or dropped with the reason."""
    spans = [*islice(client.rules.spans(_find(client, rule), reason), limit)]
    report.finish({"spans": [span.raw for span in spans]}, map(_span_line, spans))


@rules_group.command("dataset", epilog=DATASET_EPILOG)
@click.argument("dataset", metavar="NAME")
@click.option("--rule", help="Take filter and mapping of this rule, by id or name.")
@span_options
@draw_options
@click.option("--since", type=TIME, help="Spans that began then or later.")
@click.option("--until", type=TIME, help="Spans that began before.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 500), help="So many, the newest.")
@click.option("--cursor", help="Go on with older spans, with the cursor of the run before.")
@report_options
@client_options
def rules_dataset(
    *, dataset: str, rule: str | None, parts: dict[str, Any], sampling: dict[str, Any], since: datetime | None,
    until: datetime | None, limit: int, cursor: str | None, report: Report, client: Client,
) -> None:  # fmt: skip
    """Add the stored spans that match to the dataset NAME, each once; one that is not there is created."""
    if rule is not None:
        if parts:
            raise CommandError("Pass --rule, or --filter and --map.")
        record = client.rules.get(_find(client, rule))
        if record.source != "spans":
            raise CommandError("A dataset of spans takes a rule on spans.")
        parts = {"filter": record.filter, "mapping": record.mapping}
    options = drop_none(sampling=sampling or None, cursor=cursor)
    added = client.datasets.add_spans(dataset, **parts, since=since, until=until, limit=limit, **options)
    lines = [str(added), *(f"{_span_label(row)}: {_format_reason(row)}" for row in added.left_out)]
    if added.next_cursor:
        lines.append(f"Older spans are left: --cursor {added.next_cursor}")
    report.finish({"spans": added.raw}, [*lines, f"{console_address(client)}/datasets/{added.dataset_id}"])


def _find(client: Client, text: str) -> str:
    remedy = "`evalsvc rules list` shows those that there are, `evalsvc rules create` makes one."
    return resolve_id(client.rules.list(), text, noun="rule", remedy=remedy)


def _set_state(client: Client, rule: str, state: str, report: Report) -> None:
    record = client.rules.update(_find(client, rule), state=state)
    report.finish({"rule": record.raw}, [rule_line(record)])


def _build_filter(texts: tuple[str, ...]) -> dict[str, Any]:
    values: dict[str, list[str]] = {}
    for text in texts:
        for name, value in read_key_values((text,), "--filter").items():
            values.setdefault(name, []).append(value)
    fields: dict[str, Any] = {name: found[0] if len(found) == 1 else found for name, found in values.items()}
    attributes = {name.removeprefix(ATTRIBUTE): fields.pop(name) for name in values if name.startswith(ATTRIBUTE)}
    tags = {name.removeprefix(TAG): fields.pop(name) for name in values if name.startswith(TAG)}
    return fields | drop_none(attributes=attributes or None, tags=tags or None)


def _build_stratum(text: str) -> dict[str, Any]:
    conditions, colon, rate = text.rpartition(":")
    try:
        number = float(rate if colon else "")
    except ValueError:
        raise CommandError(f"--stratum takes FIELD=VALUE:RATE, such as status=error:1, and not {text!r}.") from None
    return {"filter": _build_filter(tuple(conditions.split(","))), "rate": number}


def rule_line(rule: ScoringRuleRecord) -> str:
    """Return a rule with what it has scored and dropped."""
    reasons = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in rule.n_dropped.items() if n)
    dropped = f"{sum(rule.n_dropped.values())} dropped" + (f" ({reasons})" if reasons else "")
    return f"{rule.name}: {rule.state}, {rule.n_scored} scored, {dropped}; rule {rule.id}"


def rule_lines(rule: ScoringRuleRecord) -> Iterator[str]:
    """Yield a rule, and which spans it scores by what."""
    yield rule_line(rule)
    spans = json.dumps(rule.filter, ensure_ascii=False) if rule.filter else "all"
    cap = f", {rule.cap_per_hour} an hour at most" if rule.cap_per_hour else ""
    if rule.budget_per_day is not None:
        cap += f", {rule.budget_per_day:g} of money a day at most ({rule.spent_today or 0:.6g} today)"
    yield f"  {rule.source}: {spans}; {percent_text(rule.sampling['rate'])} of the {rule.sampling['by']}s{cap}"
    for stratum in rule.sampling.get("strata", ()):
        yield f"    {json.dumps(stratum['filter'], ensure_ascii=False)}: {percent_text(stratum['rate'])}"
    yield f"  evaluators: {', '.join(map(evaluator_label, rule.evaluators))}"


def backfill_line(backfill: BackfillRecord) -> str:
    """Return a backfill with how far it has come."""
    counts = f"{backfill.n_scored} scored, {backfill.n_dropped} dropped"
    return f"  backfill {backfill.since} to {backfill.until}: {backfill.state}, {counts}"


def _preview_line(span: Mapping[str, Any]) -> str:
    sample = json.dumps(span["sample"], ensure_ascii=False) if span["sample"] else _format_reason(span)
    return shorten(f"{span['started_at']}  {span['name']}, {_span_label(span)}: {sample}")


def _span_line(span: RuleSpanRecord) -> str:
    drawn = f"request {span.request_id}" if span.request_id else _format_reason(span.raw)
    probability = digits_text(span.probability, 3)
    return f"{span.created_at}  {_span_label(span.raw)}: {drawn}, probability {probability}"


def _span_label(span: Mapping[str, Any]) -> str:
    if span.get("evaluated_request_id"):
        return f"evaluation {span['evaluated_request_id']}"
    return f"trace {span['trace_id']}, span {span['span_id']}"


def _format_reason(span: Mapping[str, Any]) -> str:
    detail = f": {span['detail']}" if span["detail"] else ""
    return f"dropped ({str(span['reason']).replace('_', ' ')}{detail})"
