"""Problems of a definition of one of OpenAI's graders, reported when the profile is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evaluators.base import JSONValue, Settings, SettingsProblem
from evaluators.checks.formula import BadFormula, parse_formula
from evaluators.checks.graders import ANSWER_TOKENS, MEASURES, TYPES, content_texts, drop_nulls, members
from evaluators.checks.references import parse_reference
from evaluators.checks.templates import size_problems, tokens
from evaluators.settings import THRESHOLD, object_schema, settings_problems

MAX_GRADERS = 20
MAX_MESSAGES = 50
MAX_LABELS = 100
MAX_ANSWER_TOKENS = 131_072
MAX_GRADE = 1e9
"""Either end of a range, without its sign: the width of the range is a number that can be divided by."""
TEXT: dict[str, JSONValue] = {"type": "string"}
# The API adds an id to each criterion that it answers.
_NAMED: dict[str, JSONValue] = {"type": TEXT, "name": TEXT, "id": TEXT}
_COMPARING: dict[str, JSONValue] = {**_NAMED, "input": TEXT, "reference": TEXT}
_MESSAGE: dict[str, JSONValue] = {
    "type": "object",
    "properties": {"role": {"type": "string", "enum": ["system", "developer", "user", "assistant"]}, "type": TEXT},
    "required": ["role", "content"],
}
_ASKING: dict[str, JSONValue] = {
    **_NAMED,
    "model": {"type": "string", "minLength": 1, "maxLength": 200},
    "input": {"type": "array", "items": _MESSAGE, "minItems": 1, "maxItems": MAX_MESSAGES},
    "sampling_params": {
        "type": "object",
        "properties": {
            "temperature": {"type": "number", "minimum": 0},
            **{name: {"type": "integer", "minimum": 1, "maximum": MAX_ANSWER_TOKENS} for name in ANSWER_TOKENS},
        },
    },
    # The connection is our own addition: OpenAI's graders could only use OpenAI's models.
    "connection": TEXT,
    "timeout_seconds": {"type": "number", "minimum": 1},
    "no_cache": {"type": "boolean"},
}
_LABELS: dict[str, JSONValue] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "minItems": 1,
    "maxItems": MAX_LABELS,
    "uniqueItems": True,
}
_SCHEMAS: dict[str, Mapping[str, JSONValue]] = {
    "string_check": object_schema(
        {**_COMPARING, "operation": {"type": "string", "enum": ["eq", "ne", "neq", "like", "ilike"]}},
        required=["input", "reference", "operation"],
    ),
    "text_similarity": object_schema(
        {
            **_COMPARING,
            "evaluation_metric": {"type": "string", "enum": [*MEASURES, "meteor"]},
            "pass_threshold": THRESHOLD,
        },
        required=["input", "reference", "evaluation_metric"],
    ),
    "score_model": object_schema(
        {
            **_ASKING,
            "range": {
                "type": "array",
                "items": {"type": "number", "minimum": -MAX_GRADE, "maximum": MAX_GRADE},
                "minItems": 2,
                "maxItems": 2,
            },
            "pass_threshold": {"type": "number"},
        },
        required=["model", "input"],
    ),
    "label_model": object_schema(
        {**_ASKING, "labels": _LABELS, "passing_labels": _LABELS},
        required=["model", "input", "labels", "passing_labels"],
    ),
    "multi": object_schema(
        {**_NAMED, "graders": {"type": "object"}, "calculate_output": TEXT, "pass_threshold": THRESHOLD},
        required=["graders", "calculate_output"],
    ),
}
_NO_PYTHON = (
    "cannot be python: no code of yours runs on the server. Run it behind a URL as a webhook evaluator, or send its "
    "scores as client-side evaluations"
)
_NO_METEOR = (
    "cannot be meteor: it needs the WordNet dictionary, which is not part of this service. Use gleu, rouge_l or cosine"
)


def grader_problems(settings: Settings, pointer: str = "") -> list[SettingsProblem]:
    """List the problems that prevent a grader definition from being run, each with a JSON pointer."""
    return list(_problems(drop_nulls(settings), pointer))


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    kind = settings.get("type")
    if kind == "python":
        yield SettingsProblem(f"{pointer}/type", _NO_PYTHON)
        return
    if not isinstance(kind, str) or kind not in TYPES:
        yield SettingsProblem(f"{pointer}/type", f"must be one of {', '.join(sorted(TYPES))}")
        return
    problems = settings_problems(settings, _SCHEMAS[kind])
    yield from (SettingsProblem(pointer + problem.pointer, problem.detail) for problem in problems)
    # What follows reads the values, and takes their types for granted.
    if not problems:
        yield from _meaning(kind, settings, pointer)


def _meaning(kind: str, settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    if kind == "multi":
        yield from _multi_problems(settings, pointer)
    elif kind in ("score_model", "label_model"):
        yield from _message_problems(settings, pointer)
        yield from _score_problems(settings, pointer) if kind == "score_model" else _label_problems(settings, pointer)
    else:
        for name in ("input", "reference"):
            yield from _template_problems(str(settings[name]), f"{pointer}/{name}")
        if settings.get("evaluation_metric") == "meteor":
            yield SettingsProblem(f"{pointer}/evaluation_metric", _NO_METEOR)


def _multi_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    graders = settings["graders"]
    names = list(graders) if isinstance(graders, Mapping) else []
    if not 1 <= len(names) <= MAX_GRADERS or len(members(settings)) != len(names):
        yield SettingsProblem(f"{pointer}/graders", f"must hold 1 to {MAX_GRADERS} graders by their names")
        return
    for name, member in members(settings).items():
        where = f"{pointer}/graders/{name}"
        if not name.isidentifier():
            yield SettingsProblem(where, "must be named by letters, digits and _, for the formula to name it")
        elif member.get("type") == "multi":
            yield SettingsProblem(f"{where}/type", "cannot be multi within multi")
        else:
            yield from _problems(member, where)
    try:
        parse_formula(str(settings["calculate_output"]), frozenset(names))
    except BadFormula as exc:
        yield SettingsProblem(f"{pointer}/calculate_output", str(exc))


def _score_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    ends = settings.get("range", [0, 1])
    low, high = ends if isinstance(ends, list) else (0, 1)
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high):
        yield SettingsProblem(f"{pointer}/range", "must be two numbers, the lower first")
        return
    threshold = settings.get("pass_threshold", low)
    if isinstance(threshold, (int, float)) and not low <= threshold <= high:
        yield SettingsProblem(f"{pointer}/pass_threshold", f"must lie within the range, {low} to {high}")


def _label_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    labels, passing = settings["labels"], settings["passing_labels"]
    if isinstance(labels, list) and isinstance(passing, list):
        for index, label in enumerate(passing):
            if label not in labels:
                yield SettingsProblem(f"{pointer}/passing_labels/{index}", "must be one of the labels")


def _message_problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    messages = settings["input"]
    for index, message in enumerate(messages if isinstance(messages, list) else []):
        where = f"{pointer}/input/{index}/content"
        content = message["content"] if isinstance(message, Mapping) else None
        if not _is_text(content):
            yield SettingsProblem(where, "must be text; images and sound are not read here")
            continue
        for text in content_texts(content):
            yield from _template_problems(text, where)


def _is_text(content: JSONValue) -> bool:
    parts = content if isinstance(content, list) else [content]
    return bool(parts) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str)) for part in parts
    )


def _template_problems(text: str, pointer: str) -> Iterator[SettingsProblem]:
    yield from (SettingsProblem(pointer, problem) for problem in size_problems(text))
    for token in tokens(text):
        try:
            parse_reference(token)
        except ValueError as exc:
            yield SettingsProblem(pointer, str(exc))
