"""Thresholds against labels: the form of POST /v1/calibrations, and its answer as numbers with intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec
import orjson
from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.annotations.selectors import list_criteria
from evalsvc.calibrations.bodies import CalibrationAnswer, CalibrationBody, Figure, FigureOut, ThresholdOut
from evalsvc.console.charts.plot import plot
from evalsvc.console.charts.scales import Axis
from evalsvc.console.charts.series import ChartLine, Mark, Point
from evalsvc.console.pages.evaluations.results import evaluator_options
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.console.parts.numbers import Number, number_markup
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.digits import level_text
from evalsvc.reports.words import number_text
from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import FieldError, Invalid

MAX_LINES = 5000
GOOD = {"1", "true", "pass", "good", "yes", "right"}
BAD = {"0", "false", "fail", "bad", "no", "wrong"}
LINE = re.compile(r"\s*(?P<score>[^\s,;\t]+)[\s,;\t]+(?P<label>\w+)\s*")
FIGURES: tuple[str, ...] = get_args(Figure)
BOUNDED = {"precision": "at_least", "recall": "at_least", "false_positive_rate": "at_most"}
FIELD_OF = {
    "/evaluator": "evaluator", "/criteria": "profile", "/rows": "rows", "/labels": "labels", "/aim": "figure",
    "/confidence_level": "level", "/apply": "name",
}  # fmt: skip
_decoder = msgspec.json.Decoder(CalibrationBody)


def threshold_fields(account: Account, sent: Mapping[str, str], problem: Invalid | None = None) -> list[FormField]:
    """Return the form, with what the service has refused."""
    criteria = [
        (str(criterion.pk), f"labels by {criterion.name}") for criterion in list_criteria(account=account)[:100]
    ]
    fields = (
        FormField("evaluator", "Evaluator", options=evaluator_options(account), is_required=True),
        FormField("profile", "Profile", help="Default: the evaluator's own."),
        FormField(
            "labels",
            "Labels",
            "select",
            options=[("rows", "pasted below"), ("feedback", "feedback on verdicts"), *criteria],
        ),
        FormField(
            "rows",
            "Labelled scores",
            "textarea",
            rows=8,
            help="One per line: a score and pass or fail, such as 0.83 pass.",
        ),
        FormField("figure", "Aim", "select", options=[(name, name.replace("_", " ")) for name in FIGURES]),
        FormField(
            "bound", "Bound of the aim", help="For precision, recall (at least) and false positive rate (at most)."
        ),
        FormField("level", "Level of the intervals", value="0.95"),
    )
    return populate_fields(fields, sent, errors_at(problem, _get_field) if problem else {})


def _get_field(pointer: str) -> str:
    if pointer.startswith("/aim/at_"):
        return "bound"
    return next((name for start, name in FIELD_OF.items() if pointer.startswith(start)), "evaluator")


def calibration_body(sent: Mapping[str, str]) -> CalibrationBody:
    """Convert the form to the body of POST /v1/calibrations. Raises Invalid with JSON pointers."""
    return decode(orjson.dumps(body_document(sent)), _decoder)


def body_document(sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the same as JSON."""
    figure = sent.get("figure") or FIGURES[0]
    aim: dict[str, Any] = {"figure": figure}
    if bound := sent.get("bound", "").strip():
        aim[BOUNDED.get(figure, "at_least")] = _number(bound, "/aim/at_least")
    body: dict[str, Any] = {"evaluator": sent.get("evaluator", "").strip(), "aim": aim, **_labels(sent)}
    if profile := sent.get("profile", "").strip():
        body["criteria"] = profile
    if level := sent.get("level", "").strip():
        body["confidence_level"] = _number(level, "/confidence_level")
    if sent.get("apply"):
        body["apply"] = {"name": name} if (name := sent.get("name", "").strip()) else {}
    return body


def _labels(sent: Mapping[str, str]) -> dict[str, Any]:
    source = sent.get("labels") or "rows"
    if source == "rows":
        return {"rows": read_labelled_lines(sent.get("rows", ""))}
    return {"labels": {"feedback": True} if source == "feedback" else {"annotation_criteria_id": source}}


def read_labelled_lines(text: str) -> list[dict[str, object]]:
    """Read a score and a label from each line.

    Raises Invalid with the number of the first line that cannot be parsed.
    """
    rows: list[dict[str, object]] = []
    for n, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
        label = match["label"].lower() if match else ""
        if match is None or label not in GOOD | BAD:
            raise Invalid(FieldError("/rows", f"Line {n} is not a score and a label, such as 0.83 pass."))
        rows.append({"score": _number(match["score"], "/rows", f"Line {n}: "), "label": label in GOOD})
        if len(rows) > MAX_LINES:
            raise Invalid(FieldError("/rows", f"At most {MAX_LINES} lines."))
    return rows


def _number(text: str, pointer: str, where: str = "") -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise Invalid(FieldError(pointer, f"{where}{text[:40]!r} is no number."))
    return number


def format_figure(found: FigureOut, level: float) -> Number:
    """Return a figure with its interval; the API's own numbers."""
    return Number(
        found.value, found.lower, found.upper, n=found.n, level=level, covers="new_data", method=found.method,
        missing="" if found.value is not None else "no rows counted",
    )  # fmt: skip


def figures_table(answer: CalibrationAnswer, level: float) -> PageTable:
    """Return the chosen threshold and the one in use, side by side."""
    candidates = [("Chosen", answer.chosen)] + ([("In use", answer.in_use)] if answer.in_use else [])
    columns = (
        Column("Figure"),
        *(Column(f"{title}: passes from {number_text(candidate.threshold)}") for title, candidate in candidates),
    )
    rows = [
        TableRow(
            (
                name.replace("_", " "),
                *(number_markup(format_figure(getattr(candidate.figures, name), level)) for _, candidate in candidates),
            )
        )
        for name in FIGURES
    ]
    return PageTable("Quality of thresholds", columns, rows)


def figures_chart(answer: CalibrationAnswer, level: float) -> SafeString:
    """Return the figures along the thresholds, with their intervals as bands."""
    names = ("balanced_accuracy", "precision", "recall")
    lines = [ChartLine(name.replace("_", " "), _points(answer.thresholds, name), has_band=True) for name in names]
    marks = [Mark(answer.chosen.threshold, "chosen")]
    if answer.in_use and answer.in_use.threshold != answer.chosen.threshold:
        marks.append(Mark(answer.in_use.threshold, "in use"))
    says = f"{level_text(level)} intervals at each threshold by itself, n = {answer.n}."
    return plot(
        "Figures by threshold", Axis("Threshold"), Axis("Share", low=0.0, high=1.0), lines, marks=marks, says=says
    )


def _points(thresholds: Sequence[ThresholdOut], name: str) -> list[Point]:
    points = [(threshold.threshold, getattr(threshold.figures, name)) for threshold in thresholds]
    return [Point(at, share.value, share.lower, share.upper) for at, share in points]
