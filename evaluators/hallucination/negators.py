# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Negation in other languages than English: a sentence that denies the context's sentence which it copies otherwise.

Both are aligned word by word (characters of Chinese and Japanese), and the negators within the aligned part compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evaluators.grounding.words import FUNCTION_WORDS, word_set
from evaluators.hallucination.copies import Sentence
from evaluators.text.language import ENGLISH, Language, detect_language

NEGATORS: Mapping[str, frozenset[str]] = {
    "fr": word_set("pas jamais rien aucun aucune guère nullement nulle ni"),
    "de": word_set("nicht nichts nie niemals kein keine keinen keinem keiner keines niemand weder nirgends"),
    "es": word_set("no nunca jamás nada nadie ningún ninguna ninguno tampoco ni"),
    "pt": word_set("não nunca jamais nada ninguém nenhum nenhuma tampouco nem"),
    "it": word_set("non mai niente nulla nessun nessuna nessuno neanche né"),
    "nl": word_set("niet niets nooit geen niemand nergens noch"),
    "pl": word_set("nie nigdy nic nikt żaden żadna żadne nigdzie ani"),
    "sv": word_set("inte icke aldrig ingen inget inga ingenting ej"),
    "da": word_set("ikke aldrig ingen intet ingenting ej"),
    "no": word_set("ikke aldri ingen intet ingenting ei"),
    "fi": word_set("ei en et emme ette eivät eikä älä ikinä koskaan"),
    "ro": word_set("nu niciodată nimic nimeni niciun nicio nici"),
    "hu": word_set("nem sem nincs nincsenek soha semmi senki"),
    "cs": word_set("není nejsou ne nikdy nic nikdo žádný žádná žádné ani"),
    "id": word_set("tidak bukan tak tiada belum jangan tanpa"),
    "tr": word_set("değil değildir yok yoktur hiç asla hayır"),
    "ru": word_set("не нет ни никогда ничего никто нельзя"),
    "uk": word_set("не немає ні ніколи нічого ніхто"),
    "zh": frozenset("不没沒無无未非"),
    "ja": frozenset(),
}
"""Words that deny, by language. In Chinese they are characters; Japanese denies by the endings of `_ENDINGS`."""
READABLE = frozenset({ENGLISH, *NEGATORS})
"""Languages with known negators."""
_ENGLISH_TOO = word_set("no non ne me ni en ei ej et nu ani nada sem hot tak noch")
_ANY = frozenset().union(*NEGATORS.values()) - _ENGLISH_TOO - FUNCTION_WORDS
"""Negators that are no English words."""
_ENDINGS = re.compile(r"ませ|な(?:い|か|く|けれ)|[かさたなまらわ]ず|じゃな|ではな")
_UNSPACED = ("zh", "ja")
ALIKE, ALIKE_UNSPACED = 0.6, 0.7
"""The share of a sentence's words, or characters, that stand in a context's sentence in the same order."""
FEWEST = 2
ENDING = 7
"""Characters up to the end of a denied Japanese verb."""
MOST_WORDS = 120
"""Words of longer sentences are not aligned."""
_TURKISH = ("ma", "me", "m")
_TURKISH_AORIST = ("maz", "mez")
ENGLISH_SHARE = 0.3
"""The share of English function words from which a text needs no look at its language."""
MOST_TOLD = 2_000
"""Characters of a text by which its language is told."""


def detect_unless_english(text: str, words: Sequence[str]) -> Language:
    """Return the language of a text with these words; one with many English function words is English."""
    if sum(map(FUNCTION_WORDS.__contains__, words)) >= ENGLISH_SHARE * len(words):
        return Language(ENGLISH)
    return detect_language(text[:MOST_TOLD])


