"""An item as a page shows it: texts, questions with the buttons that answer them, and what a form has sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.annotations.values import Category
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.reviews.answering.answers import ReviewResponse
from evalsvc.reviews.content import as_shown, load_content
from evalsvc.reviews.models import Review, ReviewAnswer
from evalsvc.reviews.questions import FIRST, SECOND, TIE, Question, Type, parse_questions
from evalsvc.reviews.selectors import list_answers

SHOWN_CHARACTERS = 1200
MOST_BUTTONS = 9
PREFIX = "q-"
PAIR_OPTIONS = ((FIRST, "First is better"), (SECOND, "Second is better"), (TIE, "Equally good"))


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """A text, with a collapsed end if it is long."""

    title: str
    head: str
    rest: str = ""
    scores: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """One answer that can be chosen, with the key that chooses it."""

    value: str
    label: str
    key: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A question with its options, or with a field for a number or a text."""

    field: str
    name: str
    description: str | None
    options: Sequence[AnswerOption]
    kind: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class ItemForm:
    """All of an item's page."""

    row: ReviewAnswer
    is_gone: bool
    before: Sequence[TruncatedText]
    outputs: Sequence[TruncatedText]
    questions: Sequence[QuestionForm]
    others: Sequence[str]
    explanation: str

    @property
    def is_quick(self) -> bool:
        """Return whether one press answers all."""
        return len(self.questions) == 1 and 0 < len(self.questions[0].options) <= MOST_BUTTONS


def truncate_text(title: str, text: str, scores: Sequence[Any] = ()) -> TruncatedText:
    """Return a text in two parts; what little would be left over is not folded."""
    if len(text) <= SHOWN_CHARACTERS * 1.2:
        return TruncatedText(title, text, "", scores)
    cut = text.rfind(" ", SHOWN_CHARACTERS - 100, SHOWN_CHARACTERS)
    cut = SHOWN_CHARACTERS if cut < 0 else cut
    return TruncatedText(title, text[:cut], text[cut:], scores)


def item_form(account: Account, row: ReviewAnswer, typed: Mapping[str, str] | None = None) -> ItemForm:
    """Build the form of the leased item, with the reviewer's stored or typed answers. Within the scope."""
    review, item = row.review, row.item
    content = load_content(account=account, review=review, items=[item])[item.pk]
    outputs = as_shown(content, item)
    titles = ("First", "Second") if review.kind == Review.Kind.PAIR else ("Output",)
    before = [truncate_text("Input", content.input)] if content.input else []
    before += [truncate_text(f"Context {i}", context) for i, context in enumerate(content.contexts, 1)]
    before += [truncate_text("Expected", content.expected)] if content.expected else []
    others = list_answers(account=account, review=review, items=[item.pk]).exclude(pk=row.pk)
    return ItemForm(
        row,
        content.is_gone,
        before,
        [truncate_text(title, output.text, output.scores) for title, output in zip(titles, outputs, strict=False)],
        _questions(review, dict(row.said or {}), typed or {}),
        [format_response(review, answer) for answer in others] if review.show_answers else [],
        (typed or {}).get("explanation", row.explanation or ""),
    )


def _questions(review: Review, said: Mapping[str, Any], typed: Mapping[str, str]) -> list[QuestionForm]:
    if review.kind == Review.Kind.PAIR:
        choice = typed.get("choice") or said.get("choice")
        options = [AnswerOption(value, label, i, value == choice) for i, (value, label) in enumerate(PAIR_OPTIONS, 1)]
        return [QuestionForm("choice", "Which is better?", None, options, "choice")]
    return [_question(question, said.get(str(question.id), {}), typed) for question in parse_questions(review.criteria)]


def _question(question: Question, said: Mapping[str, Any], typed: Mapping[str, str]) -> QuestionForm:
    field = f"{PREFIX}{question.id}"
    selected_value = typed.get(field) or _to_form_value(question, said)
    offered = _list_options(question)
    options = [
        AnswerOption(value, label, i if i <= MOST_BUTTONS else None, value == selected_value)
        for i, (value, label) in enumerate(offered, 1)
    ]
    return QuestionForm(field, question.name, question.description, options, question.annotation_type, selected_value)


