"""What the stub judge answers: a value for any schema, with quotes that stand in the data, and lies about them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import stub_conversations
from benchmarks.stub_answers import text_of

_block = re.compile(r"^BEGIN (.+) (\w+)\n(.*)\nEND \1 \2$", re.MULTILINE)
_bad_words = ("fail", "incorrect", "wrong", "no", "false", "unsupported", "contradict", "irrelevant", "insufficient")
LISTS = ("claims", "statements", "points", *stub_conversations.LISTS)
"""Where answers decide the sentences of an output, or the messages of a conversation."""
INVENTED = "Nobody has ever said this anywhere."
MAX_QUOTED = 60


def data_in(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data that a judge was shown, by their names."""
    said = [text_of(message) for message in call["messages"] if message.get("role") == "user"]
    return {name: json.loads(text) for name, _, text in _block.findall(said[0] if said else "")}


def instance_of(schema: dict[str, Any], verdict: str, said: str, data: Mapping[str, Any]) -> Any:
    """Return a value that fits a schema, as good as the verdict says."""
    share = {"pass": 1.0, "echo": 1.0, "fail": 0.0, "none": 0.0}.get(verdict)
    share = float(verdict) if share is None else share
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return choice_of(schema["enum"], share)
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return instance_of(schema[name][0], verdict, said, data)
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            instance = {name: member(name, inner, verdict, said, data) for name, inner in properties.items()}
            is_goal = "CONVERSATION" in data and "reached" in instance
            return stub_conversations.decide_goal(instance, data) if is_goal else instance
        case "array":
            items = schema.get("items", {"type": "string"})
            # Texts are what was found; objects bring verdicts of their own.
            n = max(items.get("type") != "string" or verdict != "none", schema.get("minItems", 0))
            return [instance_of(items, verdict, said, data) for _ in range(n)]
        case "boolean":
            return share >= 0.5
        case "number" | "integer" as number:
            low, high = schema.get("minimum", 0), schema.get("maximum", 1)
            value = low + share * (high - low)
            return round(value) if number == "integer" else value
        case "null":
            return None
    return said if verdict == "echo" else "Because."


def member(name: str, schema: dict[str, Any], verdict: str, said: str, data: Mapping[str, Any]) -> Any:
    """Return one property: a judge quotes what it was shown, decides every sentence, and names what it finds."""
    if name == "quote" and verdict != "echo":
        return quoted(data)
    if name == "relevant_statements" and verdict != "echo":
        return [quoted(data)] if instance_of(schema, verdict, said, data) else []
    if name == "is_claim":
        return True
    if name in LISTS and "SENTENCES" in data:
        entry = instance_of(schema["items"], verdict, said, data)
        numbered = (text.partition(": ") for text in data["SENTENCES"])
        return [entry | _of_sentence(entry, int(number), text) for number, _, text in numbered]
    if name in stub_conversations.LISTS and "TO DECIDE" in data:
        entry = instance_of(schema["items"], verdict, said, data)
        return [stub_conversations.decide(entry, item, data) for item in data["TO DECIDE"]]
    if name == "winner" and "ANSWER A" in data:
        return better(schema["enum"], data["ANSWER A"], data["ANSWER B"], prefers_long=verdict in ("pass", "echo"))
    if name == "entities":
        kinds = schema["items"]["properties"]["type"]["enum"]
        words = str(data.get("MODEL OUTPUT", "")).split()
        return [{"type": kinds[0], "quote": words[0]}] if verdict == "fail" and words else []
    return instance_of(schema, verdict, said, data)


def _of_sentence(entry: Mapping[str, Any], number: int, text: str) -> dict[str, Any]:
    return {"sentence": number, **{name: text for name in ("passage", "statement", "point") if name in entry}}


def better(choices: list[str], first: str, second: str, *, prefers_long: bool) -> str:
    """Choose between two answers by their length alone; those of one length are a tie, where there may be one."""
    if len(first) == len(second) and "tie" in choices:
        return "tie"
    return "A" if (len(first) > len(second)) is prefers_long else "B"


def quoted(data: Mapping[str, Any]) -> str:
    """Quote the beginning of a context; without one, nothing."""
    contexts = data.get("RETRIEVED CONTEXT", "")
    texts = contexts if isinstance(contexts, list) else [contexts]
    return next((text[:MAX_QUOTED] for text in texts if text.strip()), "")


OTHERS = {"true": "false", "false": "true", "right": "wrong", "wrong": "right", "1": "2", "5": "4", "A": "B", "B": "A"}


def token_chances(text: str, manner: str) -> dict[str, Any]:
    """Return the log probabilities of a text's tokens, its words and marks: 0.8 for each, the rest for another."""
    words = re.findall(r"\w+|\W", text)
    if manner == "-odd":
        return {"content": [{"token": word, "logprob": "much", "top_logprobs": 7} for word in words]}
    said, other = math.log(0.8), math.log(0.2)
    return {
        "content": [
            {
                "token": word,
                "logprob": said,
                "top_logprobs": [
                    {"token": word, "logprob": said},
                    {"token": OTHERS.get(word, "?"), "logprob": other},
                ],
            }
            for word in words
        ]
    }


def choice_of(choices: list[Any], share: float) -> Any:
    """Return the best or the worst choice: by their names, else the first or the last."""
    bad = [choice for choice in choices if str(choice).lower().startswith(_bad_words)]
    good = [choice for choice in choices if choice not in bad]
    if share >= 0.5:
        return (good or choices)[0]
    return (bad or choices)[-1]


def lie(instance: dict[str, Any], manner: str, *, is_first: bool) -> dict[str, Any]:
    """Return the answer as a judge of this manner gives it."""
    told = LIES.get(manner.removeprefix("once-"))
    return instance if told is None or (manner.startswith("once-") and not is_first) else told(instance)


def without_claims(instance: dict[str, Any]) -> dict[str, Any]:
    return _relisted(instance, lambda entries: [])


def one_claim(instance: dict[str, Any]) -> dict[str, Any]:
    return _relisted(instance, lambda entries: entries[:1])


def excused(instance: dict[str, Any]) -> dict[str, Any]:
    return _relisted(instance, lambda entries: [{**entry, "is_claim": False} for entry in entries])


def _relisted(instance: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> dict[str, Any]:
    return {name: change(value) if name in LISTS else value for name, value in instance.items()}


def unmatched(instance: dict[str, Any]) -> dict[str, Any]:
    return {**instance, "entities": [{"type": "EMAIL", "quote": INVENTED}]}


def invented(value: Any) -> Any:
    """Put words that nobody said in the place of every quote."""
    if isinstance(value, list):
        return [invented(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: INVENTED if name == "quote" else invented(inner) for name, inner in value.items()}


def biased(instance: dict[str, Any]) -> dict[str, Any]:
    return {**instance, "winner": "A"}


LIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "no-claims": without_claims,
    "one-claim": one_claim,
    "excuses": excused,
    "unmatched": unmatched,
    "invents": invented,
    "biased": biased,
}
