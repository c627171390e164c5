"""Bare answers to questions of yes or no: "Yes." is relevant to "Is Oslo in Norway?", whatever its words."""

from __future__ import annotations

import re

from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.words import FUNCTION_WORDS, split_words, word_set

BARE = 0.6
"""The least score of a bare yes or no: it answers, and says no more."""
MAX_WORDS = 8
MAX_CHARS = 500
"""Longer questions are not read: the search stays linear."""

_VERDICTS = word_set(
    """
    yes yeah yep yup yea no nope nah true false correct incorrect right wrong indeed absolutely definitely certainly
    surely sure probably possibly perhaps maybe sometimes usually never always affirmative negative not of
    """
)
_MORE = word_set("course really quite way at all don doesn isn aren wasn weren didn hasn haven won")
_AFTER = FUNCTION_WORDS | _VERDICTS | _MORE
_VERB = (
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|shall|should|may|might|must|need|ain|won|don)"
)
# Before the verb stand fillers, or a clause that a comma ends: "In winter, is it open?".
_ASKS = re.compile(
    rf"\A\W*(?:(?:hi|hello|hey|so|and|but|also|then|ok|okay|well|please|sorry|or)\b\W*){{0,3}}"
    rf"(?:[^?,]{{1,120}},\W*)?{_VERB}(?:n?['\u2019]?t)?\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    rf",\W*(?:{_VERB}(?:n?['\u2019]?t)?\s+(?:i|you|he|she|it|we|they|there)|right|correct|yes|no|true)\W*\Z",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:true or false|yes or no|whether or not)\b", re.IGNORECASE)
_FOR_MORE = re.compile(
    r"\b(?:you|anyone|anybody|somebody|someone|please)\s+(?:\w+\s+)?(?:tell|explain|describe|show|name|list|give"
    r"|write|help"
    r"|say|know|remember|recommend|suggest|summari[sz]e|translate|compare|provide)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bor\b(?!\s+(?:not|no|any\w*|so|more|less|something|else)\b)", re.IGNORECASE)


def is_bare_answer(output: str, question: str) -> bool:
    """Return whether an output says yes, no or the like and nothing else but words of a question that asks for it."""
    words = split_words(output[:MAX_CHARS])
    if not words or len(words) > MAX_WORDS or words[0] not in _VERDICTS:
        return False
    return _AFTER.union(split_words(question[:MAX_CHARS])).issuperset(words) and asks_yes_or_no(question)


def asks_yes_or_no(question: str) -> bool:
    """Return whether the last sentence of an input can be answered by yes or no, in English.

    A choice ("red or blue?") cannot, nor can a request in the form of a question ("Can you explain why ...?").
    """
    spans = split_sentences(question)
    if not spans or spans[-1][1] - spans[-1][0] > MAX_CHARS:
        return False
    asked = question[slice(*spans[-1])]
    if _NAMED.search(asked):
        return True
    return bool(_ASKS.match(asked) or _TAG.search(asked)) and not (_FOR_MORE.search(asked) or _CHOICE.search(asked))
