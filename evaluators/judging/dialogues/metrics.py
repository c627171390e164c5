"""What a judge is asked about a conversation, and how its verdicts become a score.

Each share is over what was to decide or was found; over nothing it is undefined, and never 1.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from evaluators.base import CannotScore, JSONValue
from evaluators.judging.dialogues import tasks
from evaluators.judging.dialogues.dialogue import has_text
from evaluators.judging.dialogues.findings import Completeness, KnowledgeRetention
from evaluators.judging.dialogues.verdicts import (
    INDEX,
    MAX_NAMED,
    SILENT,
    TEXT,
    TRUTH,
    ConversationMetric,
    Entry,
    ListedMetric,
    Verdict,
    compute_share,
    count_held,
    merge_verdicts,
    name_exceptions,
    name_failed,
    name_messages,
    read_index,
    require,
)
from evaluators.judging.readings import read_objects, read_text, read_truth, shortened
from evaluators.messages import Message, Tool

SCORES = ("f1", "precision", "recall")
"""Of topic adherence."""


class GoalAccuracy(ConversationMetric):
    """1 where the user's goal was reached, else 0. A goal that was not sent is inferred, and `extra` says so."""

    prompt_id = "conversation-goal/1"

    def prepare(self) -> None:
        """Look for a goal, or for a user who may have one."""
        messages = self.dialogue.messages
        require(any(message.role == "assistant" for message in messages), SILENT)
        self.goal = (self.reference.goal or "").strip()
        is_known = self.goal or any(message.role == "user" and has_text(message) for message in messages)
        require(is_known, "No goal was sent, and the user says nothing of which it could be inferred.")
        self.task = "\n".join([tasks.GOAL, tasks.KNOWN_GOAL if self.goal else tasks.INFERRED_GOAL, tasks.REACHED])

    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return the goal and the final state, as far as they were sent."""
        state = self.dialogue.final_state()
        goal: list[tuple[str, str | Sequence[str]]] = [("GOAL", self.goal)] if self.goal else []
        return [*goal, *([("FINAL STATE", state)] if state is not None else [])]

    def properties(self) -> dict[str, JSONValue]:
        """Describe one verdict, after the goal where it is inferred."""
        goal: dict[str, JSONValue] = {} if self.goal else {"goal": TEXT, "goal_message": INDEX}
        return {**goal, "message": INDEX, "quote": TEXT, "reached": TRUTH}

    def find_fault(self, answer: Entry) -> str | None:
        """Return whether the messages exist, and whether there is a goal."""
        if not self._find_deciding(answer):
            return "`message` is the index of no message of the assistant and of no result."
        if not self.goal and not read_text(answer, "goal").strip():
            return "`goal` says nothing."
        if not self.goal and not self.dialogue.find(read_index(answer, "goal_message"), "user"):
            return "`goal_message` is the index of no message of the user."
        return None

    def _find_deciding(self, answer: Entry) -> list[Message]:
        return self.dialogue.find(read_index(answer, "message"), "assistant", "tool")

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return 1 or 0."""
        index, quote = read_index(answer, "message"), read_text(answer, "quote")
        state = self.dialogue.final_state()
        deciding = self._find_deciding(answer) + ([Message("tool", state)] if state is not None else [])
        verdict = self.judge(index, read_truth(answer, "reached"), quote, deciding)
        inferred: dict[str, JSONValue] = {}
        because = f"The goal is{'' if verdict.holds else ' not'} reached, by message {index}."
        if not self.goal:
            source = read_index(answer, "goal_message")
            inferred = {"goal": shortened(read_text(answer, "goal")), "goal_message": source}
            because = f"The goal is inferred from message {source}. {because}"
        return float(verdict.holds), because, {"goal_inferred": not self.goal, **inferred, **verdict.row("reached")}


