"""Configs that are asked turn by turn: what makes a config one, its simulated user, and the scripts in examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.definition.fields.answers import find_answer, find_question
from evalsvc.experiments.definition.messages import read_content
from evalsvc.experiments.definition.templates import UnknownField, problem_with, template_names
from evaluators.conversations.reader import is_message_log, read_conversation
from evaluators.conversations.transcript import Unreadable, is_entry
from evaluators.samples import is_choice_list

TURN, MESSAGES, SIMULATED_USER = "turn", "messages", "simulated_user"
ENDED_BY = "ended_by"
"""The component of an output that says why its conversation has ended."""
MAX_TURNS, DEFAULT_TURNS = 30, 10
STOP_WORD, GOAL = "[STOP]", "{{input.goal}}"
MAX_STOP_CHARS = 100
NAMED = {"chat": (TURN,), "http": (TURN, MESSAGES)}
"""What templates may name besides the example, by kind; a config whose templates do is asked turn by turn."""
USER_FIELDS: Mapping[str, Any] = {
    "connection": str,
    "model": str,
    "goal": str,
    "persona": str,
    "stop": str,
    "max_turns": int,
    "temperature": (int, float),
}
AT = f"/parameters/{SIMULATED_USER}"


class NoScript(UnknownField):
    """An example does not say what the user says."""

    def __init__(self, detail: str) -> None:
        super().__init__("input.turns")
        self.args = (detail,)


@dataclass(frozen=True, slots=True)
class Script:
    """The messages before a conversation begins, and the texts of the user, in their order."""

    history: tuple[Mapping[str, Any], ...]
    turns: tuple[str, ...]


def is_conversation(kind: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a config is asked turn by turn: it has a simulated user, or names the turn in a template."""
    if kind not in NAMED:
        return False
    templates = [parameters.get(name) for name in ("prompt", "system", "messages", "body")]
    return SIMULATED_USER in parameters or any(is_named(kind, name) for name in template_names(templates))


def is_named(kind: str, name: str) -> bool:
    """Return whether a name in a template is of the conversation, not of the example."""
    return name in NAMED.get(kind, ())


def count_turns(parameters: Mapping[str, Any]) -> int:
    """Return how many calls a conversation takes at most, those to the simulated user included."""
    user = parameters.get(SIMULATED_USER)
    return MAX_TURNS if user is None else 2 * int(user.get("max_turns") or DEFAULT_TURNS)


