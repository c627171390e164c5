"""Import of annotation labels. The old service stores them as evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.client.errors import InvalidError
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

ANNOTATIONS = "/v1/annotations"
LabelKey = tuple[str, str, str]
"""Criteria, type and reference: of each there is one label."""


class Labels:
    """Imports labels. A label that already exists here for the same criteria and target is retained."""

    def __init__(self, target: Transport, outcome: ImportOutcome, criteria: Mapping[str, JsonObject]) -> None:
        self._target, self._outcome, self._criteria = target, outcome, criteria
        self._here: set[LabelKey] = {
            (str(row["annotation_criteria"]), str(row["type"]), str(row["reference"]))
            for row in target.pages(ANNOTATIONS, "annotations", {"limit": 1000})
        }

    def import_rows(self, rows: Sequence[JsonObject]) -> None:
        """Import the labels that do not exist here yet, in the order of the rows."""
        for row in rows:
            criteria = self._criteria.get(str(row.get("annotation_criteria_id")))
            of = next(_list_targets(row), None)
            if criteria is None or of is None:
                reason = "it is of no log, trace or span" if criteria else "its annotation criteria are not there"
                self._outcome.leave_out("label", row["id"], reason)
                continue
            self._keep(row, criteria, of)

    def _keep(self, row: JsonObject, criteria: JsonObject, of: tuple[str, str]) -> None:
        key = (str(criteria["id"]), *of)
        if key in self._here:
            self._outcome.there["labels"] += 1
            return
        try:
            self._target.post(ANNOTATIONS, _label_body(row, criteria, of))
        except InvalidError as exc:
            self._outcome.leave_out("label", row["id"], str(exc))
            return
        self._here.add(key)
        self._outcome.kept["labels"] += 1


def _list_targets(row: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the possible targets of a label, most specific first. Disabled tracing is recorded as an all-zero ID."""
    for kind in ("log", "span", "trace"):
        reference = str(row.get(f"{kind}_id") or "")
        if reference.strip("0-"):
            yield kind, reference


def _label_body(row: JsonObject, criteria: JsonObject, of: tuple[str, str]) -> dict[str, object]:
    """Return a label as `POST /v1/annotations` takes it: one value, the one that decides by its type."""
    kind, reference = of
    body = {
        "annotation_criteria": criteria["id"],
        "type": kind,
        "reference": reference,
        "explanation": row.get("explanation"),
        "created_at": row.get("created_at"),
    }
    return body | _value(str(criteria["annotation_type"]), row)


def _value(kind: str, row: JsonObject) -> dict[str, object]:
    if kind == "binary":
        passed = row.get("pass")
        return {"value_pass": bool(row.get("score")) if passed is None else passed}
    if kind == "text_annotation" or (kind != "continuous" and row.get("text_output")):
        return {"value_text": row.get("text_output")}
    return {"value_score": cast("float | None", row.get("score"))}