class TopicAdherence(ListedMetric):
    """Precision, recall or F1 of the turns that are answered, where those on a topic are the ones to answer."""

    prompt_id = "conversation-topics/1"
    list_name = "turns"
    entry = {"message": INDEX, "on_topic": TRUTH, "answer": INDEX, "quote": TEXT, "answered": TRUTH}
    task = tasks.TOPICS

    def prepare(self) -> None:
        """Take the turns that have a text and an answer."""
        self.topics = [topic for topic in self.reference.topics if topic.strip()]
        require(self.topics, "`reference` has no `topics`.", code="missing_input")
        turns = self.dialogue.turns()
        self.turns = {turn.user.index: turn for turn in turns if turn.answers and has_text(turn.user)}
        self.left_out = [turn.user.index for turn in turns if turn.user.index not in self.turns]
        self.to_decide = [str(index) for index in self.turns]
        require(self.to_decide, "No message of the user has a text and an answer.")

    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return the topics, and what is to decide."""
        return [("TOPICS", self.topics), *super().data()]

    def find_entry_fault(self, entry: Entry) -> str | None:
        """Return whether the answer belongs to the turn."""
        return None if self._find_answer(entry) else "has an `answer` that is no message of the assistant in its turn"

    def _find_answer(self, entry: Entry) -> list[Message]:
        index = read_index(entry, "answer")
        return [answer for answer in self.turns[read_index(entry, "message")].answers if answer.index == index]

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the score that the profile names.

        Precision and recall are null in the details where nothing was answered, or nothing is on topic.
        """
        verdicts = [self._judge(entry) for entry in read_objects(answer, self.list_name)]
        verdicts = merge_verdicts(sorted(verdicts, key=_rank_turn))
        n = Counter((verdict.details["on_topic"], verdict.details["answered"]) for verdict in verdicts)
        right, wrong, unanswered = n[True, True], n[False, True], n[True, False]
        require(right + wrong + unanswered, "No turn is about a topic, and none of the others is answered.")
        scores: dict[str, float | None] = {
            "f1": 2 * right / (2 * right + wrong + unanswered),
            "precision": right / (right + wrong) if right + wrong else None,
            "recall": right / (right + unanswered) if right + unanswered else None,
        }
        name = str(self.settings.get("topic_score", SCORES[0]))
        value = scores[name]
        extra = self.describe(verdicts, "right", **scores)
        if value is None:
            raise CannotScore(
                "not_applicable", f"No turn is {'answered' if name == 'precision' else 'on topic'}: no {name}."
            )
        left_out: list[JSONValue] = [*self.left_out]
        return value, _describe_turns(verdicts), extra | ({"left_out": left_out} if left_out else {})

    def _judge(self, entry: Entry) -> Verdict:
        """Return the verdict about a turn. One that is unfounded is the opposite: answered or not."""
        is_on_topic, is_answered = read_truth(entry, "on_topic"), read_truth(entry, "answered")
        index, quote, answers = read_index(entry, "message"), read_text(entry, "quote"), self._find_answer(entry)
        verdict = self.judge(index, is_on_topic == is_answered, quote, answers)
        is_answered = is_on_topic if verdict.holds else not is_on_topic
        details: dict[str, JSONValue] = {"on_topic": is_on_topic, "answered": is_answered, "answer": answers[0].index}
        return Verdict(index, verdict.holds, verdict.stated, verdict.quote_found, details)


class RoleAdherence(ListedMetric):
    """The share of the assistant's messages that keep to the role."""

    prompt_id = "conversation-role/1"
    list_name = "messages"
    entry = {"message": INDEX, "quote": TEXT, "in_role": TRUTH}
    task = tasks.ROLE

    def prepare(self) -> None:
        """Take the assistant's messages that say something."""
        self.role = (self.reference.role or "").strip()
        require(self.role, "`reference` has no `role`.", code="missing_input")
        messages = [message for message in self.dialogue.messages if message.role == "assistant" and has_text(message)]
        self.to_decide = [str(message.index) for message in messages]
        require(messages, "The assistant says nothing.")

    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return the role, and what is to decide."""
        return [("ROLE", self.role), *super().data()]

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the share; several remarks on a message are one verdict."""
        verdicts = merge_verdicts([self._judge(entry) for entry in read_objects(answer, self.list_name)])
        value = compute_share(verdicts)
        because = f"{count_held(verdicts)} messages of the assistant keep to the role{name_exceptions(verdicts)}."
        return value, because, self.describe(verdicts, "in_role")

    def _judge(self, entry: Entry) -> Verdict:
        index = read_index(entry, "message")
        messages = self.dialogue.find(index, "assistant")
        return self.judge(index, read_truth(entry, "in_role"), read_text(entry, "quote"), messages)