def conversation_problems(kind: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """List what is wrong with a config that is asked turn by turn: a pointer and a sentence each."""
    yield from _user_problems(parameters.get(SIMULATED_USER)) if SIMULATED_USER in parameters else ()
    if "output_schema" in parameters:
        yield "/parameters/output_schema", "The output of a conversation is its messages; leave `output_schema` out."
    messages = parameters.get("messages")
    spoken = messages[-1:] if isinstance(messages, list) else [parameters.get("prompt"), messages]
    where = "`prompt`, or in the last of `messages`"
    if kind == "http":
        spoken, where = [parameters.get("body", "{{messages}}")], f"`body`, or `{{{{{MESSAGES}}}}}`"
    if not any(is_named(kind, name) for name in template_names(spoken)):
        yield "/parameters", f"What the user says has to be somewhere: name `{{{{{TURN}}}}}` in {where}."


def _user_problems(user: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(user, Mapping):
        yield AT, "`simulated_user` is an object with the `connection` that writes what the user says."
        return
    for name in user.keys() - USER_FIELDS.keys():
        yield f"{AT}/{name}", f"{name!r} is not a parameter here; there are {', '.join(sorted(USER_FIELDS))}."
    for name, kind in USER_FIELDS.items():
        value = user.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield f"{AT}/{name}", f"{value!r:.100} is not a value that `{name}` can have."
    if user.get("connection") is None:
        yield f"{AT}/connection", "Name the connection that writes what the user says, or give its id."
    most, stop = user.get("max_turns"), user.get("stop")
    if isinstance(most, int) and not 1 <= most <= MAX_TURNS:
        yield f"{AT}/max_turns", f"A conversation has 1 to {MAX_TURNS} turns."
    if isinstance(stop, str) and not 1 <= len(stop.strip()) <= MAX_STOP_CHARS:
        yield f"{AT}/stop", f"The word that ends the conversation has 1 to {MAX_STOP_CHARS} characters."
    for name in ("goal", "persona"):
        for token in dict.fromkeys(template_names(user.get(name))):
            if why := problem_with(token):
                yield f"{AT}/{name}", why


def read_script(example: Mapping[str, Any], *, has_user: bool) -> Script:
    """Read what the user of an example says: `input.turns`, else the last of `input.messages`, else its question.

    `input.messages` is what was said before. A simulated user begins where nothing is scripted. Raises NoScript.
    """
    fields = example.get("input")
    named = fields if isinstance(fields, Mapping) else {}
    history = _read_history(named.get("messages"))
    if named.get("turns") is not None:
        return Script(history, _read_turns(named["turns"]))
    if history and history[-1].get("role") == "user":
        return Script(history[:-1], (_read_text(history[-1].get("content")),))
    if has_user:
        return Script(history, ())
    question = find_question({name: value for name, value in named.items() if name != "messages"} or fields)
    if not isinstance(question, str) or not question.strip():
        raise NoScript("The example has no `input.turns`, nor another question that could be the only turn.")
    return Script(history, (question,))


def _read_history(messages: Any) -> tuple[Mapping[str, Any], ...]:
    if messages is None:
        return ()
    if not is_message_log(messages):
        raise NoScript("`input.messages` is no list of messages, each with a `role` and a `content`.")
    try:
        read_conversation(messages, is_part=True)
    except Unreadable as exc:
        raise NoScript(f"`input.messages` cannot be read. {exc}") from None
    return tuple(messages)


def _read_turns(turns: Any) -> tuple[str, ...]:
    if not isinstance(turns, Sequence) or isinstance(turns, str) or not turns:
        raise NoScript("`input.turns` is no list of texts.")
    if len(turns) > MAX_TURNS:
        raise NoScript(f"`input.turns` has {len(turns)} texts, and a conversation has at most {MAX_TURNS} turns.")
    return tuple(map(_read_text, turns))


def _read_text(content: Any) -> str:
    try:
        text = read_content(content)
    except ValueError:
        text = []
    if not isinstance(text, str) or not text.strip():
        raise NoScript("What the user says in `input` is no text.")
    return text


def read_reply(answer: Any) -> list[Mapping[str, Any]]:
    """Return the messages that an answer adds to a conversation, as they came. Raises Unreadable.

    An answer is a text, a message, a list of messages, an object with `messages`, or an answer of Chat Completions or
    Responses. Of messages that repeat the conversation, those after the user's last one are new.
    """
    messages = _find_messages(answer)
    read = read_conversation(messages, is_part=True).messages
    start = max((message.index + 1 for message in read if message.role == "user"), default=0)
    if not any(message.role == "assistant" and message.index >= start for message in read):
        raise Unreadable("The answer has no message of the assistant after the user's last.")
    return messages[start:]


def _find_messages(answer: Any) -> list[Mapping[str, Any]]:
    if is_message_log(answer):
        return list(answer)
    if isinstance(answer, Mapping):
        for name in (MESSAGES, "output"):
            if is_message_log(answer.get(name)):
                return list(answer[name])
        if is_choice_list(answer.get("choices")):
            return [{"role": "assistant", **answer["choices"][0]["message"]}]
        if is_entry(answer):
            return [answer]
    text = find_answer(answer)
    if not isinstance(text, str) or not text.strip():
        raise Unreadable("The answer has no text, and no message of the assistant.")
    return [{"role": "assistant", "content": text}]
