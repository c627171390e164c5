"""Words that explain a verdict: medical terms, references to a person, and what reads like a person's name.

None of it moves the score. The lists are short and English, written for this file.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Sequence

from evaluators.base import Span
from evaluators.pii.entities import overlaps

MEDICAL = re.compile(
    r"\b(?:"
    r"patient|diagnos\w+|symptom\w*|prescri\w+|medication\w*|dos(?:e|age)\w*|tablets?|\d+ ?mg|allerg\w+|"
    r"surg(?:ery|ical\w*)|"
    r"hospital\w*|clinic(?:al|s)?|disease|disorder|syndrome|infection|cancer|tumou?rs?|carcinoma|chemotherapy|"
    r"diabet\w+|hypertension|asthma\w*|arthritis|depression|anxiety|epilep\w+|stroke|pneumonia|hiv|hepatitis|"
    r"blood (?:pressure|sugar|test)|heart (?:disease|attack|failure|rate)|cholesterol|insulin|pregnan\w+|miscarriage|"
    r"fever|cough\w*|nausea|vomit\w+|pain|fracture\w*|biopsy|x-?ray|mri|ct scan|ultrasound|vaccin\w+|antibiotic\w*|"
    r"medical history|past medical|family history|psychiatr\w+|therap(?:y|ist)|rehab\w*|smok(?:er|es|ing)|nonsmoker"
    r")\b",
    re.IGNORECASE,
)
PERSONAL = re.compile(
    r"\b(?:i|i'm|i've|my|me|he|she|his|her|him|hers|mr|mrs|ms|(?:the|this) patient|\d{1,3}[- ]years?[- ]old)\b",
    re.IGNORECASE,
)
_WORD = r"[A-Z][a-z\u00df-\u00ff]+(?:['\u2019-][A-Z][a-z\u00df-\u00ff]+)*"
_TITLED = re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? {_WORD}(?: {_WORD})?")
_FULL = re.compile(rf"\b({_WORD})(?: [A-Z]\.)? ({_WORD})\b")
_LABELLED = re.compile(rf"(?<=[Nn]ame: )({_WORD}(?: {_WORD})?)")
_DOES = r"has|had|takes|took|suffers|underwent|presented|(?:was|is|has been) (?:diagnosed|admitted|treated|being|on|in)"
_SINGLE = re.compile(rf"\b({_WORD})(?='s\b|\u2019s\b| (?:{_DOES})\b)")
_NOT_IN_NAMES = """
    A An And Are As At Because But By Can Could Did Do Does During Each Every For From Had Has Have He Her His How I
    If In Is It Its Many May Most My No Not Of On One Or Our Patient Patients She Should Since So Some That The Their
    There These They This Those To Was We Were What When Where Which While Who Why Will With Would You Your Nobody
    Someone Everyone Everybody Today Yesterday Doctor Hospital Clinic Medical Center Centre Health Heart Blood Disease
    Syndrome Diabetes Cancer Asthma Hypertension Treatment History Family Social Past Chief Physical Emergency Primary
    Care General University School Department Street Avenue Road United States New North South East West Monday Tuesday
    Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October
    November December Vital Signs Present Illness Type Crohn Parkinson Alzheimer Hodgkin Down Covid
"""
_NO_NAMES = frozenset(_NOT_IN_NAMES.split())


def count(pattern: re.Pattern[str], text: str) -> int:
    """Count the words of a list in a text."""
    return sum(1 for _ in pattern.finditer(text))


def likely_names(text: str, taken: Sequence[Span] = ()) -> list[Span]:
    """Return what reads like a person's name: after a title or a label, two capitalised words, or one that `has`.

    In reading order, and nowhere on what is `taken`.
    """
    claimed, names = sorted(taken), []
    for pattern in (_TITLED, _LABELLED, _FULL, _SINGLE):
        for match in pattern.finditer(text):
            start, end = match.span()
            if _NO_NAMES.isdisjoint(match[0].split()) and not overlaps(claimed, start, end):
                insort(claimed, (start, end))
                names.append((start, end))
    return sorted(names)
