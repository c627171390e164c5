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
_INDIRECT = re.compile(
    r"\b(?:whether|(?:know|wonder|wondering|say|tell (?:me|us)|check|confirm|verify) if)\b", re.IGNORECASE
)
# "Oslo is in Norway?", "Any news?"; not "And the capital is what?".
_DECLARED = re.compile(
    rf"\A[^?]*\b{_VERB}(?:n?['\u2019]?t)?\b[^?]*\?\W*\Z|\A\W*(?:any\w*|ever)\b[^?]*\?\W*\Z", re.IGNORECASE
)
_RELATIVE = re.compile(
    r"\b(?:the|an?|this|that|those|these)\s+\w+\s+(?:who|whom|whose|which|where|when)\b(?!\W*\Z)", re.IGNORECASE
)
_QUESTION_WORD = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_FOR_MORE = re.compile(
    r"\b(?:you|anyone|anybody|somebody|someone|please)\s+(?:\w+\s+)?(?:tell|explain|describe|show|name|list|give"
    r"|write|help|say|know|remember|recommend|suggest|summari[sz]e|translate|compare|provide)\b",
    re.IGNORECASE,
)
_PLAIN = word_set("yes yeah yep yup yea no nope nah sure certainly definitely absolutely indeed ok okay")
# Before the word stand fillers, a clause that a comma ends or a preposition: "In which year ...?".
_ASKS_FOR_MORE = re.compile(
    r"\A\W*(?:(?:hi|hello|hey|so|and|but|also|then|ok|okay|well|please|sorry|or)\b\W*){0,3}"
    r"(?:[^?,]{1,120},\W*)?(?:(?:in|at|on|by|for|from|to|with|of|about|since|until)\s+)?"
    r"(?:who|whom|whose|what|which|when|where|why|how)\b(?!\s+(?:about|if|not)\b)",
    re.IGNORECASE,
)
_ENDS_ASKING = re.compile(
    r"\b(?:who|whom|what|which|when|where|why|how(?:\s+(?:much|many|long|old|far|often))?)\W*\Z", re.IGNORECASE
)
_WANTS_A_WORD = re.compile(
    r"\b(?:say|said|mean|means|word|translat\w*|answer\w*|reply|replied|respon\w*|return\w*|print\w*|output|opposite"
    r"|votes?|voted|yes|no)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bor\b(?!\s+(?:not|no|any\w*|so|more|less|something|else)\b)", re.IGNORECASE)


def is_bare_answer(output: str, question: str) -> bool:
    """Return whether an output says yes, no or the like and nothing else but words of a question that asks for it."""
    words = split_words(output[:MAX_CHARS])
    if not words or len(words) > MAX_WORDS or words[0] not in _VERDICTS:
        return False
    return _AFTER.union(split_words(question[:MAX_CHARS])).issuperset(words) and asks_yes_or_no(question)


def misses_question(output: str, question: str) -> bool:
    """Return whether an output is a bare yes or no to a question for something else: "Yes" to "Who wrote Emma?"."""
    words = split_words(output[:MAX_CHARS])
    if not words or len(words) > MAX_WORDS or words[0] not in _PLAIN or not _AFTER.union(_PLAIN).issuperset(words):
        return False
    sentences = [question[slice(*span)] for span in split_sentences(question)]
    asked = next((sentence for sentence in reversed(sentences) if "?" in sentence), sentences[-1] if sentences else "")
    if len(asked) > MAX_CHARS or asks_yes_or_no(question) or _WANTS_A_WORD.search(question[:MAX_CHARS]):
        return False
    if _ASKS_FOR_MORE.match(asked) or _ENDS_ASKING.search(asked):
        return True
    return _FOR_MORE.search(asked) is not None and _QUESTION_WORD.search(asked) is not None


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
    asks_for_a_word = _QUESTION_WORD.search(_RELATIVE.sub(" ", asked))
    if _INDIRECT.search(asked):
        return not asks_for_a_word
    if not (_ASKS.match(asked) or _TAG.search(asked) or (_DECLARED.match(asked) and not asks_for_a_word)):
        return False
    return not (_FOR_MORE.search(asked) or _CHOICE.search(asked))
