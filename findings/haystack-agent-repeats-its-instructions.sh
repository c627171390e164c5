#!/usr/bin/env bash
# Haystack: an agent that goes on with its own conversation is told its instructions once more in each turn.
#
# Package    haystack-ai 3.4.1 (`Agent.run(messages=…)` returns `messages`, which the next turn begins with).
#
# Expected   `messages` are documented as the conversation to start the agent with. What a turn returns, with the next
#            question after it, is the conversation so far, and has the instructions as its first message. One turn later
#            a model should see them once, as with pydantic-ai, where a history that begins with a system prompt gets no
#            other, and with the agents of OpenAI and LangChain, which keep instructions out of the messages.
#
# Seen       The system prompt is put before whatever is given, so that the model sees it twice in the second turn, three
#            times in the third, and so on; the returned messages keep all of them. Messages without the system prompt
#            have it once. No warning is given.
#
# Matters    A test of several turns measures an agent that production may not have: with each turn more tokens and
#            heavier instructions. The one who drops system messages before he goes on, and the one who does not, compare
#            two prompts under one name; token counts and costs of long conversations are too high.
#
# evalsvc    A system message that is repeated word by word counts once in a conversation that is judged. Usage is taken
#            from what the provider reports.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check haystack-ai==3.4.1

HAYSTACK_TELEMETRY_ENABLED=false "$folder/venv/bin/python" - <<'PYTHON'
import sys

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage

seen = []


@component
class Generator:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None):
        seen.append([message.role.value for message in messages])
        return {"replies": [ChatMessage.from_assistant("Fine.")]}


agent = Agent(chat_generator=Generator(), system_prompt="Be brief.")
messages = []
for text in ("How are you?", "And now?", "Still?"):
    messages = agent.run(messages=[*messages, ChatMessage.from_user(text)])["messages"]
said = [message for message in messages if message.role.value != "system"]
agent.run(messages=[*said, ChatMessage.from_user("Once more?")])

CASES = [
    *((f"system messages that the model sees in turn {turn}", seen[turn - 1].count("system"), turn) for turn in (1, 2, 3)),
    ("system messages that turn 3 returns", sum(message.role.value == "system" for message in messages), 3),
    ("different ones among them", len({message.text for message in messages if message.role.value == "system"}), 1),
    ("system messages where they were dropped before", seen[3].count("system"), 1),
]
problems = []
for name, found, so_far in CASES:
    print(f"{name:50} {found}")
    if found != so_far:
        problems.append(f"{name}: {found}")
sys.exit("No longer so: " + "; ".join(problems) if problems else 0)
PYTHON
