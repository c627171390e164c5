"""Metrics of what the judge finds in the user's messages: facts that are to be remembered, intentions to be met."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from evaluators.base import JSONValue
from evaluators.judging.dialogues import tasks
from evaluators.judging.dialogues.dialogue import has_text
from evaluators.judging.dialogues.tasks import NOTHING
from evaluators.judging.dialogues.verdicts import (
    INDEX,
    INDEX_OR_NOTHING,
    MAX_NAMED,
    SILENT,
    TEXT,
    TRUTH,
    Entry,
    ListedMetric,
    Verdict,
    compute_share,
    count_held,
    drop_repeats,
    name_exceptions,
    read_index,
    require,
)
from evaluators.judging.readings import read_objects, read_text, read_truth, shortened
from evaluators.messages import Message


class FindingsMetric(ListedMetric):
    """A metric of what the judge finds in the user's messages, each of which it must decide."""

    what: str
    word: str
    follower: str
    """The property with the index of a later message of the assistant."""

    def prepare(self) -> None:
        """Take the user's messages that say something."""
        require(any(message.role == "assistant" for message in self.dialogue.messages), SILENT)
        users = [message for message in self.dialogue.messages if message.role == "user" and has_text(message)]
        self.users = {message.index: message for message in users if self.is_open(message)}
        self.left_out = [message.index for message in users if message.index not in self.users]
        self.to_decide = [str(index) for index in self.users]
        require(self.to_decide, "The user says nothing that is to decide.")

    def is_open(self, message: Message) -> bool:
        """Return whether a message of the user is to decide."""
        return True

    def find_entry_fault(self, entry: Entry) -> str | None:
        """Return whether a finding has words, and whether the message that decides it exists."""
        if not read_truth(entry, f"is_{self.what}"):
            return None
        if not read_text(entry, self.what).strip():
            return f"has no `{self.what}`"
        is_found = bool(self.find_follower(entry))
        is_none = read_index(entry, self.follower) == NOTHING
        if not is_found and not is_none:
            return f"has a `{self.follower}` that is no message of the assistant after its own"
        return self.find_contradiction(read_truth(entry, self.word), is_none)

    def find_contradiction(self, stated: bool, is_none: bool) -> str | None:
        """Return whether the verdict and the message that decides it contradict each other."""
        return None

    def find_follower(self, entry: Entry) -> list[Message]:
        """Return the later message of the assistant that an entry names."""
        index = read_index(entry, self.follower)
        answers = self.dialogue.list_answers_after(self.users[read_index(entry, "message")])
        return [answer for answer in answers if answer.index == index]

    def find_verdicts(self, answer: Entry, passage: str) -> list[Verdict]:
        """Return a verdict for each thing found; `passage` is the property with the user's words about it."""
        found = [entry for entry in read_objects(answer, self.list_name) if read_truth(entry, f"is_{self.what}")]
        return drop_repeats([(read_text(entry, passage), self.judge_entry(entry)) for entry in found])

    @abstractmethod
    def judge_entry(self, entry: Entry) -> Verdict:
        """Return the verdict about one thing found."""

    def describe_entry(self, entry: Entry) -> dict[str, JSONValue]:
        """Return what is shown of one thing found."""
        index = read_index(entry, self.follower)
        follower: dict[str, JSONValue] = {} if index == NOTHING else {self.follower: index}
        return {self.what: shortened(read_text(entry, self.what)), **follower}

    def finish(self, verdicts: Sequence[Verdict]) -> dict[str, JSONValue]:
        """Return the details."""
        left_out: list[JSONValue] = [*self.left_out]
        return {**self.describe(verdicts, self.word), **({"left_out": left_out} if left_out else {})}


class KnowledgeRetention(FindingsMetric):
    """The share of the facts that the user gave which the assistant neither asks for again nor contradicts."""

    prompt_id = "conversation-retention/1"
    list_name, what, word, follower = "facts", "fact", "kept", "broken_by"
    entry = {
        "message": INDEX,
        "is_fact": TRUTH,
        "fact": TEXT,
        "quote": TEXT,
        "broken_by": INDEX_OR_NOTHING,
        "kept": TRUTH,
    }
    task = tasks.FACTS

    def is_open(self, message: Message) -> bool:
        """Return whether the assistant says something later."""
        return any(map(has_text, self.dialogue.list_answers_after(message)))

    def find_contradiction(self, stated: bool, is_none: bool) -> str | None:
        """Return whether a fact that is kept is broken, or one that is not by no message."""
        if stated and not is_none:
            return "is `kept` and has a `broken_by`"
        return "is not `kept` and has no `broken_by`" if not stated and is_none else None

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the share."""
        verdicts = self.find_verdicts(answer, "quote")
        require(verdicts, "The user gives no fact that the assistant could forget.")
        broken = [
            f"message {verdict.details['broken_by']} asks for or contradicts what message {verdict.message} says"
            for verdict in verdicts
            if "broken_by" in verdict.details
        ]
        because = f"{count_held(verdicts)} facts are kept{': ' if broken else ''}{'; '.join(broken[:MAX_NAMED])}."
        return compute_share(verdicts), because, self.finish(verdicts)

    def judge_entry(self, entry: Entry) -> Verdict:
        """Return whether a fact is kept that the user did give."""
        index = read_index(entry, "message")
        quote, is_kept = read_text(entry, "quote"), read_truth(entry, "kept")
        return self.judge(index, is_kept, quote, [self.users[index]], **self.describe_entry(entry))


class Completeness(FindingsMetric):
    """The share of the user's intentions that are met."""

    prompt_id = "conversation-completeness/1"
    list_name, what, word, follower = "intentions", "intention", "met", "answer"
    entry = {
        "message": INDEX,
        "is_intention": TRUTH,
        "intention": TEXT,
        "passage": TEXT,
        "answer": INDEX_OR_NOTHING,
        "quote": TEXT,
        "met": TRUTH,
    }
    task = tasks.INTENTIONS

    def find_contradiction(self, stated: bool, is_none: bool) -> str | None:
        """Return whether an intention is met by no message."""
        return "is `met` and has no `answer`" if stated and is_none else None

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the share."""
        verdicts = self.find_verdicts(answer, "passage")
        require(verdicts, "The user asks for nothing.")
        because = f"{count_held(verdicts)} intentions are met{name_exceptions(verdicts)}."
        return compute_share(verdicts), because, self.finish(verdicts)

    def judge_entry(self, entry: Entry) -> Verdict:
        """Return whether an intention is met that the user did have."""
        index = read_index(entry, "message")
        is_met, answers = read_truth(entry, "met"), self.find_follower(entry)
        details = self.describe_entry(entry)
        asked = self.judge(index, is_met, read_text(entry, "passage"), [self.users[index]])
        if not answers:
            return Verdict(index, asked.holds, is_met, asked.quote_found, details)
        met = self.judge(index, is_met, read_text(entry, "quote"), answers)
        found = None if met.quote_found is None else bool(asked.quote_found) and met.quote_found
        return Verdict(index, asked.holds and met.holds, is_met, found, details)