def can_read(said: Language, told: Language, said_words: Iterable[str], told_words: Iterable[str]) -> bool:
    """Return whether an output and its contexts are in the same language, and negations are seen in it.

    A text too short to tell its language is read, unless only one of both has a word that denies in some language.
    """
    codes = {code for code in (said.code, told.code) if code is not None}
    if None in (said.code, told.code) and _ANY.isdisjoint(said_words) != _ANY.isdisjoint(told_words):
        return False
    if not codes:
        return "unsure" not in (said.because, told.because) or said.because != told.because
    # Neighbours such as Danish and Norwegian are taken for each other.
    return codes <= READABLE and (len(codes) == 1 or ENGLISH not in codes)


def is_negation_turned(said: Sentence, told: Sequence[Sentence], language: str) -> bool:
    """Return whether a sentence denies what the context's sentences that it copies affirm, or the other way round."""
    if not FEWEST <= len(said.words) <= MOST_WORDS:
        return False
    turned = [turn for sentence in told if (turn := _compare(said, sentence, language)) is not None]
    return bool(turned) and all(turned)


def _compare(said: Sentence, told: Sentence, language: str) -> bool | None:
    """Return whether two sentences differ in negation; None where they are not alike."""
    from rapidfuzz.distance import LCSseq

    if len(told.words) > MOST_WORDS:
        return None
    said_words, told_words = _affirmed(said.words, language), _affirmed(told.words, language)
    opcodes = LCSseq.opcodes(told_words, said_words)
    equal = [opcode for opcode in opcodes if opcode.tag == "equal"]
    n_same = sum(opcode.src_end - opcode.src_start for opcode in equal)
    least = ALIKE_UNSPACED if language in _UNSPACED else ALIKE
    if n_same < FEWEST - 1 or n_same < least * len(said_words):
        return None
    first, last = (_find_place(told.words, place, language) for place in (equal[0].src_start, equal[-1].src_end - 1))
    aligned = told.words[first : _find_end(told.words, last, language)]
    is_denied = _count_negators(said.words, language) != _count_negators(aligned, language)
    return is_denied != any(_is_derived(left, right, language) for left, right in _pairs(told_words, said_words))


def _find_end(words: Sequence[str], last: int, language: str) -> int:
    """Return where the aligned part ends: Japanese denies behind the verb, and others at the end of the sentence."""
    if language == "ja":
        return last + ENDING
    is_denied_last = last + 2 == len(words) and words[-1] in NEGATORS[language]
    return last + 1 + is_denied_last


def _affirmed(words: Sequence[str], language: str) -> list[str]:
    """Return the words without negators, which the alignment leaves out."""
    return [word for word in words if word not in NEGATORS[language]]


def _find_place(words: Sequence[str], n: int, language: str) -> int:
    """Return the place of the word that is the n-th one without negators, from 0."""
    places = [index for index, word in enumerate(words) if word not in NEGATORS[language]]
    return places[n]


def _count_negators(words: Sequence[str], language: str) -> int:
    """Return whether words deny, as 0 or 1; in Chinese and Japanese how often."""
    if language == "ja":
        return len(_ENDINGS.findall("".join(words)))
    n = sum(word in NEGATORS[language] for word in words)
    return n if language in _UNSPACED else min(n, 1)


def _pairs(told: Sequence[str], said: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each word of a context's sentence that the other lacks with each that only the other one has."""
    lacking, new = set(told) - set(said), set(said) - set(told)
    for left in lacking:
        yield from ((left, right) for right in new)


def _is_derived(left: str, right: str, language: str) -> bool:
    """Return whether one of two words is the other one denied, in languages that deny within the word."""
    affirmed, denied = sorted((left, right), key=len)
    if language == "cs":
        return denied == f"ne{affirmed}"
    if language != "tr":
        return False
    if any(word.endswith(_TURKISH_AORIST) and left[:2] == right[:2] for word in (left, right)):
        return not (left.endswith(_TURKISH_AORIST) and right.endswith(_TURKISH_AORIST))
    return any(
        denied[:place] + denied[place + len(part) :] == affirmed
        for part in _TURKISH
        for place in range(2, len(denied) - len(part))
        if denied.startswith(part, place)
    )
