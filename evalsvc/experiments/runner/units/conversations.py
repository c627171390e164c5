"""Ask a config turn by turn: with the texts of a script, then with those that a simulated user writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.definition.conversations import (
    DEFAULT_TURNS,
    ENDED_BY,
    GOAL,
    MAX_TURNS,
    MESSAGES,
    SIMULATED_USER,
    STOP_WORD,
    TURN,
    NoScript,
    read_reply,
    read_script,
)
from evalsvc.experiments.definition.fields.answers import PASSAGES, TOP_K_PASSAGES
from evalsvc.experiments.definition.fields.mapper import CHOICES, OUTPUT
from evalsvc.experiments.definition.kinds import FINISH_REASON, THINKING
from evalsvc.experiments.definition.messages import read_messages
from evalsvc.experiments.definition.templates import UnknownField, fill_text
from evalsvc.experiments.models import OWN_FAULTS, Config
from evalsvc.experiments.runner.generate import (
    TEMPLATE_FIELDS,
    ConfigClient,
    GeneratedOutput,
    MustStop,
    RetryLater,
    messages_for,
    produce,
    storable,
)
from evalsvc.experiments.runner.store import Unit
from evalsvc.experiments.runner.units import stages
from evalsvc.experiments.runner.units.context import Example, UnitContext
from evalsvc.experiments.runner.units.stages import MEASURED, Bill
from evalsvc.experiments.runner.units.waits import find_output_delay
from evalsvc.judges.failures import BAD_OUTPUT, BUG, TIMEOUT
from evaluators.conversations.reader import read_conversation
from evaluators.conversations.transcript import Unreadable

SCRIPT, STOP, TURNS, CALLS, ERROR = "script", "stop", "max_turns", "tool_calls", "error"
"""Why a conversation has ended."""
AGENT, USER = "agent", "user"
MAX_CHARS = 480_000
"""Of the messages as JSON: evaluators read no more."""
MAX_SECONDS = 1800.0
"""That the answers of a conversation take together; waiting for a connection's limits does not count."""
TOOLS, STATE, USAGE = "tools", "final_state", "usage"
LEFT_OUT = (OUTPUT, CHOICES, MESSAGES, TOOLS, STATE, USAGE, FINISH_REASON, THINKING, "reasoning_tokens")
"""Components of an answer that are of one turn, or a part of the conversation."""
PLAY = """\
You play the user of an application in a test. Write the user's next message and nothing else: no name before it, no \
quotation marks, no comment.
What the user wants: {goal}
{persona}Say what this user would say now. Give a detail when it is needed or asked for, and make up none that \
contradicts the above. Do not do the application's work.
When the user has what they want, or cannot get it, write {stop} and nothing else."""


class TurnFailed(Exception):
    """A turn without an answer, or without a question: the conversation ends. `produced` says why."""

    def __init__(self, produced: GeneratedOutput) -> None:
        super().__init__(produced.error_message)
        self.produced = produced


class ConversationRequester:
    """Requests the conversations of one unit. One that is put off continues where it was."""

    def __init__(self, unit: Unit, context: UnitContext, should_stop: Callable[[], bool]) -> None:
        self.unit = unit
        self.kind = context.kind
        self.parameters = {name: value for name, value in context.parameters.items() if name != SIMULATED_USER}
        self.user: Mapping[str, Any] | None = context.parameters.get(SIMULATED_USER)
        self.should_stop = should_stop

    def key(self, pos: int, sample: int, speaker: str, number: int) -> str:
        """Return the key of one answer while its conversation is put off."""
        return stages.build_answer_key(self.unit.id, pos, sample, "conversation", f"{speaker} {number}")

    def client(self, kind: str, parameters: Mapping[str, Any]) -> ConfigClient:
        """Return what asks the agent, or the simulated user."""
        find_delay = partial(find_output_delay, self.unit)
        return ConfigClient(self.unit.account_id, kind, parameters, self.should_stop, find_delay)

    def __call__(self, example: Example, pos: int, sample: int) -> GeneratedOutput:
        """Request one conversation; raises RetryLater and MustStop as `produce` does, and stores the answers so far."""
        run = ConversationRun(self, example, pos, sample, self._load(pos, sample))
        try:
            return run.produce()
        except (RetryLater, MustStop) as exc:
            if run.fresh:
                stages.store_answers(self.unit, run.fresh)
            if isinstance(exc, RetryLater):
                exc.n_answered = len(run.fresh)
            raise

    def _load(self, pos: int, sample: int) -> dict[str, GeneratedOutput]:
        keys = [self.key(pos, sample, speaker, n) for speaker in (AGENT, USER) for n in range(1, MAX_TURNS + 1)]
        try:
            return stages.load_answers(self.unit, keys)
        finally:
            connections.close_all()


