"""Read a judge's answer. Its form has been checked already; what still does not fit is an error and never a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evaluators.base import CannotScore, JSONValue, Settings, Span, TransientError, UndecidedReason
from evaluators.gateway import Answer
from evaluators.judging.prompts import strict_object
from evaluators.judging.quotes import LEAST_WORDS, Quotable, locate
from evaluators.judging.settings import fails_unverified, get_least_words

MAX_REASONING = 2_000
MAX_DETAILS = 50
MAX_DETAIL_CHARS = 300
SUMMED = ("calls", "input_tokens", "output_tokens", "cost", "latency_ms")

CHECKS: dict[str, JSONValue] = {
    "type": "array",
    "items": strict_object({"id": {"type": "string"}, "met": {"type": "boolean"}, "quote": {"type": "string"}}),
}
SOME_CHECKS: dict[str, JSONValue] = {**CHECKS, "minItems": 1}
SCORE: JSONValue = {"type": "number", "minimum": 0, "maximum": 1}


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of one answer.

    `extra` has the reasons, `spans` refer to the output, and `label` is the chosen label, if any. `is_weighed`: the
    value is a mean weighted by the probabilities of the possible answers. `undecided` is why it cannot be a pass.
    """

    value: float
    reasoning: str
    extra: Mapping[str, JSONValue] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    label: str | None = None
    is_weighed: bool = False
    undecided: UndecidedReason | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A yes-or-no check by a judge, and whether its quote occurs in the data. `span` is its location in the output.

    `overruled`: the judge answered yes with a quote that does not occur in the data, so `met` is false.
    """

    id: str
    met: bool
    quoted: bool
    verified: bool
    span: Span | None = None
    overruled: bool = False

    def as_json(self) -> dict[str, JSONValue]:
        """Return what goes into `extra`: never the quote itself."""
        row: dict[str, JSONValue] = {"id": self.id, "met": self.met, "quote_found": self.verified}
        if self.overruled:
            row["overruled"] = True
        return row if self.span is None else {**row, "start": self.span[0], "end": self.span[1]}


class QuotedAnswer:
    """The data that a judge may quote, and the rule for a yes whose quote does not occur in them."""

    def __init__(self, texts: Sequence[str], output: str, settings: Settings) -> None:
        """Take the data as they were shown; `output` is where quotes get a position."""
        self.fails = fails_unverified(settings)
        self.quotable = Quotable(texts, loosely=self.fails, least_words=get_least_words(settings))
        self._output = output

    def check(self, name: str, entry: Mapping[str, JSONValue]) -> Check:
        """Read a yes or no with its quote."""
        quote, is_met = read_text(entry, "quote"), read_truth(entry, "met")
        is_quoted, verified = bool(quote.strip()), self.quotable.holds(quote)
        overruled = self.fails and is_met and is_quoted and not verified
        return Check(name, is_met and not overruled, is_quoted, verified, locate(quote, self._output), overruled)

    def checks(self, data: Mapping[str, JSONValue], name: str) -> list[Check]:
        """Read a list of them."""
        return [self.check(shortened(read_text(entry, "id")), entry) for entry in read_objects(data, name)]


def find_short_quotes(
    entries: Iterable[tuple[str, Mapping[str, JSONValue]]], decides: str, quotable: Quotable
) -> str | None:
    """Return what is wrong with quotes that are too short to count, by the names of their entries.

    The words repeat nothing of the data. Only a yes of `decides` needs its quote.
    """
    short = [
        name
        for name, entry in entries
        if read_truth(entry, decides) and quotable.is_too_short(read_text(entry, "quote"))
    ]
    return _describe_short(", ".join(short[:MAX_DETAILS])) if short else None


def _describe_short(names: str) -> str:
    return f"The `quote` of {names} has fewer than {LEAST_WORDS} words; copy the whole passage that decides it."


def share_met(checks: Sequence[Check]) -> float:
    """Return the share of the checks that are met; 1 where there is none."""
    return sum(check.met for check in checks) / len(checks) if checks else 1.0


def checks_extra(checks: Sequence[Check]) -> dict[str, JSONValue]:
    """Return the checks for `extra`, with `quotes_verified`: true, false, or null when nothing was quoted."""
    quoted = [check.verified for check in checks if check.quoted]
    rows: list[JSONValue] = [check.as_json() for check in checks[:MAX_DETAILS]]
    n_overruled = sum(check.overruled for check in checks)
    return {
        "checks": rows,
        "n_checks": len(checks),
        "quotes_verified": all(quoted) if quoted else None,
        **({"n_overruled": n_overruled} if n_overruled else {}),
    }


def list_spans(checks: Sequence[Check], *, met: bool) -> tuple[Span, ...]:
    """Return where in the output the checks with this verdict quote it, in order and without repeats."""
    return tuple(sorted({check.span for check in checks if check.span and check.met is met}))


def read_reasoning(data: Mapping[str, JSONValue]) -> str:
    """Return the reasoning on one line, bounded."""
    return shortened(read_text(data, "reasoning"), MAX_REASONING)


def read_text(data: Mapping[str, JSONValue], name: str) -> str:
    """Return a string, or raise FailedForNow("bad_output")."""
    value = data.get(name)
    if not isinstance(value, str):
        raise unreadable(name)
    return value


def read_truth(data: Mapping[str, JSONValue], name: str) -> bool:
    """Return true or false; anything else is an error, and never a false."""
    value = data.get(name)
    if not isinstance(value, bool):
        raise unreadable(name)
    return value


def read_number(data: Mapping[str, JSONValue], name: str, *, low: float = 0.0, high: float = 1.0) -> float:
    """Return a number between `low` and `high`; anything else is an error."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise unreadable(name)
    if not low <= value <= high:
        raise unreadable(name)
    return float(value)


