"""Sentences copied from their own context, and what becomes of the verdict when one thing in them is changed.

For each sentence there are wrong versions (denied, another number, name, unit, quantifier or modal that no context has,
roles exchanged, a number or name from elsewhere in the context) and framed right ones. Each figure is the share that
passes, with a Wilson interval; of the wrong ones few should, of the right ones nearly all.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from benchmarks.contrast_texts import HELD_APART, LOOKED_AT
from evalsvc.stats.formulas.intervals import wilson
from evaluators.base import CannotScore, Family, Passage, Sample, Settings
from evaluators.grounding.sentences import split_sentences

FEWEST_WORDS, MOST_WORDS = 7, 40
PER_CONTEXT = 4
MOST = 400
"""Sentences of a source."""
OF_DATA = {"dialogue": "begin_wow_dev", "articles": "wice_dev", "notes, not looked at": "phi_train"}
FRAMED = "framed "
"""What the names of right versions begin with; `unchanged` is right too."""
REPORTED = ("number of elsewhere", "name of elsewhere", "roles exchanged")
"""Wrong versions whose words and numbers all stand in the context: reported, and no aim is set."""

_AUXILIARY = re.compile(r"\b(is|was|are|were|can|will|has|had|could|should|must|may)\b")
_DENIED = re.compile(r"\b(?:not?|never|without|none|neither|nor|cannot|few|hardly)\b|n't", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,/-])\d+(?:\.\d+)?(?![\w/-]|[.,]\d)")
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*)")
_UNITS = {
    "km": "miles", "kilometres": "miles", "kilometers": "miles", "miles": "km", "metres": "feet", "meters": "feet",
    "feet": "metres", "mm": "cm", "cm": "mm", "grams": "kg", "kg": "pounds", "pounds": "kg", "mg": "g", "days": "weeks",
    "weeks": "months", "months": "years", "years": "months", "hours": "days", "minutes": "hours", "percent": "tonnes",
    "million": "billion", "billion": "million", "euros": "dollars", "dollars": "euros", "litres": "gallons",
    "year": "month", "day": "week", "hour": "day", "week": "month", "acres": "hectares", "degrees": "percent",
}  # fmt: skip
_UNIT = re.compile(rf"(?<=\d[ -])(?:{'|'.join(_UNITS)})\b|(?<=\d) ?%(?!\w)")
_QUANTIFIERS = {
    "all": "some", "every": "no", "each": "no", "both": "neither of the", "most": "few", "many": "few", "some": "all",
    "several": "all", "few": "most", "only": "never", "always": "rarely", "never": "always", "often": "rarely",
    "usually": "rarely", "none": "all", "many of": "none of", "sometimes": "always",
}  # fmt: skip
_QUANTIFIER = re.compile(rf"(?<!not )\b(?:{'|'.join(_QUANTIFIERS)})\b(?! (?:likely|important|recent|common))")
_MODALS = {"may": "will", "might": "will", "must": "may", "should": "may", "could": "did"}
_MODAL = re.compile(r"\b(?:may(?! \d)|might|must|should|could)\b")
_PLAIN_VERB = re.compile(r"\b(?:can|will|could|must|should|may) (?!not\b|be\b|have\b|also\b)([a-z]+)\b")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}}) (?:{'|'.join(_MONTHS)})(?: (?P<year>\d{{4}}))?\b"
    rf"|\b(?:{'|'.join(_MONTHS)}) (?P<day_behind>\d{{1,2}})(?:, (?P<year_behind>\d{{4}}))?\b"
)
_PARTS = re.compile(r"\A((?:[A-Z][a-z]+ ?)+) (\w+ed|beat|chose|taught|sold|bought|led|met|won) ((?:[A-Z][a-z]+ ?)+)\b")
_NAMES = (
    "Borislav Quist",
    "Wexholm",
    "Ottoline Brax",
    "Zandvik",
    "Marguerite Tolle",
    "Kirovan",
    "Pelham Drury",
    "Uskara",
)

Edit: TypeAlias = Callable[[str, str, random.Random], "str | None"]


class Row(NamedTuple):
    """How many versions there are, the share of them that passes with its interval, and the share that is undecided."""

    n: int
    passed: float
    low: float
    high: float
    undecided: float


Table: TypeAlias = Mapping[str, Row]


@dataclass(frozen=True, slots=True)
class Copy:
    """A sentence and the contexts that it was copied from."""

    text: str
    contexts: tuple[str, ...]

    @property
    def told(self) -> str:
        """All that the contexts say."""
        return " ".join(self.contexts)


def _denied(text: str, told: str, rng: random.Random) -> str | None:
    return _AUXILIARY.sub(r"\1 not", text, count=1) if _AUXILIARY.search(text) and not _DENIED.search(text) else None


def _other_number(text: str, told: str, rng: random.Random) -> str | None:
    def another(found: re.Match[str]) -> str:
        known = {each.replace(",", "") for each in _NUMBER.findall(told)}
        digits = found[0].replace(",", "").split(".")[0]
        low = 10 ** (len(digits) - 1)
        drawn = next(str(n) for n in iter(lambda: rng.randrange(low, 10 * low + 30), None) if str(n) not in known)
        return f"{int(drawn):,}" if "," in found[0] else drawn

    return _once(_NUMBER, text, another, rng)


def _other_name(text: str, told: str, rng: random.Random) -> str | None:
    return _once(_NAME, text, lambda found: rng.choice(_NAMES), rng)


def _other_unit(text: str, told: str, rng: random.Random) -> str | None:
    return _once(_UNIT, text, lambda found: _UNITS.get(found[0], " kg"), rng)


def _other_quantifier(text: str, told: str, rng: random.Random) -> str | None:
    opened = text[0].lower() + text[1:]
    changed = _once(_QUANTIFIER, opened, lambda found: _QUANTIFIERS[found[0]], rng)
    return changed and (text[0] if changed[0] == opened[0] else changed[0].upper()) + changed[1:]


def _other_modal(text: str, told: str, rng: random.Random) -> str | None:
    return None if _DENIED.search(text) else _once(_MODAL, text, lambda found: _MODALS[found[0]], rng)


def _number_of_elsewhere(text: str, told: str, rng: random.Random) -> str | None:
    others = sorted(set(_NUMBER.findall(told)) - set(_NUMBER.findall(text)))
    return _once(_NUMBER, text, lambda found: rng.choice(others), rng) if others else None


def _name_of_elsewhere(text: str, told: str, rng: random.Random) -> str | None:
    others = sorted(name for name in set(_NAME.findall(told)) if name not in text and len(name) > 3)
    return _once(_NAME, text, lambda found: rng.choice(others), rng) if others else None


def _denied_by_a_clause(text: str, told: str, rng: random.Random) -> str | None:
    return rng.choice(DENYING).format(t=text[0].lower() + text[1:]) if not _DENIED.search(text) else None


def _fails_to(text: str, told: str, rng: random.Random) -> str | None:
    return _once(_PLAIN_VERB, text, lambda found: f"fails to {found[1]}", rng)


def _other_month(text: str, told: str, rng: random.Random) -> str | None:
    def another(found: re.Match[str]) -> str:
        day = int(found["day"] or found["day_behind"])
        year = found["year"] or found["year_behind"]
        if not (others := [name for name in _MONTHS if name not in told]):
            return found[0]
        month = rng.choice(others)
        forms = [f"{day} {month}", f"{month} {day}"]
        forms += [f"{year}-{_MONTHS.index(month) + 1:02}-{day:02}", f"{month} {day}, {year}"] if year else []
        return rng.choice(forms)

    return _once(_DATE, text, another, rng)


def _embed_in_question(text: str, told: str, rng: random.Random) -> str | None:
    edits = (_denied, _other_number, _other_name)
    changed = [other for edit in edits if (other := edit(text, told, rng)) is not None]
    return rng.choice(ASKING).format(t=changed[0][0].lower() + changed[0][1:].rstrip(".")) if changed else None


def _roles_exchanged(text: str, told: str, rng: random.Random) -> str | None:
    return _PARTS.sub(r"\3 \2 \1", text, count=1) if _PARTS.match(text) else None


def _once(what: re.Pattern[str], text: str, with_: Callable[[re.Match[str]], str], rng: random.Random) -> str | None:
    found = list(what.finditer(text))
    if not found:
        return None
    chosen = rng.choice(found)
    changed = text[: chosen.start()] + with_(chosen) + text[chosen.end() :]
    return changed if changed != text else None


WRONG: Mapping[str, Edit] = {
    "denied": _denied,
    "other number": _other_number,
    "other name": _other_name,
    "other unit": _other_unit,
    "other quantifier": _other_quantifier,
    "other modal": _other_modal,
    "number of elsewhere": _number_of_elsewhere,
    "name of elsewhere": _name_of_elsewhere,
    "roles exchanged": _roles_exchanged,
    "denied by a clause": _denied_by_a_clause,
    "fails to": _fails_to,
    "date with another month": _other_month,
    "wrong in a question": _embed_in_question,
}
DENYING = (
    "It is a myth that {t}",
    "It is not true that {t}",
    "There is no evidence that {t}",
    "Nothing happens when {t}",
    "It was a widespread misconception that {t}",
    "Nobody has reported that {t}",
    "There's hardly any proof that {t}",
    "It isn't the case that {t}",
)
ASKING = (
    "Would you like to hear more about how {t}?",
    "Shall I explain why {t}?",
    "Do you want to know when {t}?",
    "Are you aware that {t}?",
)
FRAMES: Mapping[str, str] = {
    "context": "Based on the provided context, {t}",
    "document": "According to the document, {t}",
    "that": "The passage states that {t}",
    "courtesy": "{t} I hope this helps! Let me know if you have any other questions.",
    "both": "Great question! {t} Feel free to reach out if you need anything else.",
    "bold": "**{t}**",
    "bullet": "Here is what I found:\n\n- {t}",
    "quote": '> "{t}"',
}


def _framed(frame: str) -> Edit:
    return lambda text, told, rng: frame.format(t=text)


RIGHT: Mapping[str, Edit] = {
    "unchanged": lambda text, told, rng: text,
    **{FRAMED + name: _framed(frame) for name, frame in FRAMES.items()},
}


def copies_of(contexts: Sequence[tuple[str, ...]]) -> list[Copy]:
    """Return whole sentences of the contexts, a few of each, long enough to say something."""
    found = [Copy(text, each) for each in contexts for text in _sentences(each)]
    return random.Random(1).sample(found, min(len(found), MOST))


def _sentences(contexts: tuple[str, ...]) -> Iterator[str]:
    said = [text[start:end] for text in contexts for start, end in split_sentences(text)]
    whole = [text for text in said if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS and text[0].isalpha()]
    ends = [text for text in whole if text.endswith(".") and "\n" not in text]
    yield from random.Random(2).sample(ends, min(len(ends), PER_CONTEXT))


def of_data(path: Path) -> list[Copy]:
    """Return the sentences of a development set: those of its contexts, or of its texts where it has none."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["context"] or row["output"] for row in rows]
    return copies_of(sorted({(text,) if isinstance(text, str) else tuple(text) for text in texts}))