@dataclass
class ConversationRun:
    """One example on its way through a conversation."""

    asker: ConversationRequester
    example: Example
    pos: int
    sample: int
    stored: Mapping[str, GeneratedOutput]
    fresh: dict[tuple[str, int], GeneratedOutput] = field(default_factory=dict)
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    """What the conversation has besides its messages."""
    beside: dict[str, Any] = field(default_factory=dict)
    """The other components of the last answer."""
    usage: dict[str, float] = field(default_factory=lambda: defaultdict(int))
    bills: dict[str, Bill] = field(default_factory=lambda: {AGENT: Bill(), USER: Bill()})
    n_asked: Counter[str] = field(default_factory=Counter)
    turn: int = 0
    attempt: int = 1

    def produce(self) -> GeneratedOutput:
        """Hold the conversation; one that fails keeps its messages so far."""
        produced = GeneratedOutput()
        try:
            ended_by = self._talk()
        except UnknownField as exc:
            ended_by, produced = ERROR, GeneratedOutput("error", error_type=BUG, error_message=str(exc))
        except Unreadable as exc:
            ended_by, produced = ERROR, _bad_output(str(exc))
        except TurnFailed as exc:
            ended_by, produced = ERROR, exc.produced
        agent = self.bills[AGENT]
        if self.asker.kind == Config.Kind.CHAT:
            self.usage = {name: getattr(agent, name) or 0 for name in ("input_tokens", "output_tokens")}
        usage = {USAGE: dict(self.usage)} if any(self.usage.values()) else {}
        produced.output = storable(
            {**self.beside, OUTPUT: {MESSAGES: self.messages, **self.about, **usage}, ENDED_BY: ended_by}
        )
        produced.stages = self._build_stages()
        produced.attempt = self.attempt
        for name in MEASURED:
            setattr(produced, name, getattr(agent, name))
        return produced

    def _build_stages(self) -> dict[str, Any]:
        """Return what was paid in all, and what the simulated user took of it."""
        total = Bill()
        for bill in self.bills.values():
            total.add(bill)
        paid = {name: getattr(total, name) for name in ("input_tokens", "output_tokens", "cost")}
        told: dict[str, Any] = {"paid": {"n_asked": self.n_asked.total(), "n_saved": 0, **paid}}
        if self.asker.user is not None:
            of_user = {name: getattr(self.bills[USER], name) for name in MEASURED}
            told[SIMULATED_USER] = {"n_asked": self.n_asked[USER], **of_user}
        return told

    def _talk(self) -> str:
        """Take all turns; return why the conversation has ended."""
        user = self.asker.user
        script = read_script(self.example, has_user=user is not None)
        self.messages += script.history
        for turn in script.turns:
            if self._take_turn(turn):
                return CALLS
        if user is None:
            return SCRIPT
        while self.turn < (user.get("max_turns") or DEFAULT_TURNS):
            text = self._ask_user(user)
            if text is None:
                return STOP
            if self._take_turn(text):
                return CALLS
        return TURNS

    def _take_turn(self, turn: str) -> bool:
        """Let the agent answer; return whether it now waits for results of tools, which are not run here."""
        before = list(self.messages)
        self.turn += 1
        self.messages.append({"role": "user", "content": turn})
        if (self.bills[AGENT].latency_ms or 0.0) > 1000 * MAX_SECONDS:
            message = f"The answers before took more than {MAX_SECONDS:g} s."
            raise self._failed(GeneratedOutput("timeout", error_type=TIMEOUT, error_message=message))
        asking, fields = self._build_request(turn, before)
        produced = self._ask(AGENT, asking, fields)
        if produced.status != "ok":
            raise self._failed(produced)
        components = produced.output or {}
        try:
            reply = read_reply(components if {CHOICES, MESSAGES} & components.keys() else components[OUTPUT])
        except Unreadable as exc:
            raise self._failed(_bad_output(str(exc))) from None
        if len(orjson.dumps([*self.messages, *reply])) > MAX_CHARS:
            raise self._failed(_bad_output(f"The messages have more than {MAX_CHARS} characters."))
        self.messages += reply
        self._note(components)
        return self.asker.kind == Config.Kind.CHAT and bool(reply[-1].get("tool_calls"))

    def _build_request(self, turn: str, before: list[Mapping[str, Any]]) -> tuple[ConfigClient, dict[str, Any]]:
        """Return what asks the agent, and what its templates may name. The history goes before the last message."""
        parameters, fields = self.asker.parameters, {**self.example, TURN: turn, MESSAGES: self.messages}
        if self.asker.kind == Config.Kind.HTTP:
            return self.asker.client(Config.Kind.HTTP, {"body": {MESSAGES: "{{messages}}"}, **parameters}), fields
        *opening, last = messages_for(parameters, fields)
        try:
            sent = [*opening, *(read_messages(before) if before else ()), last]
        except ValueError as exc:
            raise NoScript(f"`input.messages` cannot be sent. {exc}") from None
        for name, value in ((TOOLS, parameters.get(TOOLS)), ("system", _find_system(opening))):
            self.about |= {name: value} if value else {}
        return self._build_chat({name: parameters[name] for name in parameters if name not in TEMPLATE_FIELDS}, sent)

    def _build_chat(self, knobs: Mapping[str, Any], messages: Any) -> tuple[ConfigClient, dict[str, Any]]:
        # Messages are data: braces in them are no templates.
        return self.asker.client(Config.Kind.CHAT, {**knobs, MESSAGES: "{{messages}}"}), {MESSAGES: messages}

    def _ask(self, speaker: str, asking: ConfigClient, fields: dict[str, Any]) -> GeneratedOutput:
        """Return the next answer of a speaker: the stored one, or by asking."""
        self.n_asked[speaker] += 1
        key = self.asker.key(self.pos, self.sample, speaker, self.n_asked[speaker])
        produced = self.stored.get(key)
        if produced is None:
            if self.asker.should_stop():
                raise RetryLater(0.0)
            produced = produce(asking, fields)
            if produced.status == "ok":
                self.fresh[key, self.pos] = produced
        self.attempt = max(self.attempt, produced.attempt)
        self.bills[speaker].add(produced)
        return produced

    def _note(self, components: Mapping[str, Any]) -> None:
        """Note what an answer has besides its messages: the last one counts, and usage is added up."""
        answer = components[OUTPUT]
        named = {**(answer if isinstance(answer, Mapping) else {}), **components}
        kept = {name: value for name, value in self.about.items() if name not in (*PASSAGES, *TOP_K_PASSAGES)}
        names = (STATE, TOOLS, *PASSAGES, *TOP_K_PASSAGES)
        self.about = kept | {name: named[name] for name in names if name in named}
        self.beside = {name: value for name, value in components.items() if name not in LEFT_OUT}
        used = named.get(USAGE)
        for name, value in used.items() if isinstance(used, Mapping) else ():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.usage[name] += value

    def _ask_user(self, user: Mapping[str, Any]) -> str | None:
        """Return what the simulated user says next; None where it ends the conversation."""
        stop = str(user.get("stop") or STOP_WORD)
        knobs = {name: user[name] for name in ("connection", "model", "temperature") if user.get(name) is not None}
        produced = self._ask(USER, *self._build_chat(knobs, self._write_play(user, stop)))
        text = str((produced.output or {}).get(OUTPUT) or "").strip()
        if produced.status != "ok" or not text:
            raise _no_user(self.n_asked[USER], produced.error_type, produced.error_message or "It is empty.")
        if stop not in text:
            return text
        if not self.turn:
            raise _no_user(1, None, "It ends the conversation before it begins.")
        return None

    def _write_play(self, user: Mapping[str, Any], stop: str) -> list[dict[str, str]]:
        """Return what the simulated user is asked: its part, and the texts of the conversation without calls."""
        asked = self.example.get("input")
        persona = asked.get("persona") if isinstance(asked, Mapping) else None
        persona = fill_text(user["persona"], self.example) if user.get("persona") else persona
        goal = fill_text(user.get("goal") or GOAL, self.example)
        known = f"Who the user is: {persona}\n" if persona else ""
        names = {"user": "User", "assistant": "Application"}
        said = [
            f"{names[message.role]}: {message.text}"
            for message in read_conversation(self.messages, is_part=True).messages
            if message.role in names and message.text
        ]
        so_far = "\n\n".join(["The conversation so far:", *said]) if said else "The conversation has not begun."
        return [
            {"role": "system", "content": PLAY.format(goal=goal, persona=known, stop=stop)},
            {"role": "user", "content": f"{so_far}\n\nWrite the user's next message."},
        ]

    def _failed(self, produced: GeneratedOutput) -> TurnFailed:
        return TurnFailed(replace(produced, error_message=f"Turn {self.turn}: {produced.error_message}"[:1000]))


def _bad_output(message: str) -> GeneratedOutput:
    return GeneratedOutput("error", error_type=BAD_OUTPUT, error_message=message)


def _no_user(number: int, code: str | None, message: str) -> TurnFailed:
    """Return the failure of the simulated user, which is never a fault of the agent."""
    code = SIMULATED_USER if code is None or code in OWN_FAULTS else code
    message = f"The simulated user did not write message {number}: {message}"
    return TurnFailed(GeneratedOutput("error", error_type=code, error_message=message[:1000]))


def _find_system(messages: list[dict[str, Any]]) -> str | None:
    return next((message["content"] for message in messages if message["role"] in ("system", "developer")), None)