class ToolChoice(ListedMetric):
    """The share of right calls of tools. A turn without a call that needed one counts as a wrong call."""

    prompt_id = "conversation-tools/1"
    list_name = "calls"
    entry = {"message": INDEX, "call": INDEX, "quote": TEXT, "right": TRUTH}
    task = tasks.TOOLS

    def prepare(self) -> None:
        """Take the calls, and the turns without one."""
        require(self.dialogue.conversation.tools is not None, "`conversation` has no `tools`.", code="missing_input")
        turns = [turn.answers for turn in self.dialogue.turns() if turn.answers]
        without_calls = {id(answers[-1]) for answers in turns if not any(answer.calls for answer in answers)}
        self.items: dict[str, Message] = {}
        for message in self.dialogue.messages:
            self.items |= {f"{message.index}.{number}": message for number in range(1, len(message.calls) + 1)}
            if id(message) in without_calls:
                self.items[str(message.index)] = message
        self.to_decide = list(self.items)
        require(self.items, "The assistant neither calls a tool nor answers the user.")

    def data(self) -> list[tuple[str, str | Sequence[str]]]:
        """Return the tools, and what is to decide."""
        tools = [_format_tool(tool) for tool in self.dialogue.conversation.tools or ()]
        return [("TOOLS", tools), *super().data()]

    def key(self, entry: Entry) -> str:
        """Return the number of a call, or the index of a message without one."""
        call = read_index(entry, "call")
        return f"{read_index(entry, 'message')}.{call}" if call else str(read_index(entry, "message"))

    def measure(self, answer: Entry) -> tuple[float, str, dict[str, JSONValue]]:
        """Return the right calls over all, and over the turns that lack one. Right silence counts for nothing."""
        groups: dict[str, list[Verdict]] = {}
        for entry in read_objects(answer, self.list_name):
            groups.setdefault(self.key(entry), []).append(self._judge(entry))
        verdicts = [merge_verdicts(groups[key])[0] for key in self.to_decide]
        calls = [verdict for verdict in verdicts if "call" in verdict.details]
        lacking = [verdict for verdict in verdicts if "call" not in verdict.details and not verdict.holds]
        counted = [*calls, *lacking]
        require(counted, "No tool is called, and none was needed.")
        wrong = [f"{row.message}.{row.details['call']}" for row in calls if not row.holds]
        because = f"{sum(row.holds for row in calls)} of {len(calls)} calls are right"
        because += f", but not {', '.join(wrong[:MAX_NAMED])}" if wrong else ""
        because += f"; no call where one was needed: {name_failed(lacking)}" if lacking else ""
        return (
            compute_share(counted),
            f"{because}.",
            self.describe(verdicts, "right", n_made=len(calls), n_lacking=len(lacking)),
        )

    def _judge(self, entry: Entry) -> Verdict:
        message = self.items[self.key(entry)]
        number = read_index(entry, "call")
        before = self.dialogue.list_before(message)
        call: dict[str, JSONValue] = {"call": number, "name": message.calls[number - 1].name} if number else {}
        return self.judge(message.index, read_truth(entry, "right"), read_text(entry, "quote"), before, **call)


METRICS: dict[str, type[ConversationMetric]] = {
    "goal_accuracy": GoalAccuracy,
    "topic_adherence": TopicAdherence,
    "role_adherence": RoleAdherence,
    "knowledge_retention": KnowledgeRetention,
    "completeness": Completeness,
    "tool_choice": ToolChoice,
}


def _rank_turn(verdict: Verdict) -> int:
    """Order verdicts about one turn, the one that counts first: what was answered off topic is not made good."""
    kinds = [(False, True), (True, False), (True, True), (False, False)]
    return kinds.index((bool(verdict.details["on_topic"]), bool(verdict.details["answered"])))


def _describe_turns(verdicts: Sequence[Verdict]) -> str:
    n_right = sum(verdict.holds for verdict in verdicts)
    parts = [f"{n_right} of {len(verdicts)} turns keep to the topics"]
    failed = [verdict for verdict in verdicts if not verdict.holds]
    for is_on_topic, words in ((True, "on a topic and not answered"), (False, "off the topics and answered")):
        indices = [verdict.message for verdict in failed if verdict.details["on_topic"] is is_on_topic]
        parts += [f"{words}: {name_messages(indices)}"] if indices else []
    return f"{'; '.join(parts)}."


def _format_tool(tool: Tool) -> str:
    return json.dumps({"name": tool.name, "parameters": tool.parameters}, ensure_ascii=False)