def _list_options(question: Question) -> list[tuple[str, str]]:
    if question.annotation_type == Type.BINARY:
        return [("pass", "Pass"), ("fail", "Fail")]
    return [(str(i), _label(category)) for i, category in enumerate(question.categories)]


def _label(category: Category) -> str:
    return category.label if category.label is not None else f"{category.score:g}"


def _to_form_value(question: Question, said: Mapping[str, Any]) -> str:
    """Return a stored answer as its form field's value."""
    if not said:
        return ""
    if question.annotation_type == Type.BINARY:
        return "pass" if said.get("value_pass") else "fail"
    for i, category in enumerate(question.categories):
        if _to_answer_value(category) == said:
            return str(i)
    value = said.get("value_text", said.get("value_score"))
    return f"{value}"


def _to_answer_value(category: Category) -> dict[str, Any]:
    if category.label is not None:
        return {"value_text": category.label}
    return {"value_score": category.score}


def parse_review_form(review: Review, sent: Mapping[str, str]) -> ReviewResponse:
    """Parse a submitted form. Missing answers are left to the service to reject."""
    explanation = sent.get("explanation", "").replace("\r\n", "\n").strip() or None
    if review.kind == Review.Kind.PAIR:
        return ReviewResponse((), sent.get("choice"), explanation)
    answers = [
        {"criteria": str(question.id), **value}
        for question in parse_questions(review.criteria)
        if (value := _value(question, sent.get(f"{PREFIX}{question.id}", ""))) is not None
    ]
    return ReviewResponse(answers, None, explanation)


def _value(question: Question, sent: str) -> dict[str, Any] | None:
    match question.annotation_type:
        case Type.BINARY:
            return {"value_pass": sent == "pass"} if sent in ("pass", "fail") else None
        case Type.TEXT:
            return {"value_text": sent.replace("\r\n", "\n")} if sent.strip() else None
        case Type.CONTINUOUS:
            try:
                return {"value_score": float(sent.replace(",", "."))}
            except ValueError:
                return None
    if not is_bigint(sent) or int(sent) >= len(question.categories):
        return None
    return _to_answer_value(question.categories[int(sent)])


def format_response(review: Review, row: ReviewAnswer) -> str:
    """Format a stored answer as text; for a pair, by the sides as displayed."""
    values = dict(row.said or {})
    if review.kind == Review.Kind.PAIR:
        words = dict(PAIR_OPTIONS)[values["choice"]]
    else:
        questions = parse_questions(review.criteria)
        words = "; ".join(
            f"{question.name}: {format_answer(question, values.get(str(question.id), {}))}" for question in questions
        )
    return f"{words} ({row.explanation})" if row.explanation else words


def format_answer(question: Question, said: Mapping[str, Any]) -> str | float | None:
    """Return an answer as a row of an export has it: `pass` or `fail`, a label, a number or a text."""
    if not said:
        return None
    if question.annotation_type == Type.CONTINUOUS:
        return float(said["value_score"])
    value = _to_form_value(question, said)
    words = dict(_list_options(question))
    return value if question.annotation_type == Type.BINARY else words.get(value, value)


def _place(places: Mapping[str, str], sent: str) -> str:
    # Text that matches no label is not a category index either, even if it looks like a number.
    return places.get(sent.strip(), "") if places else sent


def parse_response_row(review: Review, row: Mapping[str, str]) -> ReviewResponse:
    """Parse a row of an export, or of another tool; categories are given by their labels."""
    explanation = row.get("explanation", "").strip() or None
    if review.kind == Review.Kind.PAIR:
        return ReviewResponse((), row.get("choice", "").strip().lower(), explanation)
    answers = []
    for question in parse_questions(review.criteria):
        cell = row.get(f"answer:{question.name}", "")
        places = {label: value for value, label in _list_options(question)}
        place = cell.strip().lower() if question.annotation_type == Type.BINARY else _place(places, cell)
        if (value := _value(question, place)) is not None:
            answers.append({"criteria": str(question.id), **value})
    return ReviewResponse(answers, None, explanation)
