"""Reject text that an English-only model cannot read, and report its detected language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from evaluators.base import CannotScore, JSONValue, Settings
from evaluators.text.function_words import RELATED, SUPPORTED, small_words
from evaluators.text.identify import identify
from evaluators.text.normalise import drop_unseen
from evaluators.text.unmarked import in_latin

ENGLISH = "en"
UNKNOWN = "und"
READS_ENGLISH: Settings = {"reads": ENGLISH}
"""What the id of an evaluator fixes that asks `require_readable` for more than Latin letters."""
MIN_LATIN_SHARE = 0.5
WINDOW_CHARS = 600
MAX_WINDOWS = 40
"""Windows of a text whose language is looked at, some 100 microseconds each; of more, some spread evenly."""
MIN_LETTERS = 11
MIN_WORDS = 3
# At least so likely not English, so many small words of the language and so many letters: any of these is enough to
# believe in another language. Chosen so that tweets, slang, names and addresses are not refused.
_ENOUGH = ((0.5, 2.0, MIN_LETTERS), (0.6, 1.0, 25))
_SURE, _SURE_LETTERS = 0.9, 25
_DOUBTS = {
    "too_short": "is too short to tell its language, and this evaluator reads English alone.",
    "words": "may have words of another language, and this evaluator reads English alone.",
    "unsure": "may not be in English: its language cannot be told for sure, and this evaluator reads English alone.",
}
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NO_PROSE = re.compile(
    r"`[^`\n]*`|\bhttps?:\S+|\bwww\.\S+|\S+@\S+|<[^<>\n]{1,300}>|&#?\w{2,8};|[@#$]\w+|[!-~]*[\d_/\\=][!-~]*"
)
_NO_WORD = re.compile(r"[^\w\s]|[\d_]")
# Function words that also occur in names and addresses, or are English slang, have half the weight.
_AMBIGUOUS = small_words("im dat da ya um no per de la le del van der den di du des el dos do das al en os as st")
_ALSO_ENGLISH = small_words(
    "im dont cant aint wont thats yall u ur ya gonna gotta wanna got get gets lol lmao rt omg wtf bitch bitches fuck"
    " fucking shit ass hoe hoes nigga niggas bro fam cuz tho lil like just good great please thanks street patient name"
    " address suite apt"
)
# Small words of other languages that English has too: "die" and "hat" make no sentence German.
_SHARED = small_words(
    "die hat war man also so am den was pour son par plus tout me on come per era con sin hay no as do door over of we"
    " is had men till under for at her have mere mod he to go pod by pro are care most ben may in an want all van"
)


@dataclass(frozen=True, slots=True)
class Language:
    """The detected language of a text: an ISO 639 code, or None and the reason why it cannot be determined."""

    code: str | None
    chance: float | None = None
    because: str | None = None

    def as_json(self) -> dict[str, JSONValue]:
        """Return it as `extra.language` shows it."""
        chance = None if self.chance is None else round(self.chance, 3)
        row: dict[str, JSONValue] = {"detected": self.code, "p": chance}
        return row if self.because is None else {**row, "because": self.because}


@dataclass(frozen=True, slots=True)
class Readable:
    """What is known of texts that are scored: for the score's `extra`, and the doubt that its explanation ends with."""

    extra: dict[str, JSONValue]
    doubt: str = ""


_TOO_SHORT = Language(None, because="too_short")


def require_readable(settings: Settings, *texts: tuple[str, str]) -> Readable:
    """Refuse texts that an evaluator cannot read; each is a pair of the text and what names it.

    With READS_ENGLISH among the settings they must be in English, and what is returned is of the text that is least
    sure to be. Without, they must be in Latin letters.
    """
    if settings.get("reads") != ENGLISH:
        for text, what in texts:
            require_latin(text, what)
        return Readable({})
    languages = [require_english(text, what) for text, what in texts]
    index = min(range(len(languages)), key=lambda each: _certainty(languages[each]))
    return as_readable(languages[index], *texts[index])


def as_readable(language: Language, text: str, what: str) -> Readable:
    """Return the score's fields for the text language returned by `require_english`; `what` names the text."""
    doubt = get_doubt(language.because or "", what) if any(map(str.isalpha, text)) else ""
    return Readable({"language": language.as_json()}, doubt)


def get_doubt(because: str, what: str) -> str:
    """Return the sentence of an explanation that doubts a text's language: `too_short`, `unsure` or `words`."""
    return f" {what} {_DOUBTS[because]}" if because in _DOUBTS else ""


