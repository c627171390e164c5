"""Names of groups of people, which are no insults by themselves: "I am gay." is read as "I am Belgian." would be."""

from __future__ import annotations

import re

_ADJECTIVES = (
    r"gay|homosexual|lesbian|bisexual|transgender(?:ed)?|transsexual|trans|queer|asexual|intersex|non-?binary"
    r"|heterosexual|straight|black|white|brown|asian|african(?:[- ]american)?|latin[oax]|hispanic|mexican|arab|jewish"
    r"|muslim|islamic|christian|catholic|protestant|mormon|hindu|sikh|buddhist|atheist|disabled|autistic|deaf|blind"
    r"|immigrant|refugee|indigenous|aboriginal|native american|romani|roma|feminist|chinese|indian|turkish|polish"
    r"|russian|syrian|somali|nigerian|pakistani|iranian|iraqi|afghan|israeli|palestinian"
)
_NAMES = rf"{_ADJECTIVES}|jew|turk|pole|migrant"
_PLURAL = re.compile(rf"\b(?:{_NAMES})s\b", re.IGNORECASE)
_NAME = re.compile(rf"(?P<article>\ban )?\b(?:{_NAMES})\b", re.IGNORECASE)
# Contempt speaks of all of a group; a fact is mostly about some.
_ALL_OF_THEM = re.compile(
    rf"\b(?:(?:{_NAMES})s|(?:{_NAMES}) (?:\w+s|people|men|women|children|folks?)|the (?:{_NAMES})"
    r"|never|always|every\w*|all|any|no)\b",
    re.IGNORECASE,
)
_AS_INSULT = re.compile(
    rf"(?<!are )\byou (?:\w+ )?(?:{_NAMES})s?\b|\b(?:so|too|pretty|totally|super|that'?s|this is|it'?s) gay\b"
    r"|\ba queer\b(?! [a-z])|\bqueers\b",
    re.IGNORECASE,
)
SOME, ALL = -1.0, -2.25
"""Logits below which a passage without the names is harmless: one about some people, and one about all of a group."""


def replace_group_names(text: str) -> str | None:
    """Put a nationality in the place of each name of a group; None without a name, or where one is an insult."""
    singular = _PLURAL.sub("Belgians", text)
    if _AS_INSULT.search(text) or (singular == text and not _NAME.search(text)):
        return None
    return _NAME.sub(lambda found: f"{'a ' if found['article'] else ''}Belgian", singular)


def names_group(text: str) -> bool:
    """Return whether a text has the name of a group."""
    return bool(_NAME.search(text) or _PLURAL.search(text))


def get_harmless_logit(text: str) -> float:
    """Return the logit below which the text is harmless once `replace_group_names` has changed it."""
    return ALL if _ALL_OF_THEM.search(text) else SOME
