"""Judges that misbehave: what each answers to criteria, to claims and to requirements, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluators.judging.prompts import strict_object
from tests.judges.endpoint.replies import Reply, completion, error, reply

CRITERIA, CLAIMS, RELEVANCE = "judge", "hallucination-judge", "answer-relevance-judge"
OUTPUT = "The Mir is 240 km long. It is famous for salmon."
CONTEXT = "The Sova flows through three countries. Its longest tributary is the Mir, which is 240 km long."
LENGTH, SALMON = "The Mir is 240 km long", "It is famous for salmon"
IN_CONTEXT = "the Mir, which is 240 km long"
BAD_OUTPUT, UNDECIDED = "bad_output", "no_sentence_decided"
NEEDS = ("on_topic", "right_kind", "answered", "complete")
ECHO_SYSTEM, ECHO_USER, ECHO_SCHEMA = "echo system", "echo user", "echo schema"


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """What a judge answers, and the failing score, the code of the error, or the reason of the undecided verdict."""

    name: str
    evaluator: str
    answer: Any
    outcome: float | str

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        """Answer one request."""
        said = {message["role"]: message["content"] for message in body["messages"]}
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", strict_object({}))
        echoed = {ECHO_SYSTEM: said.get("system"), ECHO_USER: said.get("user"), ECHO_SCHEMA: json.dumps(schema)}
        answer = echoed.get(self.answer, self.answer) if isinstance(self.answer, str) else self.answer
        return answer if isinstance(answer, Reply) else reply(completion(answer))


def _check(name: str, met: Any = True, quote: Any = LENGTH) -> dict[str, Any]:
    return {"id": name, "met": met, "quote": quote}


def criteria(*checks: Any, score: Any = 1.0, **more: Any) -> str:
    """An answer to criteria."""
    return json.dumps({"reasoning": "All is well.", "checks": list(checks), "score": score, **more})


def claim(sentence: int, supported: Any = True, quote: Any = IN_CONTEXT, *, is_claim: Any = True) -> dict[str, Any]:
    """A claim of one sentence."""
    passage = (LENGTH, SALMON)[min(sentence, 2) - 1]
    return {
        "sentence": sentence,
        "passage": passage,
        "is_claim": is_claim,
        "quote": quote,
        "supported": supported,
    }


def claims(*entries: Any, **more: Any) -> str:
    """An answer about claims."""
    return json.dumps({"reasoning": "All is well.", "claims": list(entries), **more})


def needs(*unmet: str, quote: str = LENGTH, without: str = "") -> str:
    """An answer about requirements."""
    verdicts = {name: {"quote": quote, "met": name not in unmet} for name in NEEDS if name != without}
    return json.dumps({"reasoning": "All is well.", **verdicts})


GOOD = {
    CRITERIA: criteria(_check("length"), _check("fish", quote=SALMON)),
    CLAIMS: claims(claim(1), claim(2)),
    RELEVANCE: needs(),
}
_GOOD, _MORE = GOOD[CRITERIA], GOOD[CRITERIA][:-1]
_REFUSING = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
_CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "other", "arguments": '{"passed": true}'}}],
}


def _by_criteria(name: str, answer: Any, outcome: float | str) -> Misbehaviour:
    return Misbehaviour(name, CRITERIA, answer, outcome)


REQUIREMENTS = [
    _by_criteria("half is met", criteria(_check("length"), _check("fish", met=False)), 0.25),
    _by_criteria("half is met, for half the score", criteria(_check("a"), _check("b", met=False), score=0.5), 0.25),
    _by_criteria("two of three are met", criteria(_check("a"), _check("b"), _check("c", met=False)), 1 / 3),
    _by_criteria("nine of ten are met", criteria(*[_check(str(n), met=n > 0) for n in range(10)]), 0.45),
    _by_criteria("none is met", criteria(_check("a", met=False)), 0.0),
    _by_criteria("one requirement with two verdicts", criteria(_check("a"), _check("a", met=False)), 0.25),
    _by_criteria("all is met, and the score says no", criteria(_check("a"), score=0.0), 0.0),
    _by_criteria("no requirement", criteria(), BAD_OUTPUT),
    _by_criteria("no list of requirements", '{"reasoning": "Fine.", "score": 1.0}', BAD_OUTPUT),
    _by_criteria("null for requirements", '{"reasoning": "Fine.", "checks": null, "score": 1.0}', BAD_OUTPUT),
    _by_criteria("requirements as text", '{"reasoning": "Fine.", "checks": "all met", "score": 1.0}', BAD_OUTPUT),
    _by_criteria("a requirement as text", criteria("length: met"), BAD_OUTPUT),
    _by_criteria("a requirement without a verdict", criteria({"id": "a", "quote": LENGTH}), BAD_OUTPUT),
    _by_criteria("met as text", criteria(_check("a", met="yes")), BAD_OUTPUT),
    _by_criteria("met as a number", criteria(_check("a", met=1)), BAD_OUTPUT),
]
QUOTES = [
    _by_criteria("an invented quote", criteria(_check("a", quote="The Mir is famous for its trout")), 0.0),
    _by_criteria("one invented quote of two", criteria(_check("a"), _check("b", quote="Nobody said this here")), 0.25),
    _by_criteria("a quote with another number", criteria(_check("a", quote="The Mir is 420 km long")), 0.0),
    _by_criteria("a quote of the criteria", criteria(_check("a", quote="states the length of the Mir")), 0.0),
    _by_criteria("a quote of five letters", criteria(_check("a", quote="salmo")), BAD_OUTPUT),
    _by_criteria("a quote of one word", criteria(_check("a", quote="salmon")), BAD_OUTPUT),
    _by_criteria("a quote of two words", criteria(_check("a", quote="The Mir")), BAD_OUTPUT),
    _by_criteria("a quote of scattered words", criteria(_check("a", quote="The ... is ... for")), BAD_OUTPUT),
    _by_criteria("a quote of one letter", criteria(_check("a", quote="e")), 0.0),
    _by_criteria("a quote of dots", criteria(_check("a", quote="…")), 0.0),
    _by_criteria("no text as quote", criteria(_check("a", quote=None)), BAD_OUTPUT),
]
SCORES = [
    _by_criteria(f"the score {score}", _GOOD.replace('"score": 1.0', f'"score": {score}'), BAD_OUTPUT)
    for score in ("1.5", "-1", "100", "NaN", "Infinity", '"pass"', '"1,0"', '"100 %"', "null", "true", "[1]", "1e400")
]
FORMS = [
    _by_criteria("a second verdict in another key", f'{_MORE}, "passed": false}}', BAD_OUTPUT),
    _by_criteria("a final score of zero", f'{_MORE}, "final_score": 0}}', BAD_OUTPUT),
    _by_criteria("the score twice", f'{_MORE}, "score": 0}}', BAD_OUTPUT),
    _by_criteria("two answers", f"{_GOOD} {criteria(_check('a', met=False), score=0.0)}", BAD_OUTPUT),
    _by_criteria("a revision behind the answer", f"{_GOOD}\nWait, that is wrong: the score is 0.", BAD_OUTPUT),
    _by_criteria("an answer that ends early", _GOOD[: _GOOD.index('"score"')], BAD_OUTPUT),
    _by_criteria("a list in place of an object", '["PASS"]', BAD_OUTPUT),
    _by_criteria("keys of another language", '{"Grund": "Gut.", "Pruefungen": [], "Punkte": 1.0}', BAD_OUTPUT),
    _by_criteria("a word", "PASS", BAD_OUTPUT),
    _by_criteria("prose of another language", "Die Antwort erfüllt alle Anforderungen. Bestanden.", BAD_OUTPUT),
    _by_criteria("YAML", "reasoning: fine\nchecks: []\nscore: 1.0", BAD_OUTPUT),
    _by_criteria("a refusal in words", "I'm sorry, but I can't help with that.", BAD_OUTPUT),
    _by_criteria("a refusal", reply(completion(_REFUSING)), "refused"),
    _by_criteria("a content filter", reply(completion("", "content_filter")), "refused"),
    _by_criteria("nothing", "", BAD_OUTPUT),
    _by_criteria("blanks", "  \n ", BAD_OUTPUT),
    _by_criteria("its instructions", ECHO_SYSTEM, BAD_OUTPUT),
    _by_criteria("the data", ECHO_USER, BAD_OUTPUT),
    _by_criteria("the schema", ECHO_SCHEMA, BAD_OUTPUT),
    _by_criteria("a call of another tool", reply(completion(_CALLING, "tool_calls")), BAD_OUTPUT),
    _by_criteria("a page of HTML", reply("<html><body>PASS</body></html>"), BAD_OUTPUT),
    _by_criteria("an error that is called a success", reply(error("All requirements are met.")), "connection"),
]
OF_CLAIMS = [
    Misbehaviour("no claim", CLAIMS, claims(), BAD_OUTPUT),
    Misbehaviour("one sentence left out", CLAIMS, claims(claim(1)), BAD_OUTPUT),
    Misbehaviour("one sentence twice", CLAIMS, claims(claim(1), claim(1)), BAD_OUTPUT),
    Misbehaviour("a sentence that is not there", CLAIMS, claims(claim(1), claim(99)), BAD_OUTPUT),
    Misbehaviour("a number that is no claim", CLAIMS, claims(claim(1, is_claim=False), claim(2)), BAD_OUTPUT),
    Misbehaviour("a sentence that is no claim", CLAIMS, claims(claim(1), claim(2, is_claim=False)), UNDECIDED),
    Misbehaviour("half of the claims", CLAIMS, claims(claim(1), claim(2, supported=False)), 0.25),
    Misbehaviour("a claim without a quote", CLAIMS, claims(claim(1), claim(2, quote="")), 0.25),
    Misbehaviour("an invented quote", CLAIMS, claims(claim(1), claim(2, quote="the Mir is full of fish")), 0.25),
    Misbehaviour("a quote of the output", CLAIMS, claims(claim(1), claim(2, quote=SALMON)), 0.25),
    Misbehaviour("a quote of one word", CLAIMS, claims(claim(1), claim(2, quote="tributary")), BAD_OUTPUT),
    Misbehaviour("support as text", CLAIMS, claims(claim(1), claim(2, supported="maybe")), BAD_OUTPUT),
]
OF_NEEDS = [
    Misbehaviour("one of four is not met", RELEVANCE, needs("complete"), 0.225),
    Misbehaviour("one of four is missing", RELEVANCE, needs(without="complete"), BAD_OUTPUT),
    Misbehaviour("invented quotes", RELEVANCE, needs(quote="The Mir is a lake"), 0.0),
    Misbehaviour("quotes of one word", RELEVANCE, needs(quote="salmon"), BAD_OUTPUT),
]
MISBEHAVIOURS = (*REQUIREMENTS, *QUOTES, *SCORES, *FORMS, *OF_CLAIMS, *OF_NEEDS)
