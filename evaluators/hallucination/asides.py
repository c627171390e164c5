"""Sentences beside an answer, known by their structure: pointers, offers, what the speaker did, labels, wishes."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words, stem, word_set

LONGEST = 200
"""Characters of such a sentence."""
_WISHES = word_set("good great best happy stay take have enjoy keep sure thanks thank welcome")
MOST_EXCLAIMED = 3
"""Words of a wish such as "Stay safe!"."""
_TEXT = (
    r"(?:documents?|documentation|manuals?|guides?|handbooks?|web ?sites?|sites?|pages?|sections?|chapters?|articles?"
    r"|texts?|contexts?|passages?|sources?|excerpts?|links?|polic(?:y|ies)|terms|faqs?|materials?|references?|records?"
    r"|reports?|papers?|notes?|files?|information|details?|results?|question|answer|response)"
)
_PEOPLE = (
    r"(?:support|professionals?|experts?|doctors?|lawyers?|specialists?|physicians?|advis[eo]rs?|team|administrators?"
    r"|help ?desk|customer service|provider|us|me|someone|authorit(?:y|ies)|qualified \w+)"
)
_LEARN = (
    r"(?:consult|contact|refer(?: back)? to|see|check(?: with| out)?|visit|read|review|verify|confirm|ask|reach out"
    r"|get in touch|speak (?:to|with)|talk to|turn to|look (?:at|up|into)|go to|(?:double|cross)[- ]check"
    r"|seek|find)"
)
_HELP = (
    r"(?:help|assist|explain|summari[sz]e|clarify|elaborate|provide|go (?:into|through|over)|break|walk|show|share|list"
    r"|expand|rephrase|translate|answer|dig|look|take|see|start|begin|outline|try|check|give|tell|be (?:happy|glad))"
)
_DID = (
    r"(?:checked|reviewed|read|looked|searched|went|scanned|analy[sz]ed|found|went over|gone|examined|compared"
    r"|summari[sz]ed|based|used|pulled|drew|extracted|gathered|relied)"
)
_PATTERNS = (
    # Pointers: "Please consult the manual", "You can read more in section 2", "Always check with a professional".
    r"(?:[^,.;:]{0,60}, )?(?:(?:please|kindly|also|always|just|do|you (?:can|(?:may|might) want to|should|could))"
    rf"(?: \w+ly)? ){{0,2}}{_LEARN}\b[^;:]{{0,60}}\b(?:{_TEXT}|{_PEOPLE}|more|further)\b"
    r"(?!.*\b(?:because|since|which)\b).*",
    r"(?:please )?(?:do not|don'?t) hesitate\b.*|(?:please )?feel free to\b.*|(?:please )?let me know\b.*",
    r"(?:please )?(?:keep in mind|bear in mind|note|remember) that"
    r" (?:this|these|my|the (?:above|answer|response|summary))\b.*",
    r"if (?:you|anything|something|there)\b.*\b(?:ask|let me know|reach out|contact|help|assist|message)\b.*",
    r"(?:please |just )?(?:ask|say so|tell me|reach out|message me|write to me)\b.*\b(?:if|and|when|any ?time)\b.*",
    rf"(?:i|we)(?:'d| would)? (?:\w+ly |also )?(?:recommend|suggest|advise)\b.*\b(?:{_TEXT}|{_PEOPLE})\b.*",
    r"(?:i'?m )?(?:wish|wishing|have|enjoy)\b.*\b(?:day|week|weekend|evening|morning|afternoon|night)\b.*",
    # Offers, and what the speaker does: "I can also summarize the rest", "Let's take a look", "I checked the document".
    rf"(?:i|we)(?: can|'ll| will| could| would|'d|'m| am)(?: \w+){{0,4}}? {_HELP}\b.*",
    rf"(?:let me|let's|let us|allow me to) (?:\w+ ){{0,2}}{_HELP}\b.*",
    rf"(?:i|we)(?:'ve| have)? (?:\w+ly )?{_DID}\b.*\b(?:{_TEXT}|you|this|it)\b.*",
    # What is said of the answer itself.
    rf"(?:this|that|the|these|my|above)(?:'s)?(?: \w+)? ?(?:answer|response|summary|information|{_TEXT})?"
    r"(?: is| was| are| were)? (?:all|based|generated|drawn|taken|derived|compiled|provided|everything)\b"
    rf".*\b{_TEXT}\b.*",
    rf"no (?:other|further|more|additional) {_TEXT}\b.*\b(?:mentioned|given|provided|available|included|stated)\b.*",
    rf"(?:more|further|additional) {_TEXT}\b.*\b(?:found|available|given|provided|listed)\b.*",
    r"(?:many )?(?:thanks|thank you)\b.{0,60}",
    r"(?:i'?m )?(?:glad|happy|pleased|delighted) to (?:help|assist|hear)\b.{0,60}",
    # Labels with their values, and steps.
    r"(?:confidence|certainty)(?: (?:level|score))?: ?(?:(?:very )?(?:high|low)|medium|moderate|[\d.]+ ?%?).*",
    rf"(?:sources?|references?|citations?|cited|from|retrieved from)\b ?:? ?(?:the )?{_TEXT}\b.{{0,30}}",
    rf"(?:footnote|note|disclaimer|see also|see|cf)\b ?[:.]? ?(?:\w+ ){{0,3}}{_TEXT}\b.{{0,30}}",
    rf"step \d+\b ?[:.-]? ?(?:{_LEARN}|identify|analy[sz]e|understand|locate)\b.{{0,60}}\b{_TEXT}\b.{{0,20}}",
)
_OPENS = (
    r"(?:(?:ok|okay|sure|sure thing|yes|right|alright|all right|so|well|and|or|thanks|thank you|great|of course"
    r"|certainly)[,.!]* )?"
)
_ASIDE = re.compile(
    rf"\W*{_OPENS}(?:{'|'.join(f'(?:{pattern})' for pattern in _PATTERNS)})\Z", re.IGNORECASE | re.DOTALL
)
# Words of talk about an answer, a source or further help, beside those of the patterns.
_TALK = word_set(
    "let know like want need needed allow keep mind note remember kindly hesitate free feel more further other others"
    " additional full complete whole rest main key point points list part relevant shorter longer version summary level"
    " high low medium moderate confidence certainty available mentioned stated listed included provided given supplied"
    " shared sent gave based solely only drawn generated compiled derived taken limited relies above below attached"
    " official anything something everything nothing unclear unsure doubt question problem issue persists advice"
    " assistance decisions appendix citation footnote reference step identify analyze relevant together again deeper"
    " learn personal wish wishing wishes enjoy great good best nice lovely wonderful happy glad pleased safe care luck"
    " day week weekend evening morning afternoon night patience easy says say state states yes sure always before all"
)
_VOCABULARY = frozenset(map(stem, (*_TALK, *re.findall("[a-z]{3,}", " ".join((_TEXT, _PEOPLE, _LEARN, _HELP, _DID))))))
MOST_OTHER = 1
"""Words of neither kind that such a sentence may have; with more it may claim something."""
_SUBCLAUSE = re.compile(r"\b(?:that|which|who|because|since|how|why)\b|[:;,]\s", re.IGNORECASE)
_FIGURE = re.compile(r"\d")
_REFERENCE = re.compile(rf"\b(?:step|{_TEXT}|p\.|pp\.) ?#?\d+|\d+ ?%", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_OFFER = re.compile(
    rf"\W*{_OPENS}(?:(?:shall|should|can|may|could) i|(?:would you like|do you want|want) me to)(?: \w+)?"
    rf" {_HELP}\b[^?]*\?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^\W\d][^\d:.!?\n]{0,50}:(?=\s|\Z)")
_CLAUSE = re.compile(r"\b(?:that|how|why|when|where|whether|because|if)\b", re.IGNORECASE)
EMPHASIS = re.compile(
    r"\W*(?:there(?: is|'s) (?:absolutely |really )?no (?:doubt|question|denying)(?: about (?:it|that))?"
    r"|(?:it(?: is|'s) )?(?:beyond|without) (?:a |any )?(?:shadow of a )?(?:doubt|question)"
    r"|it(?: is|'s) (?:undeniable|certain|undisputed|safe to say|worth noting|important to note|a fact))(?: that|,)\s+"
    r"|\W*after (?:carefully )?(?:reviewing|reading|checking|looking at|going through|analy[sz]ing) "
    rf"(?:the |this |these |your )?(?:\w+ )?{_TEXT}, |\W*to (?:begin|start) with, "
    rf"|\W*as far as (?:the|these|your) (?:\w+ )?{_TEXT} (?:go|goes|(?:is|are) concerned), "
    r"|\W*tl;? ?dr\b[:,]?\s",
    re.IGNORECASE,
)
"""What opens a sentence with stress on it, or with what the speaker did, and neither claims nor denies anything."""


def skip_label(text: str, start: int, end: int, known: Container[str]) -> int:
    """Return where a sentence begins behind a label such as "Short version:", which has no word of the contexts."""
    label = _LABEL.match(text, start, end)
    if (
        label is None
        or _CAPITAL.search(label[0])
        or any(stem(word) in known for word in _content(split_words(label[0])))
    ):
        return start
    return label.end()


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in FUNCTION_WORDS and word not in INTERJECTIONS]


def is_offer(sentence: str) -> bool:
    """Return whether a question offers help and has no clause that could claim something."""
    return len(sentence) <= LONGEST and _OFFER.fullmatch(sentence) is not None and not _CLAUSE.search(sentence)


def is_aside(sentence: str, words: Sequence[str], known: Container[str]) -> bool:
    """Return whether a sentence points, offers, labels or wishes; `known` are the stems that contexts have.

    One with a number or a name claims something. So does one with a word of the contexts, or several others, that is no
    talk about an answer and its sources, and one with such a word in a clause ("I found that …", "Let me explain: …").
    """
    if len(sentence) > LONGEST or _FIGURE.search(_REFERENCE.sub("", sentence)) or _CAPITAL.search(sentence):
        return False
    if sentence.endswith("!") and len(words) <= MOST_EXCLAIMED and words and words[0] in _WISHES:
        return not any(stem(word) in known for word in _content(words))
    if _ASIDE.match(plain := sentence.replace("\u2019", "'")) is None:
        return False
    others = _find_others(words)
    if len(others) > MOST_OTHER or any(stem(word) in known for word in others):
        return False
    return not any(_find_others(split_words(clause)) for clause in _SUBCLAUSE.split(plain)[1:])


def _find_others(words: Sequence[str]) -> list[str]:
    return [word for word in _content(words) if stem(word) not in _VOCABULARY and word.isalpha()]