def read_texts(data: Mapping[str, JSONValue], name: str) -> list[str]:
    """Return a list of strings, the blank ones left out."""
    value = data.get(name)
    if not isinstance(value, list):
        raise unreadable(name)
    texts = [item for item in value if isinstance(item, str)]
    if len(texts) != len(value):
        raise unreadable(name)
    return [text for text in texts if text.strip()]


def read_objects(data: Mapping[str, JSONValue], name: str) -> list[Mapping[str, JSONValue]]:
    """Return a list of objects."""
    value = data.get(name)
    if not isinstance(value, list):
        raise unreadable(name)
    entries: list[Mapping[str, JSONValue]] = [item for item in value if isinstance(item, Mapping)]
    if len(entries) != len(value):
        raise unreadable(name)
    return entries


def unreadable(name: str) -> TransientError:
    """Return the error for an answer without a usable value for `name`."""
    return TransientError("bad_output", f"The judge's answer has no usable `{name}`.")


def shortened(text: str, length: int = MAX_DETAIL_CHARS) -> str:
    """Return a text on one line, cut to a length at which it can be shown."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def sum_usage(answers: Sequence[Answer]) -> dict[str, JSONValue]:
    """Return what answers have cost, for `extra`: numbers added up, the models and prompts listed."""
    return merge_usage([answer.provenance for answer in answers])


def attach_usage(exc: CannotScore, answers: Sequence[Answer]) -> None:
    """Add the usage of answers received before an error to the usage in the error: it is charged all the same."""
    used = (exc.extra or {}).get("judge")
    parts = [answer.provenance for answer in answers] + ([used] if isinstance(used, dict) else [])
    if answers:
        exc.extra = {**(exc.extra or {}), "judge": merge_usage(parts)}


def merge_usage(parts: Sequence[Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """Sum the `provenance` of answers. `cached` means that no call was made; an unknown price gives an unknown cost."""
    before = [part["original_usage"] for part in parts if "original_usage" in part]
    return {
        "connection": next((part["connection"] for part in parts if part.get("connection") is not None), None),
        "models": _distinct(parts, "model"),
        "prompts": _distinct(parts, "prompt_hash"),
        **{name: _total(parts, name) for name in SUMMED},
        "cached": bool(parts) and all(part.get("cached") is True for part in parts),
        "repaired": any(part.get("repaired") is True for part in parts),
        **({"reasoning_tokens": thought} if (thought := sum_reasoning(parts)) else {}),
        **({"usage_estimated": True} if any(part.get("usage_estimated") is True for part in parts) else {}),
        **({"original_usage": before[0]} if len(parts) == len(before) == 1 else {}),
    }


def add_usage(parts: Sequence[Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """Sum the usage of several scores, each as `merge_usage` has it."""
    merged = merge_usage(parts)
    for name in ("models", "prompts"):
        lists = [part.get(name) for part in parts]
        texts = [str(value) for values in lists if isinstance(values, list) for value in values]
        listed: list[JSONValue] = [*dict.fromkeys(texts)]
        merged[name] = listed[:MAX_DETAILS] or merged[name]
    return merged


def sum_reasoning(parts: Sequence[Mapping[str, JSONValue]]) -> int:
    """Return how many of the tokens written were thinking, as far as endpoints tell."""
    counts = [part.get("reasoning_tokens") for part in parts]
    return sum(count for count in counts if isinstance(count, int))


def _distinct(parts: Sequence[Mapping[str, JSONValue]], name: str) -> list[JSONValue]:
    values = [str(part[name]) for part in parts if part.get(name) is not None]
    distinct: list[JSONValue] = [value for value in dict.fromkeys(values)]
    return distinct[:MAX_DETAILS]


def _total(parts: Sequence[Mapping[str, JSONValue]], name: str) -> float | None:
    values = [part.get(name) for part in parts]
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return sum(numbers) if len(numbers) == len(values) else None
