"""What frames an answer and claims nothing: "Based on the provided context, ...", "I hope this helps!", questions.

Known by its words and not by whole phrases: a clause that has none but words of talking about texts and answers, of
politeness, and function words, is a frame in any order of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from evaluators.base import Span
from evaluators.grounding.abstentions import is_idle, split_abstention
from evaluators.grounding.answers import only_declines
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import ANNOUNCED, content_stems
from evaluators.grounding.words import FUNCTION_WORDS, INTERJECTIONS, Stems, Words, split_words, word_set
from evaluators.hallucination.asides import EMPHASIS, is_aside, is_offer, skip_label
from evaluators.hallucination.denials import TELLING, TEXTS, find_denied
from evaluators.text.refusals import only_declines_elsewhere

_DENYING = frozenset({"no", "not", "nor", "t", "nope"})
_SMALL = (FUNCTION_WORDS | INTERJECTIONS) - _DENYING
_SAID_BEFORE = INTERJECTIONS - _DENYING
_GIVEN = word_set(
    """
    provided given supplied retrieved available above following attached relevant shared presented listed below included
    cited quoted referenced aforementioned gave sent using use used per given light accordance reference hand drawing
    judging going
    """
)
_ANSWERING = word_set(
    """
    question questions asked ask asking answer answers answering answered query request inquiry reply response respond
    responding short brief briefly quick quickly simple simply direct summary summarize summarise summarized sum
    overview
    key main important points point facts fact takeaways gist conclusion conclude list breakdown explanation explain
    final correct right full complete concise result
    """
)
_LINKING = word_set(
    """
    addition additionally furthermore moreover therefore thus hence however notably importantly interestingly finally
    first firstly second secondly third thirdly lastly next overall essentially basically generally short nutshell words
    other meanwhile similarly likewise consequently accordingly actually really certainly sure course now again example
    instance general particular precise exact put put let
    """
)
_POLITE = word_set(
    """
    great good excellent wonderful nice happy glad pleased pleasure help helps helped helpful helping assist assistance
    hope hopes hoping let lets know feel free need needs want wants like love anything something everything else further
    more another welcome thanks thank reaching contacting patience day evening luck best regards sincerely cheers kind
    dear there hello hi hey sorry apologies apologize please hesitate contact reach support always here enjoy wish
    clarify
    clarifies clarification elaborate regarding useful hear back soon talk chat follow interesting curious appreciate
    appreciated any anytime time today definitely absolutely problem worries clears things thing makes sense kindly
    additional looking forward care interested wondering assistant ai safe wonderful fantastic
    """
)
_FRAMING = TEXTS | TELLING | _GIVEN | _ANSWERING | _LINKING
_OPENING = _SMALL | _FRAMING
_ANY = _OPENING | _POLITE
_TELLING_MUCH = ((_FRAMING | _POLITE) - FUNCTION_WORDS) | INTERJECTIONS
# What reports a text's words needs a text or a verb of telling, or "In short," would need no comma.
_REPORTING = TEXTS | TELLING | _ANSWERING

_GREETING = INTERJECTIONS | word_set(
    """
    welcome sorry cheers regards sincerely great good excellent wonderful happy glad course problem worries pleasure
    answer summary luck day here question hope helps
    """
)
"""Of two or three words more may be an answer: "love", "the first"."""
SHORTEST = 4
LONGEST = 16
"""Words that a frame may have."""
_LONGEST_CHARS = 200
_END_OF_OPENING = re.compile(r"[,:;]\s|\s[-\u2013\u2014]\s|[:,]$|\bthat:?\s")
_START_OF_CLOSING = re.compile(
    r"[,;]\s|\s[-\u2013\u2014]\s|\s\(|\s(?=(?:according to|based (?:up)?on|as per|per the|as \w+ (?:in|by|above))\b)",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"(?:states|says|mentions|notes|reports|shows|tells (?:us|me)|indicates|confirms|answer is|summary is)(?:\s|$)"
)
# It denies the question and not what follows.
_DENIED = re.compile(r"\W*(?:no|nope|not (?:really|exactly|quite|at all))\s?[,.!;:]\s", re.IGNORECASE)
_ATTRIBUTED = re.compile(
    rf"\W*(?:according to|based (?:up)?on|as per|per) (?:the|this|these|your|our) (?:(?:{'|'.join(_GIVEN)}) )*"
    rf"(?:{'|'.join(TEXTS)})(?: (?:provided|given|above|supplied|you gave me|you provided))?,?\s",
    re.IGNORECASE,
)
# A hedge ("I think that ...") is a frame, provided that a statement follows.
_HEDGED = re.compile(
    r"\W*(?:(?:yes|yeah|well|so|and|but)\W+)?i (?:(?:do|also|really|just|would) )?"
    r"(?:think|believe|guess|suppose|assume)(?: that)? (?=\w+ \w+ \w+ \w+)"
    r"|\W*(?:(?:yes|yeah|well)\W+)?i(?:'m| am) not (?:really |quite |entirely )?(?:sure|certain)\s?,? but "
    r"|\W*(?:as far as i know|to (?:the best of )?my knowledge|in my (?:humble )?(?:opinion|view)),? ",
    re.IGNORECASE,
)
_TAGGED = re.compile(
    r"\bdid you know\b|,\s*(?:right|correct|no|yes|is it|\w+n't (?:it|he|she|they|you|we))\?$", re.IGNORECASE
)
_ASKING = re.compile(
    r"(?:\W*(?:(?:yes|yeah|oh|well|so|and|but|hi|hello|also|sure|ok|okay|no)\b[\s,.!]*)*)"
    r"(?:what|which|who|whom|whose|when|where|why|how|do|does|did|is|are|was|were|am|can|could|would|will|shall|should"
    r"|may|might|have|has|had|any|anything|need|want|you)\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\A\W*(?:i|we)(?:'m| am| are|'d| would)?\s+(?:really |also |just |personally |so |very )*"
    r"(?:love|like|enjoy|adore|hope|wish|glad|happy|sorry|excited|curious)\b",
    re.IGNORECASE,
)
_ASSUMED = re.compile(
    r"\b(?:how|why|when|where|that|because|although|since|which)\s+(?!to\b)(?=\S+\s+\S+\s+\S+)(?P<claim>[^?]+)\?\W*\Z",
    re.IGNORECASE,
)
_SPEAKER = frozenset({"i", "me", "my", "mine", "myself"})
# "Napoleon I" and "phase I" are no speakers.
_SPEAKING = re.compile(
    r"(?:\A|[^\w\s]\s*|\b(?!(?:type|phase|class|stage|grade|level|part|war|volume|chapter|book)\b)[a-z]+\s+"
    r"|\b(?:And|But|So|Well|Yes|Yeah|Oh|No|When|If|As|That|Because|While|Then|Now)\s+)[Ii]\b(?!\.)"
    r"|\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b"
)
MOST_OF_AN_OPINION = 4
"""Content words of a remark such as "I love rivers!"; who says more may claim something."""


class Idle(StrEnum):
    """Why a sentence claims nothing."""

    FRAME = "a frame"
    QUESTION = "a question"
    OPINION = "a remark"
    REFUSAL = "a refusal"
    ABSTENTION = "an abstention"


@dataclass(frozen=True, slots=True)
class Statement:
    """What an output claims, sentence by sentence and without frames; and its sentences that claim nothing."""

    claims: tuple[Span, ...]
    idle: tuple[tuple[Span, Idle], ...]

    def has(self, kind: Idle) -> bool:
        """Return whether a sentence claims nothing for this reason."""
        return any(other is kind for _, other in self.idle)


def remove_opening(words: Sequence[str]) -> Sequence[str]:
    """Remove the fillers that a claim opens with; a "no" is part of its content."""
    start = next((index for index, word in enumerate(words) if word not in _SAID_BEFORE), len(words))
    return words[start:] if start else words


def find_claims(
    text: str, question: str, words: Words | None = None, *, known: Container[str] = (), reads_abstentions: bool = False
) -> Statement:
    """Tell claims from frames, refusals, questions and remarks; `known` are the stems that contexts have.

    With `reads_abstentions`, clauses that say that the sources do not tell claim nothing either.
    """
    split = Words() if words is None else words
    claims: list[Span] = []
    idle: list[tuple[Span, Idle]] = []
    spans = split_sentences(text)
    if reads_abstentions:
        spans, idle = _take_abstentions(text, spans, question, known)
    for span in spans:
        why = _why_idle(text, span, split[text[slice(*span)]], question, known)
        if reads_abstentions and _is_aside(text[slice(*span)], why, split, known):
            why = Idle.FRAME
        if reads_abstentions and not why:
            span = (skip_label(text, *span, known), span[1])
        bare = None if why else _remove_frames(text, span, split[text[slice(*span)]], reads_emphasis=reads_abstentions)
        if bare is None:
            idle.append((span, why or Idle.FRAME))
            continue
        claims.append(bare)
        if bare[0] > span[0] and _HEDGED.match(text, *span):
            idle.append(((span[0], bare[0]), Idle.OPINION))
        if bare[1] < span[1] and (question_span := _find_tail_question(text, bare[1], span[1])) is not None:
            idle.append((question_span, Idle.QUESTION))
    return Statement(tuple(claims), tuple(idle))


def _is_aside(sentence: str, why: Idle | None, words: Words, known: Container[str]) -> bool:
    return is_offer(sentence) if why is Idle.QUESTION else not why and is_aside(sentence, words[sentence], known)


def _take_abstentions(
    text: str, spans: Sequence[Span], question: str, known: Container[str]
) -> tuple[list[Span], list[tuple[Span, Idle]]]:
    """Return what is left of sentences besides abstentions, and these. Advice beside an abstention claims nothing."""
    clauses = {span: split_abstention(text, span, question, known) for span in spans}
    for span, parts in clauses.items():
        # "There is no evidence that since 1997, ..." denies the whole of what follows.
        if parts and not all(is_abstention for _, is_abstention in parts) and find_denied(text, span):
            clauses[span] = None
    if not any(clauses.values()):
        return list(spans), []
    parts = [part for span in spans for part in clauses[span] or [(span, False)]]
    idle = [
        (part, is_abstention) for part, is_abstention in parts if is_abstention or is_idle(text[slice(*part)], question)
    ]
    left = {part for part, _ in idle}
    kinds = [(part, Idle.ABSTENTION if is_abstention else Idle.FRAME) for part, is_abstention in idle]
    return [part for part, _ in parts if part not in left], kinds


def find_assumed(text: str, span: Span) -> Span | None:
    """Return the clause that a question takes for granted: "it melts ice" of "Shall I explain how it melts ice?"."""
    match = _ASSUMED.search(text, *span)
    return match.span("claim") if match else None


def speaks_of_itself(said: str, words: Sequence[str], known: Container[str]) -> bool:
    """Return whether a claim is about the speaker ("I used to ski"), whom the contexts do not mention."""
    about = [word for word in words if word in _SPEAKER]
    return bool(about) and not any(word in known for word in about) and _SPEAKING.search(said) is not None


def _find_tail_question(text: str, start: int, end: int) -> Span | None:
    """Return the question that a claim ends with: "It is red, do you like it?"."""
    piece = text[start:end].lstrip(" ,;")
    return (end - len(piece), end) if piece.endswith("?") and any(map(str.isalnum, piece)) else None


def _why_idle(text: str, span: Span, words: Sequence[str], question: str, known: Container[str]) -> Idle | None:
    sentence = text[slice(*span)]
    if only_declines(text, span, question) or only_declines_elsewhere(sentence, words, question):
        return Idle.REFUSAL
    if len(sentence) <= _LONGEST_CHARS and _is_nothing_but_frame(sentence, words):
        return Idle.FRAME
    if sentence.endswith(("?", '?"')) and _asks(sentence):
        return Idle.QUESTION
    return Idle.OPINION if _is_opinion(sentence, words, question, known) else None


def _asks(sentence: str) -> bool:
    """Return whether a sentence is a question, and neither follows nor wraps a claim ("Did you know that ...?")."""
    if _TAGGED.search(sentence):
        return False
    return len(sentence.split()) <= SHORTEST or _ASKING.match(sentence) is not None


def _is_opinion(sentence: str, words: Sequence[str], question: str, known: Container[str]) -> bool:
    if len(sentence) > _LONGEST_CHARS or not _OPINION.match(sentence) or any(map(str.isdigit, sentence)):
        return False
    stems = content_stems([word for word in words if word not in _ANY], Stems(), else_all=False)
    question_stems = content_stems(split_words(question), Stems(), else_all=False)
    return len(stems) <= MOST_OF_AN_OPINION and all(stem in known or stem in question_stems for stem in stems)


def _is_nothing_but_frame(sentence: str, words: Sequence[str]) -> bool:
    is_long = len(words) >= SHORTEST or sentence.endswith(":")
    return _is_frame(words, _ANY if is_long else _SMALL | _GREETING)


def _is_frame(words: Sequence[str], allowed: frozenset[str]) -> bool:
    """Return whether words are all of a frame, and one of them is more than a function word."""
    return 0 < len(words) <= 2 * LONGEST and allowed.issuperset(words) and not _TELLING_MUCH.isdisjoint(words)


def _remove_frames(text: str, span: Span, words: Sequence[str], *, reads_emphasis: bool) -> Span | None:
    """Return the part of a sentence that claims; None where nothing is left."""
    start, end = span
    if reads_emphasis and (emphasis := EMPHASIS.match(text, start, end)) is not None:
        start = emphasis.end()
    if words and words[0] in _DENYING:
        start = denied.end() if (denied := _DENIED.match(text, start, end)) else start
    if _may_frame(words, _OPENING) or start > span[0] or not _SPEAKER.isdisjoint(words[:6]):
        while (after := _skip_opening(text, start, end)) is not None:
            start = after
    if _may_frame(reversed(words), _ANY):
        while (before := _find_closing(text, start, end)) is not None:
            end = before
    start, end = _strip_span(text, start, end)
    return (start, end) if start < end and any(map(str.isalnum, text[start:end])) else None


def _may_frame(words: Iterable[str], allowed: frozenset[str]) -> bool:
    """Return whether words begin with those of a frame, and one of these is more than a function word."""
    return any(word in _TELLING_MUCH for word in takewhile(allowed.__contains__, words))


def _skip_opening(text: str, start: int, end: int) -> int | None:
    """Return where the claim begins behind an opening frame: the longest one, up to a comma, colon, dash or "that"."""
    piece = text[start : min(end, start + _LONGEST_CHARS)]
    best = None
    for mark in _END_OF_OPENING.finditer(piece):
        words = split_words(piece[: mark.end()])
        if len(words) > LONGEST or not _OPENING.issuperset(words):
            break
        if _is_frame(words, _OPENING) and (mark[0][:4] != "that" or not _REPORTING.isdisjoint(words)):
            best = start + mark.end()
    return best if best is not None else _skip_telling(piece, start)


def _skip_telling(piece: str, start: int) -> int | None:
    """Return where the claim begins after "the document says" or "the answer is", which need no comma."""
    attributed = _ATTRIBUTED.match(piece) or _HEDGED.match(piece)
    if attributed is not None:
        return start + attributed.end()
    match = _TELLS.search(piece.lower())
    if match is None:
        return None
    words = split_words(piece[: match.end()])
    is_frame = len(words) <= LONGEST and _OPENING.issuperset(words)
    if is_frame and (not TEXTS.isdisjoint(words) or ANNOUNCED.match(" ".join(words) + " ")):
        return start + match.end()
    return None


def _find_closing(text: str, start: int, end: int) -> int | None:
    """Return where the claim ends before a closing frame: ", according to the document", "(see the context)"."""
    first = max(start, end - _LONGEST_CHARS)
    for mark in _START_OF_CLOSING.finditer(text, first, end):
        words = split_words(text[mark.end() : end])
        if len(words) <= LONGEST and _is_frame(words, _ANY) and mark.start() > start:
            return mark.start()
    return None


def _strip_span(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, end - (len(piece) - len(piece.rstrip())))
