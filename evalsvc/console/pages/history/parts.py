"""The parts of a history as a table, each with what is behind it: its evaluations, or the experiments that made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest
from evalsvc.console.pages.history.brush import Brush
from evalsvc.console.pages.history.query import HistoryQuery
from evalsvc.console.pages.history.reader import HistoryReading
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.numbers import number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.evaluations.history.course import HistoryStretch
from evalsvc.evaluations.history.read import list_history
from evalsvc.evaluations.history.scope import scope_window
from evalsvc.evaluations.models import HistoryScore
from evalsvc.projects.models import Experiment
from evalsvc.reports.page.elements import element, join_parts

COLUMNS = (Column("Scores"), Column("Number"), Column("From"), Column("To"), Column("Behind it"))
NOTHING = "no evaluations: imported scores"
Outputs = Mapping[int, int]
"""The experiment of each score that is an output of one, by the id of the score."""


def parts_table(
    request: PageRequest, question: HistoryQuery, reading: HistoryReading, brush: Brush | None
) -> PageTable:
    """Return the parts, the newest first. Two queries where scores are of experiments, else none."""
    account = request.visitor.account
    outputs = _outputs(account, question, reading)
    experiments = Experiment.objects.filter(account=account, pk__in={*outputs.values()}) if outputs else ()
    names = {experiment.pk: experiment.name for experiment in experiments}
    rows = []
    for part in reversed(reading.course.parts):
        at = (time_tag(moment, request.visitor.now) for moment in (part.began_at, part.ended_at))
        behind = join_parts([*_render_sources(part, brush, outputs, names)]) or NOTHING
        rows.append(TableRow((f"{part.first} to {part.last}", number_markup(reading.number_of(part)), *at, behind)))
    return PageTable("Windows of the history, newest first", COLUMNS, rows, empty="No scores in this time range.")


def _outputs(account: Account, question: HistoryQuery, reading: HistoryReading) -> Outputs:
    if not (reading.interval or {}).get("sources", {}).get("experiment", {}).get("n"):
        return {}
    window = scope_window(account.pk, question.ask, pointer="")
    names = {"evaluator_id": question.evaluator_id, "profile_name": question.profile_name}
    rows = list_history(account=account, **names, window=window).filter(source=HistoryScore.Source.EXPERIMENT)
    scores = rows.filter(id__gte=int(reading.course.ids[0])).values_list("id", "experiment_id")
    return {id: experiment for id, experiment in scores if experiment is not None}


def _render_sources(
    part: HistoryStretch, brush: Brush | None, outputs: Outputs, names: Mapping[int, str]
) -> Iterator[SafeString]:
    """Yield the links to what is behind a part: exactly its evaluations, by their ids, and each experiment."""
    experiments = [experiment for id, experiment in outputs.items() if part.first_id <= id <= part.last_id]
    if brush is not None and len(experiments) < part.n:
        address = page_address("console_evaluations", **brush.kept, first=part.first_id, last=part.last_id)
        yield element("a", "evaluations", href=address, aria_label=f"Evaluations {part.first} to {part.last}")
    for experiment in dict.fromkeys(experiments):
        name = element("bdi", names.get(experiment, "a deleted experiment"))
        yield element("span", " experiment ", _linked(experiment, name) if experiment in names else name)


def _linked(experiment: int, name: SafeString) -> SafeString:
    return element("a", name, href=page_address("console_experiment", experiment))
