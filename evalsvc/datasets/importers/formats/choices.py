"""Multiple choice: MMLU, MMLU-Pro, ARC and what has their shape. The letter, the text and the index are accepted."""

from __future__ import annotations

from string import ascii_uppercase

from evalsvc.datasets.importers.formats.record import RowFormat, is_text_list, rebuild
from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

CHOICES = ("choices", "options")
ANSWERS = ("answerKey", "answer", "Answer", "answer_index")
QUESTIONS = ("question", "question_stem", "Question")
LETTERS = ("A", "B", "C", "D")


def list_choices(record: Record) -> list[tuple[str, str]]:
    """Return label and text of each choice; an empty list where the record is of no shape that is known here."""
    question = record.get("question")
    holder = question if isinstance(question, dict) else record
    for name in CHOICES:
        value = holder.get(name)
        labels, texts = (value.get(part) if isinstance(value, dict) else None for part in ("label", "text"))
        if is_text_list(labels) and is_text_list(texts):
            return list(zip(labels, texts, strict=False))
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            pairs = [(row.get("label"), row.get("text")) for row in value]
            if all(isinstance(label, str) and isinstance(text, str) for label, text in pairs):
                return [(str(label), str(text)) for label, text in pairs]
        elif is_text_list(value) and 2 <= len(value) <= len(ascii_uppercase):
            return list(zip(ascii_uppercase, value, strict=False))
    if all(isinstance(record.get(letter), str | int | float) for letter in LETTERS):
        return [(letter, str(record[letter])) for letter in ascii_uppercase[:10] if record.get(letter) is not None]
    return []


def find_answer(record: Record) -> object:
    """Return the answer as the record has it: a label, an index, or a text. None where the set hides it."""
    answer = next((record[name] for name in ANSWERS if record.get(name) not in (None, "")), None)
    return None if answer == -1 else answer


def find_index(answer: object, choices: list[tuple[str, str]]) -> int | None:
    """Return which choice an answer names: by its label, as an index from 0, or by its text."""
    labels, texts = [label for label, _ in choices], [text for _, text in choices]
    if type(answer) is int:
        return answer if 0 <= answer < len(choices) else None
    if not isinstance(answer, str):
        return None
    for names, name in ((labels, answer.strip()), (texts, answer)):
        if names.count(name) == 1:
            return names.index(name)
    return int(answer) if answer.isdecimal() and int(answer) < len(choices) else None


def find_question(record: Record) -> object:
    """Return the question alone."""
    question = next((record[name] for name in QUESTIONS if record.get(name) is not None), None)
    return question.get("stem") if isinstance(question, dict) else question


def is_multiple_choice(record: Record) -> bool:
    """Return whether a row is a question with its choices."""
    return isinstance(find_question(record), str) and len(list_choices(record)) > 1


def is_mmlu(record: Record) -> bool:
    """Return whether a row has choices, and names the answer as MMLU does."""
    return is_multiple_choice(record) and "answerKey" not in record and bool({*ANSWERS} & record.keys())


def is_arc(record: Record) -> bool:
    """Return whether a row has choices, and an `answerKey`."""
    return is_multiple_choice(record) and "answerKey" in record


def convert_choices(location: SourceLocation, record: Record, refusals: Refusals) -> Record | None:
    """Ask the question with its choices. The accepted answers name the right one, and none names another choice."""
    choices, question, answer = list_choices(record), find_question(record), find_answer(record)
    index = find_index(answer, choices)
    if answer is not None and index is None:
        name = next(name for name in ANSWERS if record.get(name) not in (None, ""))
        refusals.add(location, f"`{name}` names none of the {len(choices)} choices.", name)
        return None
    fields = {
        "input": "\n".join([str(question), *(f"{label}. {text}" for label, text in choices)]),
        "expected": None if index is None else list_names(index, choices),
    }
    metadata = {"question": question, "choices": dict(choices)}
    return rebuild(record, (*CHOICES, *ANSWERS, *QUESTIONS, *(label for label, _ in choices)), fields, metadata)


def list_names(index: int, choices: list[tuple[str, str]]) -> list[str | int]:
    """Return label, text and index of a choice, without those that are the label or the text of another one."""
    label, text = choices[index]
    others = {name.strip().casefold() for i, pair in enumerate(choices) if i != index for name in pair}
    names: list[str | int] = [label]
    if text.strip().casefold() not in others | {label.casefold()}:
        names.append(text)
    if str(index) not in others | {label, text}:
        names.append(index)
    return names


CHOICE_FORMATS = (
    RowFormat("mmlu", "MMLU", is_mmlu, convert_choices),
    RowFormat("arc", "ARC", is_arc, convert_choices),
)
