"""Abstentions: clauses that say that the sources do not tell, or that the speaker does not know.

One recogniser for answer relevance and hallucination. A sentence is read clause by clause, since one can abstain and
the next one claim: "The documents do not mention it, but a ticket costs 20 euros".
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from evaluators.base import Span
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, split_words, stem, word_set
from evaluators.text.abstentions import abstains_elsewhere

MAX_CHARS = 600
"""Longer sentences are not searched: who abstains is brief, and the search stays linear."""
MAX_WORDS = 45
"""Words of a clause that abstains."""

_TEXT = (
    r"(?:contexts?|passages?|documents?|documentation|texts?|excerpts?|extracts?|articles?|sources?|materials?"
    r"|information"
    r"|snippets?|records?|files?|pages?|paragraphs?|sections?|knowledge base|(?:search )?results?|chunks?"
    r"|contents?|notes?"
    r"|references?|manuals?|handbooks?|guides?|guidelines|polic(?:y|ies)|faqs?|transcripts?|reports?|contracts?"
    r"|leases?|data"
    r"|agreements?|details|facts|evidence|summar(?:y|ies)|descriptions?|corpus|input|background|brochures?"
    r"|letters?|emails?"
    r"|statements?|threads?|stor(?:y|ies)|minutes|tables?|lists?|books?|review|catalogu?e|catalogs?|website|wiki|readme"
    r"|leaflets?|prospectus|specifications?|spec|sheets?|logs?|answer|question)"
)
_HERE = r"(?:here|anywhere|above|below|you (?:have )?(?:provided|gave|given|shared|sent|supplied)|i (?:have|was given))"
_TELL = (
    r"(?:contain|mention|say|state|specify|specifie|provide|include|give|indicate|discuss|address|addresse|answer"
    r"|cover|describe"
    r"|explain|tell|list|reveal|disclose|offer|support|note|identify|identifie|name|refer|report|speak|touch|talk"
    r"|detail|clarify"
    r"|clarifie|define|elaborate|comment|record|document|publish|publishe|quote|cite|spell|shed|allow|help|present"
    r"|confirm"
    r"|have|go into|make|point|suggest|show|express|break)"
)
_TOLD = (
    r"(?:mentioned|stated|specified|provided|given|included|indicated|discussed|covered|described|found|listed"
    r"|disclosed"
    r"|answered|contained|available|named|identified|addressed|explained|noted|reported|defined|detailed"
    r"|present(?:ed)?|shown"
    r"|referenced|part|among|in|spelled out|documented|recorded|known|revealed|set out|something|determined|established"
    r"|inferred|confirmed|verified|ascertained|derived|concluded|deduced|located|clear|certain|told|informed"
    r"|quoted|possible"
    r"|enough|sufficient|able|discernible|evident|touched|published|made clear|brought up|within|deducible|apparent)"
)
_WRITTEN = (
    r"(?:mentioned|stated|specified|indicated|addressed|spelled out|made clear|detailed|explicitly given|named"
    r"|identified"
    r"|discussed|referenced|described|disclosed|unspecified|unstated)"
)
"""What is done in a text alone; "provided" and "included" may speak of the world."""
_FACT = (
    r"(?:information|info|mention|details?|data|references?|indications?|answers?|evidence|facts?|records?"
    r"|statements?|figures?"
    r"|hints?|clues?|clauses?|specifics|passages?|knowledge|context|way of knowing|idea|basis|word|sign|detail"
    r"|trace|access|say)"
)
_FACT_ENDS = (
    r"(?=\s*(?:[.,;:!?)]|\Z|\b(?:about|on|of|regarding|concerning|as to|related|relating|pertaining|to|for|that"
    r"|whether|how|what"
    r"|when|where|who|why|which|if|in|from|within|here|is|are|was|were|has|have|needed|necessary|required"
    r"|available|provided|present|found"
    r"|given|at all"
    r"|was|i|you|anywhere|so|stating|mentioning|indicating|suggesting|specifying|describing|with)\b))"
)
_NOT = r"(?:\s?not|n['\u2019]?t|\s+never|\s+nowhere)"
_LITTLE = r"(?:\s+[\w'\u2019-]+){0,4}?\s+"
_LEARN = (
    r"(?:determine|find|locate|tell|say|answer|confirm|verify|provide|give|know|identify|infer|establish|derive"
    r"|conclude|deduce|see"
    r"|state|judge|be (?:sure|certain)|offer|speak|comment|respond|share|figure out|ascertain|specify|access"
    r"|work out|help|assist"
    r"|recall|discern|discover|make out|give you|look up|estimate|guess)"
)
_WH = r"(?:how|what|whether|if|when|who|whom|who(?:se)|where|why|which)"
_I = r"(?:\bi|\bwe|\bone|\byou)"
_CANNOT = (
    r"(?:not in a position to|no way to|not yet able to|cannot|can['\u2019]?t|can not|could ?n['\u2019]?t"
    r"|could not|unable to|not able to|failed to|never"
    r"|n['\u2019]t able to)"
)
_BE = r"(?:is|are|was|were|be|been|being|['\u2019]s|remains?|isn|aren|wasn|weren)"
_PATTERNS = (
    # The text does not tell, lacks, leaves open; nothing in it tells.
    rf"\b{_TEXT}\b[^;:]{{0,80}}?\b(?:do|does|did|has|have|had|can|could|would|don|doesn|didn|hasn|haven"
    rf"|cannot){_NOT}{_LITTLE}?"
    rf"\s*{_TELL}(?:s|d|ed|ing)?\b",
    rf"\b{_TEXT}\b[^;:]{{0,80}}?\b(?:(?:fails?|failed|neglects?|omits?|omitted) to {_TELL}|lacks?\b|lacking\b"
    r"|omits?\b|silent\b|void of|devoid"
    rf"|without (?:any )?{_FACT}|leaves?\b.{{1,60}}\b(?:open|out|unclear|unanswered|unsaid)|stops? short of"
    rf"|(?:{_TELL})e?s? (?:no\b|nothing|neither|none|little)"
    rf"|has no\b|only partly|makes? no\b)",
    rf"\b{_TEXT}\b[^;:]{{0,60}}?\bnever{_LITTLE}?\s*{_TELL}(?:s|d|ed)?\b",
    rf"\b(?:nothing|none|neither|nowhere|no|nor)\b[^;:]{{0,60}}?\b(?:{_TEXT}|of them|of these"
    rf"|of those)\b[^;:]{{0,50}}?\b{_TELL}(?:s|d|ed|ing)?\b",
    rf"\bnothing{_LITTLE}?\s*(?:about|on|regarding|concerning|{_TELL}s)\b",
    rf"\bnowhere\b.{{0,40}}\b(?:{_TEXT}|to be found|{_WRITTEN})\b",
    # It is not told; a place in a text makes any verb one of telling.
    rf"\b{_BE}{_NOT}{_LITTLE}?\s*{_WRITTEN}\b",
    rf"\b{_BE}{_NOT}{_LITTLE}?\s*{_TOLD}\b.{{0,80}}?\b(?:in|by|from|within|on|using|of"
    rf"|with)\s+(?:(?:\S+\s+){{0,4}}?{_TEXT}|it|them)\b",
    rf"\b{_BE}{_NOT}(?: \w+ly)? (?:in|part of|among|within|covered by|something)\s+(?:\S+\s+){{0,4}}?{_TEXT}\b",
    rf"\b(?:has|have|had){_NOT} been{_LITTLE}?\s*{_TOLD}\b",
    rf"\bno\b(?:\s+[\w'\u2019-]+){{1,5}}?\s+(?:is|are|was|were|has been|have been|can be"
    rf"|could be)\s+(?:\w+ly )?{_WRITTEN}\b",
    rf"\bno\b(?:\s+[\w'\u2019-]+){{1,5}}?\s+(?:is|are|was|were|has been|have been|can be"
    rf"|could be)\s+(?:\w+ly )?{_TOLD}\b.{{0,80}}?\b(?:{_TEXT}|{_HERE})\b",
    rf"\bthere(?:['\u2019]s| is| was| are| were)(?: \w+ly)? no\b.{{1,80}}?\b(?:in"
    rf"|within)\s+(?:\S+\s+){{0,4}}?{_TEXT}\b",
    rf"\b(?:missing|absent|omitted|left out|excluded) from\b.{{0,40}}\b{_TEXT}\b",
    rf"\b(?:outside|beyond)\b.{{0,30}}\b(?:scope|{_TEXT})\b",
    rf"\b{_BE}{_NOT}(?: \w+ly)? (?:specific|explicit|clear|precise|conclusive) (?:about|on|as to|regarding|{_WH})\b",
    r"\b(?:return|yield|produc|turn(?:ed)? up|brought up|surfac|retriev|found|uncover)\w*(?: \w+)? (?:no|nothing"
    r"|none)\b",
    # No information.
    r"(?:\b(?:no|not any|not enough|insufficient|without|lack of|lack|lacks|lacking|little|neither|not (?:have"
    r"|see|find|contain))"
    r"|n['\u2019]t (?:any|enough|have|see|find))(?: (?:any|the|enough|sufficient|specific|further|relevant|such"
    r"|direct|explicit"
    r"|clear|additional|exact|precise|concrete|other|more|reliable|of|necessary|required|needed|detailed|single|a"
    r"|an|\w+al))"
    rf"{{0,3}} {_FACT}\b{_FACT_ENDS}",
    rf"\b{_FACT} (?:\w+ ){{0,6}}?{_BE}{_NOT}(?: \w+ly)? (?:available|provided|given|present|included|contained"
    r"|found|here|there|sufficient|enough|known)\b",
    rf"\b{_FACT}\b.{{0,60}}?\b(?:missing|lacking|absent|unavailable|insufficient)\b",
    # The speaker does not know.
    rf"{_I}\b[^;:]{{0,30}}?{_CANNOT}(?: \w+ly)?(?: (?:be able to|seem to))? {_LEARN}\b",
    rf"{_I}\b[^;:]{{0,20}}?\b(?:do|did|don|didn|have|haven){_NOT}(?: \w+ly| even| actually)? (?:know|see|find"
    rf"|found|seen|locate)\b(?= (?:any|it|this|that|the answer|{_WH}|a\b|an\b|the\b)|\W*\Z|.{{0,60}}\b{_TEXT}\b)",
    rf"{_I}\b[^;:]{{0,20}}?\b(?:do|did|don|didn){_NOT}(?: \w+ly| even)? know\b",
    r"\bi(?:['\u2019]m| am)(?: \w+ly)? (?:not (?:\w+ly )?(?:sure|certain|aware|able)|unsure|unaware|unable"
    r"|uncertain)\b",
    r"\b(?:we|i) (?:are|am|were|was)(?:n['\u2019]t| not)(?: \w+ly)? (?:told|informed|given)\b",
    r"\bit (?:would|might|could) (?:only )?be (?:a |mere |pure )?(?:guess|speculation|guesswork)"
    r"|\bi would(?: only)? be guessing|\bi(?:['\u2019]d| would) have to guess",
    # It cannot be known.
    rf"\b(?:im|not |n['\u2019]t )possible to {_LEARN}\b",
    r"\b(?:unclear|unknown|unspecified|unstated|uncertain|undisclosed|undetermined|undocumented|ambiguous"
    r"|not (?:entirely |\w+ly )?(?:clear|known|certain|stated|specified|said))\b"
    rf"(?=.{{0,60}}?\b(?:{_WH}|{_TEXT}|{_HERE})\b)",
    rf"\b(?:question|this|that|it|answer|which|{_WH}.{{1,60}}?)\b (?:\w+ )?(?:cannot|can['\u2019]t|can not"
    rf"|could not|couldn['\u2019]t) be(?: \w+ly)? {_TOLD}",
    rf"\b(?:cannot|can['\u2019]t|can not|could not|couldn['\u2019]t) be(?: \w+ly)? {_TOLD}\b.{{0,60}}?\b(?:{_TEXT}"
    rf"|{_HERE})\b",
    rf"\b{_WH}\b.{{1,80}}?\b(?:{_BE}{_NOT}(?: \w+ly)? {_TOLD}|(?:is|remains?|are) (?:unclear|unknown|unspecified"
    r"|open|uncertain))\b",
    r"\bleft (?:unspecified|unstated|unsaid|unmentioned|undisclosed|undefined|unanswered)\b",
    # Nothing but that.
    r"\A\W*(?:(?:sorry|unfortunately)\W+)?(?:i\s+)?(?:unknown|unclear|undetermined|unspecified|unanswerable|idk|dunno"
    r"|n/?a|no (?:answer|idea|clue|info|information|data)|(?:not enough|insufficient) (?:info|information|data|context)"
    r"|(?:am |['\u2019]m )?not (?:sure|certain|known|answerable)|(?:do not|don['\u2019]?t) know"
    r"|(?:cannot|can['\u2019]?t|can not|could not|couldn['\u2019]t|(?:am )?unable to)"
    r" (?:answer|say|tell|determine|know)(?: (?:this|that|it|the question|for sure))?|cannot be (?:answered|determined)"
    r"|(?:the )?(?:info|information|data|answer)(?: is)? (?:not (?:available|found|provided|given|known)|unavailable"
    r"|unknown))\W*\Z",
    rf"\A\W*(?:not|nothing|none)(?: \w+ly)? {_TOLD}\b(?=.{{0,40}}\b{_TEXT}\b|\W*\Z)",
    rf"\A\W*(?:it|they|these|this|he|she)?\W*(?:do|does|did|don|doesn|didn){_NOT}(?: \w+ly)? (?:say|mention|state"
    r"|specify|tell|indicate|elaborate)\b",
)
_ABSTAINS = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
# "Is not provided" of what was asked, and of nothing else: "Breakfast is not included" claims.
_OF_THE_QUESTION = re.compile(
    rf"\b{_BE}{_NOT}(?: \w+ly| even)? {_TOLD}\b|\b(?:is|are|remains?) (?:unclear|unknown|uncertain|undisclosed"
    r"|undetermined)\b"
    rf"|\bno\b(?:\s+[\w'\u2019-]+){{1,4}}?\s+(?:is|are|was|were)\s+{_TOLD}\b|{_CANNOT} be(?: \w+ly)? {_TOLD}\b"
    rf"|\b(?:cannot|can['\u2019]t|could not) be {_TOLD}\b",
    re.IGNORECASE,
)
# In any other order: something is denied, then told or learnt, and a text is named; "The text says that ..." affirms.
_DENIES = re.compile(
    r"\b(?:not|no|none|nothing|neither|never|no ?body|no one|nowhere|without|cannot|unable|impossible|hardly|barely)\b"
    r"|n['\u2019]t\b|\btoo (?:\w+ )?(?:short|brief|vague|general|limited|narrow|little|few)\b",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:mention|say|state|tell|specif|indicate|address|answer|cover|discuss|describe|explain|touch|refer"
    r"|elaborat|reveal"
    r"|disclos|learn|know|determin|find|found|infer|see|clarif|talk|detail|information|hint|insight|indication"
    r"|clue|deal with"
    r"|comment|conclude|establish|deduc|gather|read|stated|told|figure out|speak|trace|account)\w*\b",
    re.IGNORECASE,
)
_NAMED_TEXT = re.compile(
    r"\b(?:contexts?|passages?|documents?|documentation|texts?|excerpts?|extracts?|snippets?|sources|source"
    r"|articles?|materials?"
    r"|search results|files|chunks?|information (?:provided|given|available)|knowledge base|(?:provided"
    r"|given) (?:information|data))\b",
    re.IGNORECASE,
)
# Whatever a retrieved text does not do, but for what contracts do.
_RETRIEVED = (
    r"(?:contexts?|passages?|documents?|documentation|texts?|excerpts?|extracts?|snippets?|sources?|articles?"
    r"|materials?"
    r"|search results|knowledge base)"
)
_TEXT_DOES_NOT = re.compile(
    r"\A\W*(?:(?:sorry|unfortunately|regrettably|the|this|that|these|those|my|your|our|provided|given|retrieved"
    r"|supplied"
    rf"|available|attached|shared|above)\b\W*){{0,4}}{_RETRIEVED}(?:\W+(?!that\b|which\b|of\b)\w+){{0,4}}?\W+"
    rf"(?:do|does|is|are|can|could|don|doesn|isn|aren|seem){_NOT}\b(?!\W+(?:\w+\W+)?(?:allow|permit|requir|grant"
    r"|oblig|apply|bind"
    rf"|exist|expir|valid|signed|sold|open|true))"
    r"|\A\W*(?:(?:sorry|unfortunately|regrettably)\b\W*)?(?:no|not a single|none of (?:the|these|my|your)"
    r"|neither of (?:the|these))"
    rf"(?: \w+)? {_RETRIEVED}\W+(?!allow|permit|requir|is\b|are\b|was\b|were\b)\w+",
    re.IGNORECASE,
)
_AFFIRMS = re.compile(
    r"\b(?:says?|said|states|mentions|notes|reports|shows|indicates|explains|confirms|according to|reads|warns"
    r"|claims)\b",
    re.IGNORECASE,
)
# What a question may be said to ask for, in other words than its own.
_TOPICS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (
            r"\bhow much\b|\bcosts?\b|\bprices?\b|\bfees?\b",
            "price prices pricing cost costs fee fees amount admission entry",
        ),
        (
            r"\bwhen\b|\b(?:what|which|how) (?:year|date|time|day|month|long)\b",
            "date dates year time day month duration",
        ),
        (r"\bwhere\b", "location place address city country whereabouts"),
        (r"\bwho(?:m|se)?\b", "name names person people identity"),
        (r"\bwhy\b", "reason reasons cause causes explanation"),
        (
            r"\bhow (?:many|often|old|far|tall|high|deep|wide|big|large|heavy|fast)\b",
            "number count figure total size age distance height length weight speed frequency",
        ),
    )
)
_EXACT = "exact exactly precise precisely specific specifically actual detail details"
# Beside an abstention, what a text has in its place: "The passage only talks about the opening".
_SPEAKS = r"(?:talks?|speaks?|deals?|tells?(?: (?:us|you|me))?|about|gives? (?:information|details))"
_FOCUSES = r"(?:focus(?:es|ed)?|concentrates?|centers?)"
_HAS_ANOTHER_TOPIC = re.compile(
    rf"\A\W*(?:the |this |these |that |your |my |all )?(?:provided |given |retrieved )?(?:{_TEXT}|it|they)\b"
    r"(?: provided| given)?(?: (?:is|are))?(?: (?:only|just|merely|solely|mainly|primarily|mostly))?"
    rf" (?:{_FOCUSES} (?:only |mainly )?on|{_SPEAKS}(?: (?:only|just|mainly))?(?: (?:about|on|with|of))?)\b",
    re.IGNORECASE,
)
_AND_DOES_NOT_TELL = re.compile(
    rf"\A\W*(?:(?:it|they)\b\W*)?(?:do|does|did|don|doesn|didn){_NOT}(?: \w+ly)? {_TELL}\b", re.IGNORECASE
)
_NO_ABSTENTION = re.compile(r"\bnot? (?:only|doubt|just|merely)\b|\bn['\u2019]t (?:only|just)\b", re.IGNORECASE)
# One of these is in each abstention; a search in lower case is quick.
_HINT = re.compile(
    r"n['\u2019]?t\b|\b(?:no|not|none|nothing|neither|nor|never|nowhere|cannot|cant|unable|un\w{2,12}|silent"
    r"|lack\w*|insufficient"
    r"|impossible|missing|absent|omit\w*|fail\w*|neglect\w*|outside|beyond|leaves?|devoid|void|without|little"
    r"|stops?|guess\w*|idk|dunno"
    r"|speculation|partly|ambiguous|no ?body|too|hardly|barely|n/?a)\b"
)
_AUX = r"(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|may|might|must|should)"
# Verbs that are no nouns and no participles behind nouns: "and children enter free of charge".
_DOES = (
    r"(?:says?|enters?|pays|sells?|takes?|lives?|needs|goes|comes|makes|knows?|opens|closes|begins?|includes?"
    r"|remains?|belongs?|lasts"
    r"|costs (?:about|around|only|less|more|\w+ (?:euros|dollars|pounds))|reports? (?:that|about)|opposed|wants?"
    r"|gets?|becomes?|gave|took"
    r"|went|came|made|knew|said|paid|sold|rose|fell|lost|won|died|bought|built|wrote|founded|opened|closed|moved"
    r"|joined|left|started|ended)"
)
_CUT = re.compile(
    r"\s*;\s*|:\s+|\s+[-\u2013\u2014]+\s+|\u2014|\s*[()]\s*"
    r"|\s*,?\s+\b(?:but|however|yet|though|although|whereas|nevertheless|nonetheless|even though|except|despite"
    r"|instead)\b\s*,?\s*"
    r"|\s*,\s+(?:so|as(?! (?:provided|given|stated|shown|supplied|written|is\b))|since|because|while|which|who"
    r"|who(?:se)|where|therefore"
    r"|thus|hence|only|then|still)\b\s*,?\s*"
    r"|\s+\b(?:because|while|since)\b\s+"
    r"|\s*,?\s+\band\b\s+(?=(?:i|you|he|she|it|they|we|there|this|that|these|those)\s+(?!of\b)\w"
    rf"|{_AUX}(?:n['\u2019]?t)?\b"
    rf"|(?:the|an?|its|their|his|her|our|my|no|some|all|most|many|\w+)\s+(?:[\w'\u2019-]+\s+){{0,5}}?{_AUX}\b)"
    rf"|\s*,?\s+\band\b\s+(?!{_WH}\b)(?=(?:[\w'\u2019-]+\s+){{1,5}}?{_DOES}\b)"
    r"|\s*,\s+(?=(?:it|he|she|they|there|we|i|you|this|that|these|those)\b['\u2019\s])",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\W*(?:while|although|though|even though|whereas|since|as|because|if|given that)\b", re.IGNORECASE
)
_ADVICE = re.compile(
    r"\A\W*(?:(?:so|for (?:this|that|more|further)[^,]{0,40}),?\s+)?(?:please|you (?:may|might|can|could|should"
    r"|would|will|['\u2019]ll)|i(?:['\u2019]d| would)? "
    r"(?:recommend|suggest|advise)|i (?:can|could) help|consider|try|let me know|if you|feel free|it (?:may|might"
    r"|would) be)\b.{0,120}?\b(?:check\w*|contact\w*"
    r"|consult\w*|ask\w*|refer\w*|visit\w*|see|look\w*|call\w*|reach\w*|provide|share|upload|send|clarify|search"
    r"|help|verify|confirm|paste|add|review|know)\b",
    re.IGNORECASE,
)
_IDLE = (
    FUNCTION_WORDS
    | INTERJECTIONS
    | word_set(
        """
    after before with hand other others things thing topics subjects matters talk talks deal deals speak speaks still
    merely mostly research query honestly truthfully short conclusion summary result overall far moment checking double
    unfortunately regrettably sorry afraid apologies apologize based context passage passages document documents text
    provided given information available above source sources according question answer looked read searched checked
    reviewed carefully through however therefore so thus guess here only alone retrieved excerpt material search
    results judging going all every entire whole twice again both supplied reading review reviewing concerned
    regarding far know tell say current currently unknown honest note notes see understand aware
    """
    )
)
MOST_OF_A_TOPIC = 2
FEWEST_COPIED, COPIED = 3, 0.8
"""Content words of a clause, and the share of them that the contexts have, from which it denies what they say."""
_OF_ABSTENTIONS = re.compile(rf"(?:{_TEXT}|{_TELL}(?:s|d|ed|ing)?|{_TOLD}|{_WRITTEN}|{_FACT}|{_LEARN})", re.IGNORECASE)
_FINITE = re.compile(
    rf"\b(?:{_AUX}|{_DOES}|it|he|she|they|i|we|you|use|uses|eat|eats|use[ds])\b|\w{{3}}ed\b", re.IGNORECASE
)
_NUMBERED = re.compile(rf"\b(?:{_TEXT}|page|p\.|no\.)\s*#?\d+(?:\s*(?:,|and|or|to|-)\s*\d+)*", re.IGNORECASE)


def abstains(text: str, question: str = "") -> bool | None:
    """Return whether a text as a whole says that it has no answer and claims nothing else; None if nothing says so."""
    spans = split_sentences(text)
    clauses = [clause for span in spans for clause in split_abstention(text, span, question) or [(span, False)]]
    if not any(is_abstention for _, is_abstention in clauses):
        return None
    return all(is_abstention or is_idle(text[slice(*span)], question) for span, is_abstention in clauses)


def split_abstention(
    text: str, span: Span, question: str, known: Container[str] = ()
) -> list[tuple[Span, bool]] | None:
    """Return the clauses of a sentence that abstains, each with whether it does; None of a sentence that does not.

    `known` are the stems that contexts have: a clause of them denies what a context says.
    """
    sentence = text[slice(*span)]
    if len(sentence) > MAX_CHARS:
        return None
    if abstains_elsewhere(sentence, question):
        return [(span, True)]
    if not _HINT.search(sentence.lower()):
        return None
    is_of_a_text = _HAS_ANOTHER_TOPIC.search(sentence) is not None
    clauses = [
        (part, _abstains(text[slice(*part)], question, known, is_of_a_text=is_of_a_text))
        for part in _split_clauses(text, span)
    ]
    return clauses if any(is_abstention for _, is_abstention in clauses) else None


def is_idle(clause: str, question: str) -> bool:
    """Return whether a clause beside an abstention claims nothing: an apology, advice, words of the question."""
    if any(map(str.isdigit, clause)) and not set(_figures(clause)).issubset(_figures(question)):
        return False
    words = split_words(clause)
    if _is_topic(clause, words) or _HAS_ANOTHER_TOPIC.search(clause):
        return True
    if _ADVICE.search(clause):
        return True
    asked = {stem(word) for word in split_words(question)}
    return all(word in _IDLE or stem(word) in asked for word in words)


def _is_topic(clause: str, words: list[str]) -> bool:
    """Return whether a clause only names a topic: what stands before a colon, without a verb."""
    return len(words) <= MOST_OF_A_TOPIC and _FINITE.search(clause) is None and not clause.rstrip().endswith(".")


def _split_clauses(text: str, span: Span) -> Iterator[Span]:
    start, end = span
    cuts = [match.span() for match in _CUT.finditer(text, start, end) if match.end() > match.start()]
    if _SUBORDINATE.match(text, start, end) and (comma := text.find(",", start, end)) >= 0:
        cuts = sorted([*cuts, (comma, comma + 1)])
    for cut_start, cut_end in cuts:
        if cut_start > start and any(map(str.isalnum, text[start:cut_start])):
            yield start, cut_start
        start = max(start, cut_end)
    if start < end and any(map(str.isalnum, text[start:end])):
        yield start, end


def _abstains(clause: str, question: str, known: Container[str], *, is_of_a_text: bool) -> bool:
    words = split_words(clause)
    if len(words) > MAX_WORDS or _NO_ABSTENTION.search(clause) or _copies(words, question, known):
        return False
    if not set(_figures(_NUMBERED.sub("", clause))).issubset(_figures(question)):
        return False
    if _ABSTAINS.search(clause) or _TEXT_DOES_NOT.search(clause) or _denies_telling(clause):
        return True
    if is_of_a_text and _AND_DOES_NOT_TELL.search(clause):
        return True
    match = _OF_THE_QUESTION.search(clause)
    return match is not None and is_idle(clause[: match.start()] + clause[match.end() :], _add_topics(question))


def _add_topics(question: str) -> str:
    topics = [words for pattern, words in _TOPICS if pattern.search(question[:MAX_CHARS])]
    return " ".join((question, _EXACT, *topics))


def _copies(words: Sequence[str], question: str, known: Container[str]) -> bool:
    """Return whether a clause denies in the contexts' own words, as an abstention speaks of what they do not have."""
    ignored = _IDLE.union(split_words(question))
    content = [word for word in words if word not in ignored and not _OF_ABSTENTIONS.fullmatch(word)]
    return len(content) >= FEWEST_COPIED and sum(stem(word) in known for word in content) >= COPIED * len(content)


def _denies_telling(clause: str) -> bool:
    denied, text = _DENIES.search(clause), _NAMED_TEXT.search(clause)
    if denied is None or text is None or _AFFIRMS.search(clause, 0, denied.start()):
        return False
    return _TELLS.search(clause, denied.end()) is not None


def _figures(text: str) -> list[str]:
    return [word for word in split_words(text) if any(map(str.isdigit, word))]
