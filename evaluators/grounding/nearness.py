"""Proximity of a short answer to the question's words in the contexts: its words alone often occur somewhere."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evaluators.grounding.evidence import Evidence
from evaluators.grounding.sentences import split_sentences
from evaluators.grounding.support import content_stems
from evaluators.grounding.words import Stems, split_words

SHORT = 6
"""Words of an answer that is short."""
MAX_ASKED = 12
"""Words of a question that are looked for, the first ones."""
HALF = 4
"""Words between two words that make them half as near as neighbours."""
NEXT_SENTENCE = 0.5
"""How near two words of neighbouring sentences are, of what they would be within one."""
ECHO = 0.3
"""What an answer gets that has only the question's words: right where the question names choices, else wrong."""

Places = Mapping[str, Sequence[int]]


def measure_question_distance(output: str, question: str, contexts: Iterable[str], evidence: Evidence) -> float | None:
    """Return the average proximity of the answer's best word to the question's words in a context, from 0 to 1.

    None if the answer is longer than SHORT or either text is without content words. More contexts never reduce it.
    """
    words = split_words(output)
    question_stems = content_stems(split_words(question), evidence.stems, else_all=False)[:MAX_ASKED]
    answer = content_stems(words, evidence.stems, else_all=False)
    if len(words) > SHORT or not question_stems or not answer:
        return None
    answer_stems = [stem for stem in answer if stem not in question_stems]
    if not answer_stems:
        return ECHO
    return max((_nearest(answer_stems, question_stems, context, evidence.stems) for context in contexts), default=0.0)


def _nearest(told: Sequence[str], asked: Sequence[str], context: str, stems: Stems) -> float:
    places, sentence_of = _places(context, stems)
    question_places = [places[stem] for stem in asked if stem in places]
    distances = (
        _sum(place, question_places, sentence_of) for stem in told for place in places.get(stem, ()) if question_places
    )
    return max(distances, default=0.0) / len(asked)


def _places(context: str, stems: Stems) -> tuple[Places, Sequence[int]]:
    """Return the positions of each word, and the sentence index of each position."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    sentence_of: list[int] = []
    for index, span in enumerate(split_sentences(context)):
        for word in split_words(context[slice(*span)]):
            places[stems[word]].append(len(sentence_of))
            sentence_of.append(index)
    return places, sentence_of


def _sum(place: int, asked: Sequence[Sequence[int]], sentence_of: Sequence[int]) -> float:
    return sum(max(_each(place, others, sentence_of)) for others in asked)


def _each(place: int, others: Sequence[int], sentence_of: Sequence[int]) -> Iterator[float]:
    """Yield how near the word before and the word after are. What is further away is not nearer."""
    after = bisect(others, place)
    for other in others[max(after - 1, 0) : after + 1]:
        sentences = abs(sentence_of[other] - sentence_of[place])
        weight = (1.0, NEXT_SENTENCE)[sentences] if sentences < 2 else 0.0
        yield weight / (1 + (abs(other - place) - 1) / HALF)
