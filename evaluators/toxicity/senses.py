"""Words that insult in one sense and not in another: "I hate broccoli." is read as "I dislike broccoli." would be."""

from __future__ import annotations

import re

from evaluators.toxicity.groups import names_group

_PERSONS = re.compile(
    r"\b(?:you\w*|u|ur|he|she|they|him|his|her|hers|them|their|themselves|who\w*|someone|everyone|everybody|anyone"
    r"|people|persons?|folks?|humans?|men|man|wom[ae]n|girls?|boys?|kids?|child(?:ren)?|guys?|ladies|gentlemen|dudes?"
    r"|bab(?:y|ies)|teens?|parents?|mothers?|fathers?|mom|mum|dad|wi(?:fe|ves)|husbands?|(?:girl|boy)friends?|exe?s?"
    r"|brothers?|sisters?|sons?|daughters?|famil(?:y|ies)|neighbou?rs?|cops?|police\w*|nurses?|bosse?s?|nazis?"
    r"|liberals?|democrats?|republicans?|conservatives?|communists?|migrants?|immigrants?|refugees?|foreigners?|aliens?"
    r"|race|races|religions?|tribes?|ones|those|these|\w+(?:ists?|ers|ors|ians|ees|ites|esses|phobes))\b",
    re.IGNORECASE,
)
_THING = r"(?P<thing>(?:(?:the|this|that|my|our|a|an|to|when|how|doing|being|having|cold|wet|long) )*[a-z][a-z-]+)"
_HATE = re.compile(rf"\b(?P<verb>[Hh]at(?:e|es|ed|ing)) {_THING}")
_DAYS = re.compile(r"\b([Hh]at(?:e|es|ed|ing)) (?=(?:[A-Z][a-z]+day|January|February|March|November|December)s?\b)")
_DISLIKE = {"hate": "dislike", "hates": "dislikes", "hated": "disliked", "hating": "disliking"}
# A given name stands before a surname, and a surname behind a given name; "Dick Head" is neither.
_NAME = re.compile(
    r"(?<![Aa] )(?<!an )(?<!You )(?<!you )\bDick(?= (?:van |Van |de |Mc|Mac)?(?!Head|Face|Suck|Wad|Move|Pic)"
    r"[A-Z][a-z]+)"
    r"|(?<=Philip )Dick\b|(?<=[A-Z]\. )Dick\b|(?<=Moby[ -])Dick\b|(?<=Tom, )Dick(?=,? and Harry)"
)
_PHRASES = (
    (re.compile(r"\bpussy(?=[ -](?:willow|foot))", re.IGNORECASE), "wild"),
    (re.compile(r"\b(?:blue|great|coal|marsh|willow|crested|long-tailed) tits?\b", re.IGNORECASE), "sparrow"),
    (re.compile(r"\bboob(?:y)?(?=[ -]trap)", re.IGNORECASE), "hidden"),
    (re.compile(r"\bcock(?=(?:s|erel)? (?:crow|crew))", re.IGNORECASE), "rooster"),
    (re.compile(r"\bcall(?:s|ed|ing)? a spade a spade\b", re.IGNORECASE), "speak plainly"),
    (re.compile(r"\bhell of an? ", re.IGNORECASE), "very great "),
    (re.compile(r"(?<!you )\bstupid(?= (?:mistakes?|typos?|bugs?|questions? of mine))", re.IGNORECASE), "careless"),
    (
        re.compile(
            r"\bsuck(?=(?:s|ed|ing)? (?:up|in|out) (?:the |all )?(?:dust|air|water|dirt|crumbs|fuel|sand))", re.I
        ),
        "draw",
    ),
)


def replace_harmless_senses(text: str) -> str | None:
    """Put plain words in the place of those that are meant harmlessly; None where there are none."""
    replaced = _NAME.sub("Rick", _HATE.sub(_dislike, _DAYS.sub(lambda found: f"{_DISLIKE[found[1].lower()]} ", text)))
    for pattern, plain in _PHRASES:
        replaced = pattern.sub(plain, replaced)
    return replaced if replaced != text else None


def _dislike(found: re.Match[str]) -> str:
    """Return what somebody hates as a dislike, unless these could be people."""
    rest = found.string[found.start("thing") :].partition(".")[0]
    if _PERSONS.search(rest) or names_group(rest):
        return found[0]
    return f"{_DISLIKE[found['verb'].lower()]} {found['thing']}"
