"""OpenAI's graders, run locally: string_check, text_similarity, multi, and the score_model and label_model questions.

The service that they were written for ends on 2026-11-30. Field names and verdicts follow its documentation;
docs/openai-graders.md documents the choices made where that is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluators import budget
from evaluators.base import CannotScore, JSONValue, Sample, Settings
from evaluators.checks.formula import BadFormula, parse_formula
from evaluators.checks.outcome import Outcome, verdict
from evaluators.checks.references import UnfilledReference, parse_reference, resolve_reference
from evaluators.checks.similarity import EMBEDDED, measure_similarity
from evaluators.checks.templates import fill

DEFAULT_THRESHOLD = 0.5
"""Where a definition gives none; of a score model, this share of its range."""
MEASURES = {
    "fuzzy_match": "fuzzy",
    "bleu": "bleu",
    "gleu": "gleu",
    "cosine": EMBEDDED,
    **{f"rouge_{n}": f"rouge{n}" for n in range(1, 6)},
    "rouge_l": "rougeL",
}
"""`evaluation_metric` of a text_similarity grader, and our measure for it."""
ANSWER_TOKENS = ("max_completion_tokens", "max_completions_tokens")
"""The setting by its name in the API, and by that in OpenAI's own examples."""
ASKING = frozenset({"score_model", "label_model"})
TYPES = frozenset({"string_check", "text_similarity", "multi", "python", *ASKING})


@dataclass(frozen=True, slots=True)
class ModelGrader:
    """A question to a model, with the sample filled in.

    A score model answers with a number in `range` and passes from `pass_threshold` on, which is in the same units. A
    label model has `labels`, answers with one of them and passes with one of `passing_labels`.
    """

    messages: tuple[tuple[str, str], ...]
    labels: tuple[str, ...]
    passing_labels: tuple[str, ...]
    range: tuple[float, float]
    pass_threshold: float
    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None


Ask = Callable[[ModelGrader], float]
"""Tells what a model said: a score model's number, within its range; of a label model 1.0 for a passing one, else 0."""


def is_grader(settings: Settings) -> bool:
    """Return whether settings are one of OpenAI's grader definitions."""
    return str(settings.get("type")) in TYPES


def drop_nulls(settings: Settings) -> dict[str, JSONValue]:
    """Return a definition without members that are null at any depth: clients fetch unset ones as null."""
    return {name: _drop_nulls(value) for name, value in settings.items() if value is not None}


def _drop_nulls(value: JSONValue) -> JSONValue:
    if isinstance(value, Mapping):
        return drop_nulls(value)
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value


def asks_model(settings: Settings) -> bool:
    """Return whether running the grader takes an answer of a model."""
    return any(member.get("type") in ASKING for member in (settings, *members(settings).values()))


def uses_embedding(settings: Settings) -> bool:
    """Return whether running the grader takes the small sentence model."""
    return any(member.get("evaluation_metric") == "cosine" for member in (settings, *members(settings).values()))


def members(settings: Settings) -> dict[str, Settings]:
    """Return the named graders of a `multi`; of others, none."""
    graders = settings.get("graders")
    if settings.get("type") != "multi" or not isinstance(graders, Mapping):
        return {}
    return {str(name): member for name, member in graders.items() if isinstance(member, Mapping)}


def model_grader(settings: Settings, sample: Sample) -> ModelGrader:
    """Translate a score_model or label_model definition. Raises Unfilled when the sample lacks what it names."""
    low, high = _range(settings)
    threshold = _number(settings.get("pass_threshold"))
    sampling = settings.get("sampling_params")
    sampling = sampling if isinstance(sampling, Mapping) else {}
    return ModelGrader(
        messages=tuple(_message(message, sample) for message in _items(settings, "input")),
        labels=tuple(map(str, _items(settings, "labels"))),
        passing_labels=tuple(map(str, _items(settings, "passing_labels"))),
        range=(low, high),
        pass_threshold=low + DEFAULT_THRESHOLD * (high - low) if threshold is None else threshold,
        model=str(settings["model"]),
        temperature=_number(sampling.get("temperature")),
        max_output_tokens=next((n for name in ANSWER_TOKENS if (n := _to_whole(sampling.get(name)))), None),
    )


def model_graders(settings: Settings, sample: Sample) -> list[ModelGrader]:
    """List the questions that `grade` sends to a model about the sample.

    Empty if the sample lacks a field that one of them reads.
    """
    asking = [
        model_members
        for model_members in (settings, *members(settings).values())
        if model_members.get("type") in ASKING
    ]
    try:
        return [model_grader(member, sample) for member in asking]
    except UnfilledReference:
        return []


def grade(settings: Settings, sample: Sample, ask: Ask | None = None) -> Outcome:
    """Run a definition that has passed `grader_problems`. `ask` is required if `asks_model` is true.

    `ask` needs to answer only the questions of `model_graders`: for a `multi`, all questions are built before the first
    is sent.

    An output without a part that the definition reads, for example because it is not JSON, scores 0; a row without such
    a part raises UnfilledReference.
    """
    try:
        return _grade(settings, sample, ask)
    except UnfilledReference as exc:
        if not exc.in_output:
            raise
        return verdict(False, exc.detail[0].lower() + exc.detail[1:-1])


