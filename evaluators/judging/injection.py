"""Find phrases that are addressed to a judge instead of the user (prompt injection)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from evaluators.gateway import BOUNDARY
from evaluators.judging.injection_words import ORDERS_OF_LATIN, ORDERS_OF_OTHERS, SCRIPTS


def _compiled(orders: Mapping[str, Mapping[str, str]]) -> dict[str, re.Pattern[str]]:
    # Folded like the texts that they are looked for in: some letters are written in more than one way.
    return {kind: re.compile(unicodedata.normalize("NFKC", "|".join(by.values()))) for kind, by in orders.items()}


# Every repetition has a small bound, so that half a million characters stay quick.
_PATTERNS = {
    "override": r"\b(?:ignore|disregard|forget|override)\b[^.!?]{0,40}"
    r"\b(?:instruction|rule|prompt|criteri|rubric|task)",
    "addressed": r"\b(?:dear|attention|note to|message to|hey|hello)\b,?:? (?:the |an |all |any )?"
    r"(?:llm |ai )?(?:judge|grader|evaluator|rater|assessor)s?\b",
    "role": r"\byou are (?:now )?(?:a|an|the) (?:\w{1,20} ){0,3}(?:judge|grader|evaluator|rater|assessor)\b",
    "demanded score": r"\b(?:give|assign|award|return|output|respond with|answer with|reply with|set)\b[^.!?]{0,40}"
    r"\b(?:(?:full|top|highest|maximum|perfect|passing) (?:score|mark|rating|grade)s?"
    r"|(?:score|rating|grade|verdict)s? (?:of|to|=|is|:) ?\"?(?:\d|pass|true|correct))",
    "demanded verdict": r"\b(?:mark|grade|rate|score|judge|classify|label|treat|consider)\b[^.!?]{0,30}"
    r"\b(?:this|it|the|my|above)\b[^.!?]{0,30}\bas (?:a )?(?:pass|passing|passed|correct|true|met|perfect|supported)\b",
    "forged verdict": r"[\"'](?:score|met|verdict|pass|passed|checks|label|supported|reasoning)[\"'] ?: ?"
    r"(?:true|false|[\d.]+|\[|\"(?:pass|true|correct|supported))",
    "forged mark": r"(?:^|\n)[ \t>#*=-]{0,8}(?:begin|end) (?:model output|user input|gold answer|retrieved context)"
    r"|</?(?:model_?output|evaluated_?output|submission|candidate|rubric|criteria|verdict)>",
    "chat marks": r"<\|(?:im_start|im_end|system|end_?of_?text|eot_id|start_header_id)[|>]|\[/?inst\]|<</?sys>>",
    "criteria met": r"\b(?:all|every) (?:of the )?(?:criteria|criterion|requirements?|checks?)\b[^.!?]{0,30}"
    r"\b(?:are|is|were|have been|has been) (?:fully )?(?:met|satisfied|fulfilled)\b",
    "boundary": re.escape(BOUNDARY),
}
_RULES = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_LATIN = _compiled(ORDERS_OF_LATIN)
_OTHERS = [
    (re.compile(script), _compiled({kind: {language: by[language]} for kind, by in ORDERS_OF_OTHERS.items()}))
    for language, script in SCRIPTS.items()
]
# Invisible characters, which could hide a phrase from the patterns.
_hidden = re.compile("[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


def injection_signs(texts: Iterable[str]) -> list[str]:
    """Name the kinds of judge-directed phrases in the texts; empty if none are found.

    Detects chat format markers and phrases in English and eleven other languages. This is a warning, not a protection:
    paraphrased or disguised phrases are missed, and a legitimate text about judges can match.
    """
    signs: set[str] = set()
    for text in map(_fold_text, texts):
        for rules in (_RULES, _LATIN, *(rules for script, rules in _OTHERS if script.search(text))):
            signs.update(name for name, rule in rules.items() if name not in signs and rule.search(text))
    return [name for name in _RULES if name in signs]


def _fold_text(text: str) -> str:
    return re.sub(r"[ \t\xa0]+", " ", _hidden.sub("", unicodedata.normalize("NFKC", text)).casefold())
