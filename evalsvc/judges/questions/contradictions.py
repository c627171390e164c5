"""Find what makes an answer ambiguous: prose that says something else, and numbers that mending would change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_BEFORE = 4000
_string = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\u201c[^\u201d]*\u201d')
_bare = re.compile(r"[^\s{}\[\],:\"][^{}\[\],:\"]*")
_number = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_decimal_comma = re.compile(r":\s*-?\d+\s*,\s*\d")
_words = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_stated = r"\W{{0,4}}{}\b(?:\W+(?:is|are|was|of|should|would|be|must|to|as|at|only|now|rather))*[\s:=\"'*`]*"
_value = r"(-?\d+(?:\.\d+)?|true|false|yes|no|{})(?![\w])"
# Of the languages that judges write most. A correction costs a call; a wrong score costs more.
_REVISIONS = frozenset(
    """
    no not isn't wasn't don't never none neither nor without wrong incorrect actually however but instead wait sorry
    mistake correction corrected revise revised rather should opposite ignore disregard except unless although fail
    fails failed pass passes passed true false yes inverted reverse nicht kein keine nein falsch aber sondern jedoch
    doch stattdessen niemals ne pas non faux mais plutôt jamais aucun falso incorrecto pero sino nunca ni nem não nao
    errado mas ma però sbagliato niet geen fout maar onjuist nie błąd inte fel ikke ei väärin yok değil hayir tidak
    bukan không nu nincs rossz
    """.split()  # noqa: SIM905
)
_before = frozenset(
    ("not", "nicht", "pas", "no", "non", "niet", "não", "never", "instead", "opposite", "than", "unlike")
)


def contradicts(before: str, after: str, data: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return whether the prose around an answer could say something else than the answer.

    Text before it may be reasoning that the answer ends; there only a verdict that differs, or a negation right ahead,
    counts. Text after it may revise the answer: there a number, an option, a negation, or another script is enough.
    """
    before, after = before[-MAX_BEFORE:].rstrip().replace("\u2019", "'"), after.replace("\u2019", "'")
    last = [word.lower() for word in _words.findall(before.rsplit("\n", 1)[-1])[-3:]]
    if _before.intersection(last):
        return True
    if any(_states_otherwise(text, data, schema) for text in (before, after) if text):
        return True
    return bool(after.strip()) and _revises(after, schema)


def _revises(after: str, schema: Mapping[str, Any]) -> bool:
    words = {word.lower() for word in _words.findall(after)}
    if any(char.isnumeric() or (char.isalpha() and ord(char) >= 0x250) for char in after):
        return True
    return bool(words & _REVISIONS) or any(str(option).lower() in after.lower() for option in _iter_options(schema))


def _iter_options(schema: Mapping[str, Any]) -> Iterator[object]:
    for part in _properties(schema).values():
        yield from part.get("enum", ()) if isinstance(part, Mapping) else ()


def _states_otherwise(text: str, data: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return whether a text names a property that decides something, and gives it another value."""
    lowered = text.lower()
    for name, part in _properties(schema).items():
        if not isinstance(part, Mapping) or (part.get("type") == "string" and "enum" not in part):
            continue
        options = "|".join(re.escape(str(option).lower()) for option in part.get("enum", ())) or "(?!)"
        spoken = re.escape(name.lower()).replace("_", "[_ ]")
        for found in re.finditer(_stated.format(spoken) + _value.format(options), lowered):
            if not _is_same(found[1], data.get(name)):
                return True
    return False


def _is_same(stated: str, value: object) -> bool:
    if isinstance(value, bool):
        return stated in (("true", "yes") if value else ("false", "no"))
    if isinstance(value, int | float):
        return bool(_number.fullmatch(stated)) and float(stated) == float(value)
    return stated == str(value).lower()


def changes_meaning(body: str) -> bool:
    """Return whether mending a text could change what it says, above all its numbers.

    It could where a number outside of strings is written otherwise than in JSON (a typographic minus, a percent sign, a
    decimal comma, a fraction, a remark behind it), and where the text ends in the middle of one.
    """
    bare = _string.sub('""', body)
    # A mark outside of a string could be a remark on what stands before it.
    if _decimal_comma.search(bare) or not bare.isascii():
        return True
    runs = (found[0].strip() for found in _bare.finditer(bare))
    if any(any(char.isnumeric() for char in run) and not _number.fullmatch(run) for run in runs):
        return True
    end = bare.rstrip().rstrip(",").rstrip()[-1:]
    return end.isalnum() or end in (".", "-", "+")


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}
