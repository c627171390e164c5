"""Export and import of reviews as rows, so that another tool can collect the answers: CSV and JSONL, same columns."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.datasets.exports import FORMULA_STARTS, chunked, guard_cell
from evalsvc.rest.bodies.scalars import refuse_nul
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.reviews.answering.answers import ResponseValues, lock_open_review, save_answer, validate_response
from evalsvc.reviews.answering.forms import format_answer, parse_response_row
from evalsvc.reviews.content import Content, as_shown, load_content
from evalsvc.reviews.models import MAX_REVIEWER, Review, ReviewAnswer, ReviewItem
from evalsvc.reviews.questions import parse_questions
from evalsvc.reviews.selectors import get_review, list_answers, list_items
from evalsvc.tenancy.scope import account_scope

CSV, JSONL = FORMATS = ("csv", "jsonl")
ANSWER = "answer:"
IMPORTED = "import:"
MAX_IMPORTED_NAME = MAX_REVIEWER - len(IMPORTED)
MAX_ROWS = 2000
MAX_ERRORS = 20
PAGE_ITEMS = 200
GUARD = "'"


@dataclass(frozen=True, slots=True)
class ImportedAnswers:
    """The counts of an import."""

    n_kept: int
    n_repeated: int
    n_empty: int


def export_rows(*, account: Account, id: uuid.UUID, format: str) -> Iterator[bytes]:
    """Yield a review as CSV or JSONL: a row for each answer, and one for each item that has none.

    Sides of pairs are as they are shown, and no row names a config. Cells of CSV that look like formulas begin with an
    apostrophe, which an import takes away again.
    """
    with account_scope(account.pk):
        review = get_review(account=account, id=id)
    columns = _columns(review)
    if format == CSV:
        return chunked(_csv_parts(account, review, columns))
    return chunked(orjson.dumps(row) + b"\n" for row in _rows(account, review))


def _columns(review: Review) -> list[str]:
    outputs = ["first", "second", "choice"] if review.kind == Review.Kind.PAIR else ["output"]
    answer_columns = [f"{ANSWER}{question.name}" for question in parse_questions(review.criteria)]
    return [
        "item_id",
        "position",
        "input",
        "expected",
        *outputs,
        "reviewer",
        *answer_columns,
        "explanation",
        "answered_at",
    ]


def _csv_parts(account: Account, review: Review, columns: Sequence[str]) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([guard_cell(column) for column in columns])
    for row in _rows(account, review):
        cells = (row[name] for name in columns)
        writer.writerow([guard_cell(cell) if isinstance(cell, str) else cell for cell in cells])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _rows(account: Account, review: Review) -> Iterator[dict[str, Any]]:
    """Yield rows a page of items at a time, each page in a transaction of its own."""
    for start in range(0, review.n_items, PAGE_ITEMS):
        with account_scope(account.pk):
            items = list(list_items(account=account, review=review)[start : start + PAGE_ITEMS])
            contents = load_content(account=account, review=review, items=items)
            answers_by_item: dict[int, list[ReviewAnswer]] = {}
            for row in list_answers(account=account, review=review, items=[item.pk for item in items]):
                answers_by_item.setdefault(row.item_id, []).append(row)
        for item in items:
            answers: Sequence[ReviewAnswer | None] = answers_by_item.get(item.pk) or [None]
            yield from (_row(review, item, contents[item.pk], answer) for answer in answers)


def _row(review: Review, item: ReviewItem, content: Content, answer: ReviewAnswer | None) -> dict[str, Any]:
    texts = [output.text for output in as_shown(content, item)]
    output_texts: Sequence[str | None] = texts or (None, None)
    values: Mapping[str, Any] = (answer.said if answer else None) or {}
    if review.kind == Review.Kind.PAIR:
        outputs: dict[str, Any] = {"first": output_texts[0], "second": output_texts[1], "choice": values.get("choice")}
    else:
        outputs = {"output": output_texts[0]}
    questions = parse_questions(review.criteria)
    answer_cells = {
        f"{ANSWER}{question.name}": format_answer(question, values.get(str(question.id), {})) for question in questions
    }
    return {
        "item_id": str(item.pk),
        "position": item.position,
        "input": content.input,
        "expected": content.expected,
        **outputs,
        "reviewer": answer.reviewer if answer else None,
        **answer_cells,
        "explanation": answer.explanation if answer else None,
        "answered_at": None if answer is None or answer.answered_at is None else f"{answer.answered_at:%FT%TZ}",
    }


def import_answers(*, account: Account, id: uuid.UUID, format: str, text: str, actor: str) -> ImportedAnswers:
    """Import answers from another tool: all, or none. Importing the same rows again changes nothing.

    Rows have the columns of an export; `item_id`, `reviewer` and the answers are read. A row without an answer is
    skipped. Raises Invalid with the row of each error.
    """
    rows = _read(format, text)
    with account_scope(account.pk):
        review = lock_open_review(account, id)
        items = {str(item.pk): item for item in _find_items(account, review, rows)}
        result = ImportedAnswers(*_save_all(account, review, items, rows))
        record_audit(account=account, actor=actor, action="review.imported", target=review.name, answers=result.n_kept)
    return result


def _find_items(account: Account, review: Review, rows: Sequence[Mapping[str, str]]) -> list[ReviewItem]:
    ids = {int(row["item_id"]) for row in rows if _is_id(row.get("item_id", ""))}
    return list(ReviewItem.objects.filter(account=account, review=review, pk__in=ids))


def _is_id(text: str) -> bool:
    return text.isdecimal() and len(text) < 19


def _save_all(
    account: Account, review: Review, items: Mapping[str, ReviewItem], rows: Sequence[Mapping[str, str]]
) -> tuple[int, int, int]:
    n_kept = n_repeated = n_empty = 0
    errors: list[FieldError] = []
    for i, row in enumerate(rows):
        try:
            if _is_empty(review, row):
                n_empty += 1
            elif _save_row(account, review, items, row):
                n_kept += 1
            else:
                n_repeated += 1
        except Invalid as problem:
            errors += [FieldError(f"/rows/{i}{error.pointer}", error.detail) for error in problem.errors]
        if len(errors) >= MAX_ERRORS:
            break
    if errors:
        raise Invalid(*errors[:MAX_ERRORS])
    return n_kept, n_repeated, n_empty


def _is_empty(review: Review, row: Mapping[str, str]) -> bool:
    names = ["choice"] if review.kind == Review.Kind.PAIR else [name for name in row if name.startswith(ANSWER)]
    return not any(row.get(name, "").strip() for name in names)


def _save_row(account: Account, review: Review, items: Mapping[str, ReviewItem], row: Mapping[str, str]) -> bool:
    """Save the answer of a row; return whether it is new."""
    item = items.get(row.get("item_id", ""))
    if item is None:
        raise Invalid(FieldError("/item_id", "The review has no such item."))
    reviewer = row.get("reviewer", "").strip()
    if not reviewer or len(reviewer) > MAX_IMPORTED_NAME:
        raise Invalid(FieldError("/reviewer", f"Say who has answered, in 1 to {MAX_IMPORTED_NAME} characters."))
    refuse_nul(reviewer, "/reviewer")
    values = validate_response(review, item, parse_response_row(review, row))
    imported = f"{IMPORTED}{reviewer.removeprefix(IMPORTED)}"
    rows = ReviewAnswer.objects.filter(account=account, item=item, reviewer__in={reviewer, imported})
    before = rows.filter(said__isnull=False).first()
    if before is None:
        _add(account, review, item, imported, values)
    elif before.said != values.said:
        raise Invalid(FieldError("/reviewer", "Another answer of this reviewer to this item is kept already."))
    return before is None


def _add(account: Account, review: Review, item: ReviewItem, reviewer: str, kept: ResponseValues) -> None:
    row = ReviewAnswer(account=account, review=review, item=item, slot=None, reviewer=reviewer, token=uuid.uuid4())
    row.save(force_insert=True)
    try:
        save_answer(account, review, item, row, kept)
    except Problem as problem:
        if problem.code != "lease_lost":
            raise
        raise Invalid(FieldError("/item_id", "The item has all its answers, or is in somebody's hands.")) from None


def _read(format: str, text: str) -> list[dict[str, str]]:
    rows = list(_csv_rows(text) if format == CSV else _json_rows(text))
    if len(rows) > MAX_ROWS:
        raise Invalid(FieldError("/text", f"At most {MAX_ROWS:,} rows at a time."))
    return rows


def _csv_rows(text: str) -> Iterator[dict[str, str]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = [_strip_guard(name) for name in next(reader, [])]
        if "item_id" not in header:
            raise Invalid(FieldError("/text", "The first line names the columns, `item_id` among them."))
        for cells in reader:
            if any(cells[len(header) :]):
                detail = f"Line {reader.line_num} has {len(cells)} cells where the header has {len(header)}."
                raise Invalid(FieldError("/text", f"{detail} Put texts in double quotes."))
            if cells:
                yield {name: _strip_guard(cell) for name, cell in zip(header, cells, strict=False)}
    except csv.Error as exc:
        raise Invalid(FieldError("/text", f"Line {reader.line_num} is no CSV: {exc}.")) from None


def _json_rows(text: str) -> Iterator[dict[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            raise Invalid(FieldError("/text", f"Line {number} is no JSON object."))
        yield {name: _cell(value) for name, value in row.items()}


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _strip_guard(cell: str) -> str:
    return cell[1:] if cell.startswith(GUARD) and cell[1:2] in FORMULA_STARTS and len(cell) > 1 else cell