def constructed(*, held_apart: bool) -> list[Copy]:
    """Return every sentence of the invented passages."""
    passages = HELD_APART if held_apart else LOOKED_AT
    return [Copy(text[start:end], (text,)) for text in passages for start, end in split_sentences(text)]


def contrast(copies: Sequence[Copy], family: Family, settings: Settings) -> Table:
    """Return how many of each version pass, of how many, with the interval of the share."""
    table: dict[str, Row] = {}
    for name, edit in {**RIGHT, **WRONG}.items():
        versions = [(each, edit(each.text, each.told, random.Random(i))) for i, each in enumerate(copies)]
        verdicts = [verdict(text, each.contexts, family, settings) for each, text in versions if text is not None]
        if n := len(verdicts):
            passed = verdicts.count(True)
            table[name] = Row(n, passed / n, *wilson(passed, n), verdicts.count(None) / n)
    return table


def verdict(text: str, contexts: tuple[str, ...], family: Family, settings: Settings) -> bool | None:
    """Say whether a version passes, None where that is undecided; one that cannot be scored does not."""
    sample = Sample(input="", output=text, contexts=tuple(map(Passage, contexts)))
    try:
        score = family.score(sample, settings, explain=False)
    except CannotScore:
        return False
    return None if score.undecided else score.passed


def sources(folder: Path | None) -> dict[str, list[Copy]]:
    """Return the sentences of every source; those of the development sets where their folder is there."""
    made = {"constructed": constructed(held_apart=False), "constructed, held apart": constructed(held_apart=True)}
    files = {name: folder / f"{file}.jsonl.gz" for name, file in OF_DATA.items()} if folder else {}
    return made | {name: of_data(path) for name, path in files.items() if path.exists()}


def measured(folder: Path | None, family: Family, settings: Settings) -> dict[str, Table]:
    """Print and return the table of every source."""
    found = {}
    for name, copies in sources(folder).items():
        found[name] = contrast(copies, family, settings)
        print(f"contrast, {name}: {len(copies)} sentences\n{shown(found[name])}", flush=True)
    return found


def shown(table: Table) -> str:
    """Write one source's figures, a version on a line."""
    rows = (
        f"  {name:22} {row.n:>5} {row.passed:7.1%}  [{row.low:.1%}, {row.high:.1%}], undecided {row.undecided:.1%}"
        for name, row in table.items()
    )
    return "\n".join(rows)
