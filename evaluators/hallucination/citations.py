"""Marks of sources, which claim nothing: "(Doc 3, p. 12)", "[Source 1](url)", "As stated in passage 2"."""

from __future__ import annotations

import re

_NOUN = (
    r"(?:doc(?:ument)?|source|context|passage|chunk|excerpt|snippet|extract|ref(?:erence)?|citation|cite|record"
    r"|text)s?"
)
_PLACE = (
    r"(?:pp?|pages?|pgs?|sec(?:tion)?s?|ch(?:ap(?:ter)?)?s?|para(?:graph)?s?|lines?|cols?|figs?|tables?|vols?|no"
    r"|nos|id)"
)
_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3})*[a-z]?|[ivx]{1,6})"
_RANGE = rf"{_NUMBER}(?:\s*(?:,|;|&|and|or|to|[-\u2013\u2014])\s*{_NUMBER})*"
_FILE = r"(?:[\w.%-]{1,80}\.(?:pdf|docx?|md|txt|html?|csv|xlsx?|pptx?|json|rst)|https?://[^\s\])}]{1,300})"
_NUMBERED = rf"(?:{_NOUN}|{_PLACE})\s*[.:#_-]?\s*#?{_RANGE}"
# With one of these, text in brackets cites, and nothing else in them may have a digit.
_CITING = rf"(?:{_NUMBERED}|{_FILE}|{_NOUN}\s*:[^()\[\]\d]{{0,40}})"
_FILLING = r"(?:[^\d()\[\]{}\u3010\u3011<>]{0,40})"
_INSIDE = rf"{_FILLING}{_CITING}(?:{_FILLING}{_CITING})*\s*[.;]?\s*"
_BARE = rf"\s*\^?{_RANGE}\s*"
# Brackets are short and hold no verb, or they might claim something beside the source.
_SHORT = (
    r"(?![^()\[\]{}\n]{0,120}\b(?:is|are|was|were|has|have|had|will|can|not|no"
    r"|never)\b)(?=[^()\[\]{}\n]{1,120}[)\]}])"
)
_RETRIEVED = (
    "document",
    "documents",
    "source",
    "sources",
    "passage",
    "passages",
    "excerpt",
    "excerpts",
    "context",
    "snippet",
)
_AFTER_NOUN = "|".join(rf"(?<=\b{noun})" for noun in _RETRIEVED)
CITATIONS = re.compile(
    r"(?=[(\[\u3010{<])(?:"
    r"\u3010[^\u3010\u3011\n]{0,80}\u3011"
    rf"|\[\[?{_SHORT}(?:{_BARE}|{_INSIDE})\]?\]\([^)\s]{{1,500}}\)"
    rf"|\({_SHORT}{_INSIDE}\)|\[{_SHORT}(?:{_BARE}|{_INSIDE})\]|\{{{_SHORT}(?:{_BARE}|{_INSIDE})\}}"
    r"|<(?P<tag>sup|cite|ref|citation)\b[^<>]{0,80}>[^<>]{0,80}</(?P=tag)>)"
    r"|(?:(?<=[^\W\d_]{4})|(?<=[\s.,;:!?)]))[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+(?=[\s.,;:]|\Z)"
    # A number of what was retrieved frames as the noun alone does: "As stated in passage 2".
    rf"|(?:{_AFTER_NOUN})\s+#?{_RANGE}\b"
    # A list of references ends the text.
    r"|(?:\A|\n)[ \t>*_#-]*(?:sources?|references?|citations?|bibliography|works cited)[ \t*_]*:[^\n]{0,300}"
    r"(?:\n+[ \t]*(?:[-*\u2022]|\[?\d{1,3}[\].)])[^\n]{0,300})*\s*\Z",
    re.IGNORECASE,
)
