"""A judge's list of verdicts about a conversation: whether it is complete, and the parts that all metrics have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluators.base import CannotScore, JSONValue, Settings
from evaluators.gateway import Answer, Question
from evaluators.judging.dialogues.dialogue import Dialogue
from evaluators.judging.dialogues.tasks import FORM, NOTHING
from evaluators.judging.prompts import Data, answer_schema, question, strict_object
from evaluators.judging.readings import (
    MAX_DETAILS,
    Reading,
    read_number,
    read_objects,
    read_reasoning,
)
from evaluators.judging.settings import answer_tokens, fails_unverified
from evaluators.messages import Conversation, Message, Reference

Entry = Mapping[str, JSONValue]
MAX_ENTRIES = 2_000
MAX_NAMED = 20
SILENT = "The assistant says and does nothing."
INDEX: JSONValue = {"type": "integer", "minimum": 0}
INDEX_OR_NOTHING: JSONValue = {"type": "integer", "minimum": NOTHING}
TEXT: JSONValue = {"type": "string"}
TRUTH: JSONValue = {"type": "boolean"}
_TOKENS, _TOKENS_OF_AN_ENTRY, _MOST_TOKENS = 2_048, 128, 16_384


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict of the judge about a message or a call.

    `holds` is what counts. `stated` is what the judge said: a yes without a quote that stands in its message is a no,
    unless the profile flags it. `quote_found` is None where nothing can be quoted.
    """

    message: int
    holds: bool
    stated: bool
    quote_found: bool | None
    details: Mapping[str, JSONValue] = field(default_factory=dict)

    def row(self, name: str) -> dict[str, JSONValue]:
        """Return what goes into `extra`, with the verdict under its name: never the quote itself."""
        overruled: dict[str, JSONValue] = {"overruled": True} if self.stated and not self.holds else {}
        row: dict[str, JSONValue] = {"message": self.message, **self.details, name: self.holds}
        return {**row, "quote_found": self.quote_found, **overruled}


class ConversationMetric(ABC):
    """One question about a conversation, and how its answer becomes a score."""

    prompt_id: str
    task: str

    def __init__(self, conversation: Conversation, reference: Reference, settings: Settings) -> None:
        """Take what was sent. Raises CannotScore: `missing_input`, or `not_applicable` where nothing is to decide."""
        self.settings = settings
        self.is_strict = fails_unverified(settings)
        self.dialogue = Dialogue(conversation, loosely=self.is_strict)
        self.reference = reference
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Find what is to decide."""

    @abstractmethod
    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return the data besides the conversation."""

    @abstractmethod
    def properties(self) -> dict[str, JSONValue]:
        """Describe the answer, without its reasoning."""

    @abstractmethod
    def find_fault(self, answer: Entry) -> str | None:
        """Return what is wrong with an answer that fits the schema, without a word of the data, or None."""

    @abstractmethod
    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the value, the sentence about it and the details. Raises CannotScore("not_applicable")."""

    def count_entries(self) -> int:
        """Return how many verdicts are expected at least."""
        return 1

    def question(self) -> Question:
        """Build the question."""
        data: Data = [*self.data(), ("CONVERSATION", self.dialogue.entries())]
        n_tokens = min(_MOST_TOKENS, _TOKENS + _TOKENS_OF_AN_ENTRY * self.count_entries())
        return question(
            self.prompt_id,
            task=f"{self.task}\n\n{FORM}",
            data=data,
            schema=answer_schema(self.properties()),
            max_output_tokens=answer_tokens(self.settings, n_tokens),
            check=self.find_fault,
        )

    def read(self, answer: Answer) -> Reading:
        """Read an answer that has no fault."""
        value, because, extra = self.measure(answer.data)
        shortened: dict[str, JSONValue] = {}
        if self.dialogue.shortened:
            indices: list[JSONValue] = [*self.dialogue.shortened]
            shortened = {"shortened_results": indices}
            because = f"{because} Of long results ({name_messages(self.dialogue.shortened)}) the judge saw parts."
        return Reading(value, f"{because} {read_reasoning(answer.data)}".rstrip(), {**extra, **shortened})

    def judge(self, index: int, stated: bool, quote: str, messages: Sequence[Message], **details: JSONValue) -> Verdict:
        """Return a verdict, which holds where the quote stands in one of the messages."""
        is_found = self.dialogue.is_quoted(quote, messages)
        holds = stated and not (is_found is False and self.is_strict)
        return Verdict(index, holds, stated, is_found, details)


class ListedMetric(ConversationMetric):
    """A metric whose answer is a list, in which everything that is `to_decide` has an entry."""

    list_name: str
    entry: Mapping[str, JSONValue]
    to_decide: list[str]
    """Indices of messages, or numbers of calls such as `2.1`."""

    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return what is to decide."""
        return [("TO DECIDE", self.to_decide)]

    def properties(self) -> dict[str, JSONValue]:
        """Describe the list."""
        return {self.list_name: {"type": "array", "items": strict_object(self.entry)}}

    def count_entries(self) -> int:
        """Return how many entries are expected at least."""
        return len(self.to_decide)

    def find_fault(self, answer: Entry) -> str | None:
        """Return what is wrong: an entry about something else, something without an entry, or half an entry."""
        entries = read_objects(answer, self.list_name)
        if len(entries) > MAX_ENTRIES:
            return f"There are more than {MAX_ENTRIES} {self.list_name}."
        keys = [self.key(entry) for entry in entries]
        foreign = [number for number, key in enumerate(keys, start=1) if key not in self.to_decide]
        if foreign:
            return f"Of `{self.list_name}`, the entries {_join(foreign)} are about nothing that is TO DECIDE."
        if missing := [key for key in self.to_decide if key not in keys]:
            return f"`{self.list_name}` has no entry for {_join(missing)}; everything TO DECIDE must be decided."
        for number, entry in enumerate(entries, start=1):
            if fault := self.find_entry_fault(entry):
                return f"Of `{self.list_name}`, the entry {number} {fault}."
        return None

    def key(self, entry: Entry) -> str:
        """Return what an entry is about."""
        return str(read_index(entry, "message"))

    def find_entry_fault(self, entry: Entry) -> str | None:
        """Return what is wrong with an entry about something that is to decide."""
        return None

    def describe(self, verdicts: Sequence[Verdict], word: str, **counts: JSONValue) -> dict[str, JSONValue]:
        """Return the verdicts for `extra`, each with its `word`, the counts, and whether all quotes were found."""
        rows: list[JSONValue] = [verdict.row(word) for verdict in verdicts[:MAX_DETAILS]]
        quoted = [verdict.quote_found for verdict in verdicts if verdict.quote_found is not None]
        n_overruled = sum(verdict.stated and not verdict.holds for verdict in verdicts)
        return {
            self.list_name: rows,
            f"n_{self.list_name}": len(verdicts),
            **counts,
            "quotes_verified": all(quoted) if quoted else None,
            **({"n_overruled": n_overruled} if n_overruled else {}),
        }