def _grade(settings: Settings, sample: Sample, ask: Ask | None) -> Outcome:
    budget.check()
    kind = settings["type"]
    if kind == "string_check":
        return _string_check(settings, sample)
    if kind == "text_similarity":
        return _text_similarity(settings, sample)
    return _multi(settings, sample, ask) if kind == "multi" else _ask_model(settings, sample, ask)


def _string_check(settings: Settings, sample: Sample) -> Outcome:
    operation = str(settings["operation"])
    output, reference = _filled(settings, "input", sample), _filled(settings, "reference", sample)
    if operation in ("eq", "ne", "neq"):
        passed = (output == reference) is (operation == "eq")
        because = "the input equals the reference" if output == reference else "the input differs from the reference"
        return verdict(passed, because, operation=operation)
    if operation == "ilike":
        output, reference = output.casefold(), reference.casefold()
    is_contained = reference in output
    return verdict(
        is_contained,
        f"the input {'contains' if is_contained else 'does not contain'} the reference",
        operation=operation,
    )


def _text_similarity(settings: Settings, sample: Sample) -> Outcome:
    metric = str(settings["evaluation_metric"])
    output, reference = _filled(settings, "input", sample), _filled(settings, "reference", sample)
    return _compare_value(
        measure_similarity(MEASURES[metric], output, reference), settings, metric, {"evaluation_metric": metric}
    )


def _multi(settings: Settings, sample: Sample, ask: Ask | None) -> Outcome:
    grades: dict[str, float] = {}
    details: dict[str, JSONValue] = {}
    parts = members(settings)
    asking = {name: model_grader(member, sample) for name, member in parts.items() if member["type"] in ASKING}
    for name, member in parts.items():
        if name in asking:
            grades[name] = _answer(asking[name], ask)
            details[name] = {"grade": grades[name]}
        else:
            outcome = grade(member, sample)
            grades[name] = outcome.value
            details[name] = {"grade": outcome.value, "because": outcome.because}
    try:
        value = parse_formula(str(settings["calculate_output"]), frozenset(grades))(grades)
    except BadFormula as exc:
        raise CannotScore("invalid_settings", f"`calculate_output` {exc}.", extra={"graders": details}) from None
    detail: dict[str, JSONValue] = {"graders": details, "calculated": value}
    return _compare_value(min(max(value, 0.0), 1.0), settings, "the formula", detail)


def _ask_model(settings: Settings, sample: Sample, ask: Ask | None) -> Outcome:
    grader = model_grader(settings, sample)
    number = _answer(grader, ask)
    if grader.labels:
        because = "the model's label is " + ("a passing one" if number else "not a passing one")
        return verdict(bool(number), because)
    low, high = grader.range
    passed = number >= grader.pass_threshold
    verb = "reaches" if passed else "is below"
    because = f"the model's score of {number:g} {verb} the threshold of {grader.pass_threshold:g}"
    return Outcome((number - low) / (high - low), passed, because, {"score": number, "range": [low, high]})


def _answer(grader: ModelGrader, ask: Ask | None) -> float:
    if ask is None:
        raise CannotScore("not_configured", "This grader asks a model, and none can be asked here.")
    low, high = (0.0, 1.0) if grader.labels else grader.range
    return min(max(ask(grader), low), high)


def _compare_value(value: float, settings: Settings, what: str, detail: dict[str, JSONValue]) -> Outcome:
    pass_threshold = _number(settings.get("pass_threshold"))
    threshold = DEFAULT_THRESHOLD if pass_threshold is None else pass_threshold
    passed = value >= threshold
    verb = "reaches" if passed else "is below"
    return Outcome(value, passed, f"{what} gives {value:.2f}, which {verb} the threshold of {threshold:g}", detail)


def _filled(settings: Settings, name: str, sample: Sample) -> str:
    return _fill(str(settings[name]), sample)


def _fill(text: str, sample: Sample) -> str:
    return fill(text, lambda token: resolve_reference(parse_reference(token), sample))


def _message(message: JSONValue, sample: Sample) -> tuple[str, str]:
    if not isinstance(message, Mapping):
        raise TypeError("a message is an object")
    return str(message["role"]), "\n".join(_fill(text, sample) for text in content_texts(message["content"]))


def content_texts(content: JSONValue) -> list[str]:
    """List the texts of a message's content: a string, a part with a `text`, or a list of both."""
    parts = content if isinstance(content, list) else [content]
    return [str(part["text"]) if isinstance(part, Mapping) else str(part) for part in parts]


def _items(settings: Settings, name: str) -> list[JSONValue]:
    items = settings.get(name)
    return items if isinstance(items, list) else []


def _range(settings: Settings) -> tuple[float, float]:
    ends = [_number(item) for item in _items(settings, "range")]
    low, high = ends if len(ends) == 2 else (0.0, 1.0)
    return (0.0 if low is None else low), (1.0 if high is None else high)


def _number(value: JSONValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _to_whole(value: JSONValue) -> int | None:
    return value if isinstance(value, int) else None