def require_english(text: str, what: str) -> Language:
    """Raise CannotScore("unsupported_language") for text in another language; `what` names the text, e.g.

    `The output`.

    The error's `extra.language` reports the detected language. Text of undetermined language passes, and the return
    value records that: `as_readable` converts it to the fields of the score.
    """
    text = in_latin(text)
    language = detect_language(text)
    if language.code not in (None, ENGLISH):
        detail = f"{what} is in another language ({language.code}), and this evaluator reads English."
        raise CannotScore("unsupported_language", detail, extra={"language": language.as_json()})
    require_latin(text, what)
    return language


def require_latin(text: str, what: str) -> None:
    """Raise CannotScore("unsupported_language") for text mostly not in Latin letters; `what` names it: `The output`.

    Text without letters passes.
    """
    if _is_foreign(text):
        raise CannotScore(
            "unsupported_language", f"{what} is mostly not in Latin letters, and this evaluator reads English."
        )


def detect_language(text: str) -> Language:
    """Tell the language that most of a text is in; code, addresses, marks and digits do not count.

    `too_short` are a few words or letters, `unsure` is where nothing is likely enough: names, slang, a mixture. Raises
    ModelUnavailable where the model is not installed.
    """
    languages = [(_language_of_words(words), sum(map(len, words))) for words in _windows(text)]
    letters: dict[str | None, int] = defaultdict(int)
    for language, n_letters in languages:
        letters[language.code] += n_letters
    code = max(letters, key=letters.__getitem__)
    return max((pair for pair in languages if pair[0].code == code), key=lambda each: each[1])[0]


def _certainty(language: Language) -> tuple[bool, float]:
    return language.code is not None, language.chance or 0.0


def _windows(text: str) -> Iterator[list[str]]:
    """Yield the words of some windows of a text, at least of one."""
    prose = _FENCED.sub(" ", drop_unseen(text))
    last = max(0, (len(prose) - 1) // WINDOW_CHARS)
    for index in range(last + 1) if last < MAX_WINDOWS else pick_evenly(last, MAX_WINDOWS):
        yield split_prose(prose[index * WINDOW_CHARS : (index + 1) * WINDOW_CHARS].lower())


def split_prose(text: str) -> list[str]:
    """Return the words of a text, without code, addresses, markup, marks and digits."""
    return _NO_WORD.sub(" ", _NO_PROSE.sub(" ", text)).split()


def pick_evenly(last: int, n: int) -> list[int]:
    """Return `n` places from 0 to `last`, spread evenly."""
    return [index * last // (n - 1) for index in range(n)]


def _language_of_words(words: Sequence[str]) -> Language:
    line, n_letters = " ".join(words), sum(map(len, words))
    is_foreign = _is_foreign(line)
    # A script tells by itself what a few Latin letters do not.
    if not is_foreign and (n_letters < MIN_LETTERS or len(words) < MIN_WORDS):
        return _TOO_SHORT
    guesses = identify(line)
    code, chance = guesses[0]
    if is_foreign:
        return Language(UNKNOWN if code == ENGLISH else code, chance)
    if code == ENGLISH or _is_another(code, sum(p for name, p in guesses if name != ENGLISH), words):
        return Language(code, chance)
    return Language(None, chance, "unsure")


def _is_another(code: str, chance: float, words: Sequence[str]) -> bool:
    """Return whether to believe that words are in this language: of a few, some have to be its small words."""
    n_letters, small = sum(map(len, words)), _load_known_words().get(code)
    longer = [word for word in words if len(word) > 1]
    english = sum(word in _load_known_words()[ENGLISH] or word in _ALSO_ENGLISH for word in longer)
    if small is None:
        least = _SURE_LETTERS * (2 if all(map(str.isascii, words)) else 1)
        return chance >= _SURE and english <= 0.1 * len(words) and n_letters >= least
    weight = sum((0.5 if word in _AMBIGUOUS else 1.0) for word in longer if word in small)
    english += sum(word in _SHARED and word not in _load_known_words()[ENGLISH] for word in longer)
    if chance < _SURE and small.isdisjoint(set(longer) - _SHARED):
        return False
    if chance >= _SURE and not english and n_letters >= _SURE_LETTERS:
        return True
    return weight >= english and any(chance >= p and weight >= n and n_letters >= least for p, n, least in _ENOUGH)


@cache
def _load_known_words() -> dict[str, frozenset[str]]:
    return {language: small_words(words) for language, words in (SUPPORTED | RELATED).items()}


def _is_foreign(text: str) -> bool:
    if text.isascii():
        return False
    letters = Counter(filter(str.isalpha, text))
    foreign = sum(count for char, count in letters.items() if not _is_latin(char))
    return foreign > (1 - MIN_LATIN_SHARE) * letters.total()


def _is_latin(char: str) -> bool:
    # Width and styled forms (fullwidth, mathematical) name Latin letters only after folding.
    return "LATIN" in unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")