def read_index(entry: Entry, name: str) -> int:
    """Return the index of a message, or NOTHING."""
    return int(read_number(entry, name, low=NOTHING, high=float("inf")))


def merge_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return one verdict for each message, which holds where all of its verdicts do."""
    groups: dict[int, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.message, []).append(verdict)
    return [_merge(group) for _, group in sorted(groups.items())]


def _merge(group: Sequence[Verdict]) -> Verdict:
    found = [verdict.quote_found for verdict in group]
    repeated: dict[str, JSONValue] = {"n_verdicts": len(group)} if len(group) > 1 else {}
    worst = next((verdict for verdict in group if not verdict.holds), group[0])
    return Verdict(
        worst.message,
        all(verdict.holds for verdict in group),
        all(verdict.stated for verdict in group),
        None if None in found else all(found),
        {**worst.details, **repeated},
    )


def drop_repeats(verdicts: Sequence[tuple[str, Verdict]]) -> list[Verdict]:
    """Return the verdicts without those about the same passage of the same message; a no wins over a yes.

    Each comes with the passage that it is about. A passage that is part of another one is the same.
    """
    groups: list[tuple[str, list[Verdict]]] = []
    for passage, verdict in verdicts:
        folded = " ".join(passage.casefold().split())
        for known, group in groups:
            if group[0].message == verdict.message and folded and (folded in known or known in folded):
                group.append(verdict)
                break
        else:
            groups.append((folded, [verdict]))
    return [_merge(group) for _, group in groups]


def name_messages(indices: Sequence[int]) -> str:
    """Return "message 4", or "messages 4, 6"."""
    distinct = sorted(set(indices))
    return f"message{'s' if len(distinct) > 1 else ''} {_join(distinct)}"


def _join(items: Sequence[int | str]) -> str:
    suffix = f" and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else ""
    return ", ".join(map(str, items[:MAX_NAMED])) + suffix


def require(found: object, detail: str, *, code: str = "not_applicable") -> None:
    """Raise CannotScore where nothing was found."""
    if not found:
        raise CannotScore(code, detail)


def compute_share(verdicts: Sequence[Verdict]) -> float:
    """Return the share of the verdicts that hold, of which there is at least one."""
    return sum(verdict.holds for verdict in verdicts) / len(verdicts)


def count_held(verdicts: Sequence[Verdict]) -> str:
    """Return "2 of 3"."""
    return f"{sum(verdict.holds for verdict in verdicts)} of {len(verdicts)}"


def name_failed(verdicts: Sequence[Verdict]) -> str:
    """Name the messages of the verdicts that do not hold."""
    return name_messages([verdict.message for verdict in verdicts if not verdict.holds])


def name_exceptions(verdicts: Sequence[Verdict]) -> str:
    """Return ", but not message 4", or nothing where all hold."""
    return "" if all(verdict.holds for verdict in verdicts) else f", but not {name_failed(verdicts)}"
