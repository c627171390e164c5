"""Which column of a file is which field of an example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalsvc.datasets.importers.json_text import decode_json, encode_text
from evalsvc.problems import FieldError, Invalid, escape


class Purpose(StrEnum):
    """What the rows are for. A file of existing outputs has its outputs where a dataset has expected answers."""

    DATASET = "dataset"
    OUTPUTS = "outputs"


# Compared without case, spaces and punctuation. A field's own name wins; of two others, neither is guessed.
COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "_id", "key", "example_id", "question_id", "query_id", "sid"),
    "input": (
        *("input", "task_input", "evaluated_model_input", "question", "query", "prompt"),
        *("user_input", "user_query", "user_question", "user_message", "user_prompt", "input_text", "query_text"),
        *("question_text", "prompt_text", "problem", "instruction"),
    ),
    "expected": (
        *("expected", "expected_output", "expected_answer", "expected_response"),
        *("gold", "golds", "gold_answer", "gold_answers", "golden_answer", "golden_answers"),
        *("evaluated_model_gold_answer", "reference", "references", "reference_answer", "reference_answers"),
        *(
            "reference_output",
            "reference_response",
            "ground_truth",
            "ground_truths",
            "ground_truth_answer",
            "gt_answer",
        ),
        *("ideal", "ideal_answer", "ideal_output", "ideal_response", "desired_output", "best_answer", "best_response"),
        *("correct_answer", "correct_answers", "correct_response", "correct_output", "right_answer", "true_answer"),
        *("final_answer", "answer_key", "expected_result", "expected_value", "expected_text", "expected_label"),
        *("gold_response", "gold_output", "gold_label", "golden", "golden_response", "golden_output", "gold_standard"),
        *("possible_answers", "accepted_answers", "acceptable_answers", "valid_answers"),
        *("solution", "target", "targets", "label", "labels"),
    ),
    "contexts": (
        *("contexts", "context", "retrieved_context", "retrieved_contexts", "evaluated_model_retrieved_context"),
        *("task_context", "retrieval_context", "retrieval_contexts", "retrieved_documents", "retrieved_docs"),
        *("retrieved_passages", "retrieved_chunks", "passage", "passages", "documents", "docs", "chunks"),
    ),
    "metadata": ("metadata",),
}
OUTPUTS = (
    *("evaluated_model_output", "task_output", "model_output", "actual_output", "generated_output"),
    *("model_answer", "llm_answer", "generated_answer", "predicted_answer", "model_response", "llm_response"),
    *("llm_output", "system_output", "generated_text", "generated_response", "generation", "predicted_output"),
    *("prediction", "predicted", "model_prediction"),
)
FIELDS = ("id", "input", "expected", "output", "contexts", "metadata")
"""The fields of an example, in the order in which they are read."""
FINISH_REASON = "finish_reason"
FINISH_REASONS = (FINISH_REASON, "stop_reason", "done_reason", "ending")
"""Why the model ended the output. It is a field of a file of outputs; a dataset has it in the metadata."""
ANSWERS = ("answer", "answers", "response", "completion", "output")
"""The expected answer where a file has no other, and the output where it has."""
CATEGORIES = ("solution", "target", "targets", "label", "labels")
"""Expected answers, or facts about an example: beside a column of ANSWERS, only a mapping tells."""
OUTPUT = "evaluated_model_output"
OUTPUT_COLUMNS = (OUTPUT, "task_output", "output")
"""Where metadata has the output of an example; the first that is there."""
# Stored in the metadata under these names, which evaluators read.
PASSAGE_COLUMNS = (
    *("gold_contexts", "gold_context", "evaluated_model_gold_context"),
    *("top_k_contexts", "top_k_context", "evaluated_model_top_k_context"),
)
STORED_NAMES = {"reference_contexts": "gold_contexts", "reference_context": "gold_contexts"} | {
    name: name for name in PASSAGE_COLUMNS
}
MAPPED_ANSWERS = {"answer": "expected", "answers": "expected"} | dict.fromkeys(ANSWERS[2:], "output")
FIELD_NAMES = COLUMNS | {"output": OUTPUTS, FINISH_REASON: FINISH_REASONS}
INSTRUCTION = "instruction"
FIELD_OF = {column: field for field, columns in FIELD_NAMES.items() for column in columns} | MAPPED_ANSWERS
# Further fields that Patronus clients can map; they are stored in the metadata under these names.
PATRONUS_NAMES = {
    *("system_prompt", "evaluated_model_system_prompt"),
    *PASSAGE_COLUMNS,
    *("meta_evaluated_model_name", "meta_evaluated_model_provider", "meta_evaluated_model_selected_model"),
    "meta_evaluated_model_params",
}
MAX_PLANS = 1000
REMEDY = "Say in custom_field_mapping which column is which field."
_marks = re.compile(r"[\W_]+")


def fold_name(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return _marks.sub("", name.casefold())


_field_of_folded = {fold_name(column): field for field, columns in FIELD_NAMES.items() for column in columns}
_plural = {fold_name(name) for name in (*COLUMNS["expected"], "answers") if name.endswith("s")}
_answers = {fold_name(name) for name in ANSWERS}
_categories = {fold_name(name) for name in CATEGORIES}
_outputs = {fold_name(name): name for name in OUTPUT_COLUMNS}
_stored = {fold_name(name): stored for name, stored in STORED_NAMES.items()}


def is_finish_reason(name: str) -> bool:
    """Return whether a column of this name says why the model ended an output."""
    return _field_of_folded.get(fold_name(name)) == FINISH_REASON


def is_list_name(name: str) -> bool:
    """Return whether a column of expected answers has several by its name, as `possible_answers` of PopQA."""
    return fold_name(name) in _plural


def is_known_name(name: str) -> bool:
    """Return whether a column of this name is a field."""
    folded = fold_name(name)
    return folded in _field_of_folded or folded in _answers


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a record cannot be read: columns that could be the same field."""

    columns: tuple[str, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """A field and its columns. Without any, `column` is the one that it should have come from, for errors."""

    field: str
    column: str
    columns: tuple[str, ...]
    is_list: bool
    """Whether `column` has several expected answers by its name."""


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What the columns of a record are: of fields, and under which name the others are stored."""

    fields: Sequence[FieldColumns]
    stored: Mapping[str, str]
    passed_over: Mapping[str, str]
    """Columns that could be a field too, and the field."""
    conflict: Conflict | None = None


class Names:
    """The columns of each field, by the caller's mapping and else by their names. Several mapped columns are joined."""

    def __init__(
        self, mapping: Mapping[str, Sequence[str]] | None = None, *, purpose: Purpose = Purpose.DATASET
    ) -> None:
        self.given = {_mapped_field(name): name for name in mapping or {}}
        self.mapped = {_mapped_field(name): tuple(columns) for name, columns in (mapping or {}).items()}
        self.purpose = purpose
        self.found: set[str] = set()
        self.roles: dict[str, str] = {}
        self._plans: dict[tuple[str, ...], ColumnPlan] = {}

    def plan(self, record: Mapping[str, Any]) -> ColumnPlan:
        """Return what the columns of a record are."""
        columns = tuple(record)
        if (plan := self._plans.get(columns)) is None:
            plan = self._make_plan(columns)
            if len(self._plans) < MAX_PLANS:
                self._plans[columns] = plan
        return plan

    def _make_plan(self, columns: Sequence[str]) -> ColumnPlan:
        fields: dict[str, tuple[str, ...]] = {}
        for field, names in self.mapped.items():
            found = {name: column for name in names if (column := _find_column(name, columns)) is not None}
            fields[field] = tuple(found.values())
            self.found |= found.keys()
        mapped = {column for names in fields.values() for column in names}
        finder = ColumnFinder([column for column in columns if column not in mapped], {*fields}, self.purpose)
        fields |= {field: (column,) for field, column in finder.fields.items()}
        taken = {column for names in fields.values() for column in names}
        stored = {column: _stored.get(fold_name(column), column.strip()) for column in columns if column not in taken}
        planned = [self._plan_field(field, fields.get(field, ())) for field in dict.fromkeys((*FIELDS, *fields))]
        return ColumnPlan(planned, stored, finder.passed_over, finder.conflict or self._find_role_conflict(finder))

    def _plan_field(self, field: str, columns: tuple[str, ...]) -> FieldColumns:
        column = columns[0] if columns else next(iter(self.mapped.get(field, ())), field)
        return FieldColumns(field, column, columns, field == "expected" and is_list_name(column))

    def _find_role_conflict(self, finder: ColumnFinder) -> Conflict | None:
        """Refuse a column that is the expected answer in some rows, and the output in others."""
        for field, column in finder.fields.items():
            if fold_name(column) in _answers and self.roles.setdefault(column, field) != field:
                detail = f"`{column}` is `{self.roles[column]}` in rows before, and could be `{field}` here. {REMEDY}"
                return Conflict((column,), detail)
        return None

    def get_stored_output(self, column: str) -> str:
        """Return the name under which the metadata has the output that came in a column."""
        given = self.given.get("output")
        return _outputs.get(fold_name(given or column), OUTPUT) if given != "output" else OUTPUT

    def find_missing(self) -> list[FieldError]:
        """Return an error for each mapped column that no record had."""
        return [
            FieldError(f"/custom_field_mapping/{escape(self.given[field])}", f"No row has a column {column!r}.")
            for field, columns in self.mapped.items()
            for column in columns
            if column not in self.found
        ]

    def has_any(self, columns: Iterable[str]) -> bool:
        """Return whether one of these columns is a field."""
        mapped = {column for names in self.mapped.values() for column in names}
        return any(column in mapped or is_known_name(column) for column in columns)


class ColumnFinder:
    """Finds the fields among columns that no mapping names."""

    def __init__(self, columns: Sequence[str], mapped: set[str], purpose: Purpose) -> None:
        self.mapped, self.purpose = mapped, purpose
        self.fields: dict[str, str] = {}
        self.passed_over: dict[str, str] = {}
        self.conflict: Conflict | None = None
        self.candidates: dict[str, list[str]] = {field: [] for field in FIELD_NAMES}
        self.answers = [column for column in columns if fold_name(column) in _answers]
        for column in columns:
            field = _field_of_folded.get(fold_name(column))
            if field and (field != FINISH_REASON or purpose == Purpose.OUTPUTS):
                self.candidates[field].append(column)
        for field in FIELD_NAMES:
            if field not in mapped and self.candidates[field]:
                self.choose(field, self.candidates[field])
        self.place_answers()

    def choose(self, field: str, columns: Sequence[str]) -> None:
        """Choose the column of a field: its own name, the only one, or of ids the first in the order of names."""
        own = [column for column in columns if fold_name(column) == fold_name(field)]
        if len(columns) == 1 or field == "id":
            order = [fold_name(name) for name in FIELD_NAMES[field]]
            self.fields[field] = min(columns, key=lambda name: (order.index(fold_name(name)), name.casefold() != field))
        elif len(own) == 1 and not any(fold_name(column) == INSTRUCTION for column in columns):
            self.fields[field] = own[0]
        else:
            self.refuse(field, *columns[:2])
            return
        self.passed_over |= {column: field for column in columns if column != self.fields[field]}

    def refuse(self, field: str, first: str, second: str) -> None:
        """Note the first two columns that could be one field."""
        both = f' Several are joined: {{"{field}": ["{first}", "{second}"]}}.' if field == "input" else ""
        detail = f"`{first}` and `{second}` could both be `{field}`. {REMEDY}{both}"
        self.conflict = self.conflict or Conflict((first, second), detail)

    def place_answers(self) -> None:
        """Make an answer the expected one or the output: what the file has not yet, and this first that it is for."""
        answers, expected = list(self.answers), self.fields.get("expected", "")
        open_fields = [field for field in ("expected", "output") if field not in self.mapped | self.fields.keys()]
        if self.purpose == Purpose.OUTPUTS:
            open_fields.reverse()
            own = [column for column in answers if fold_name(column) == "output"]
            if own and "output" in self.fields:
                self.refuse("output", own[0], self.fields["output"])
            elif "output" in open_fields and len(own) == 1:
                self.fields["output"] = own[0]
                answers.remove(own[0])
                open_fields.remove("output")
        if not answers:
            return
        if fold_name(expected) in _categories and "output" in open_fields:
            self.refuse("expected", answers[0], expected)
        elif len(answers) > 1 and open_fields and not (self.mapped >= {"expected"} and self.purpose != Purpose.OUTPUTS):
            self.refuse(open_fields[0], *answers[:2])
        elif len(answers) == 1 and open_fields:
            self.fields[open_fields[0]] = answers[0]
        elif "output" in self.fields and "expected" in self.fields:
            self.refuse("output", answers[0], self.fields["output"])
        else:
            self.passed_over |= dict.fromkeys(answers, "output")


def _mapped_field(name: str) -> str:
    """Return the field that a name in a mapping means; other names are kept in the metadata."""
    return FIELD_OF.get(name, name)


def _find_column(name: str, columns: Sequence[str]) -> str | None:
    """Return the column that a mapping names: exactly, or the only one that differs in case and punctuation."""
    if name in columns:
        return name
    alike = [column for column in columns if fold_name(column) == fold_name(name)]
    return alike[0] if len(alike) == 1 and fold_name(name) else None


def join_columns(record: Mapping[str, Any], columns: Sequence[str], *, as_list: bool = False) -> object:
    """Return columns of a record as one value: lists one after another, texts as lines; None where none is there."""
    if len(columns) == 1:
        return record.get(columns[0])
    values = [value for column in columns if (value := record.get(column)) is not None]
    if len(values) < 2:
        return values[0] if values else None
    if as_list or any(isinstance(value, list) for value in values):
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    return "\n".join(value if isinstance(value, str) else encode_text(value) for value in values)


def check_mapping(mapping: object) -> dict[str, list[str]]:
    """Return a custom_field_mapping (field: columns), or raise Invalid."""
    pointer = "/custom_field_mapping"
    if not isinstance(mapping, dict):
        raise Invalid(FieldError(pointer, "Expected a JSON object that maps fields to columns."))
    errors = []
    mapped: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name, column in mapping.items():
        columns = [column] if isinstance(column, str) else column
        at = f"{pointer}/{escape(name)}"
        if name not in FIELD_OF and name not in PATRONUS_NAMES:
            errors.append(FieldError(at, f"{name!r} is no field; fields are {', '.join(FIELD_NAMES)}."))
        elif not isinstance(columns, list) or not columns or not all(isinstance(c, str) and c for c in columns):
            errors.append(FieldError(at, "Expected the name of a column, or a list of names."))
        elif (other := names.setdefault(_mapped_field(name), name)) != name:
            errors.append(FieldError(at, f"{name!r} and {other!r} are the same field: map one of them."))
        mapped[name] = columns
    if errors:
        raise Invalid(*errors[:10])
    return mapped


def read_mapping(text: str | None) -> dict[str, list[str]]:
    """Read the mapping of a form, a text of JSON."""
    try:
        mapping = decode_json(text or "null")
    except ValueError as exc:
        raise Invalid(FieldError("/custom_field_mapping", f"Not valid JSON: {exc}.")) from None
    return {} if mapping is None else check_mapping(mapping)
