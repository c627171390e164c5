"""Detect the language of a text by its script and, within a script, by its function words.

Thirty languages. A text that is too short, mixed, or in another language returns None, since a guess would give a
meaningless score.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache

from evaluators.text.function_words import RELATED, SUPPORTED

MAX_CHARS = 20_000
"""So much of a text is read."""
MIN_LETTERS = 4
MAIN_SCRIPT_SHARE = 0.6
MIN_EVIDENCE = 1.2
AHEAD_BY = 1.25
# Letters that a language has and its neighbours have not: each is worth a small word.
SIGNS = {
    "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "fr": "œ", "pl": "łęąśźż", "cs": "řěů", "ro": "țșă", "hu": "őű", "tr": "ığ",
    "ru": "ыэ", "uk": "їєґі", "be": "ўі", "sr": "ђћџјљњ", "mk": "ѓќѕ", "ca": "ŀ", "sk": "ľĺŕôä",
    "is": "þð", "lt": "ėųį", "lv": "ņļģķ", "et": "õ", "eo": "ĉĝĥĵŝŭ", "sq": "ë",
}  # fmt: skip
MOST_SIGNS = 3
_BY_SCRIPT = {"HANGUL": "ko", "GREEK": "el", "THAI": "th", "HEBREW": "he", "DEVANAGARI": "hi"}
_VIETNAMESE = frozenset("ạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđơư")
_ONLY_VIETNAMESE = frozenset("đơưảẫẩẵẳếềễệấầậắặớờởợứừữựỏỉẻ")
_PERSIAN = frozenset("پچژگ")
# Letters of languages in the same scripts that are not answered: Urdu, Kurdish, Uyghur; Azeri, Igbo; Kazakh, Tatar, …
_STRANGE_ARABIC = frozenset("ٹڈڑےںەۆێڵڕۇېۈۋ")
_STRANGE_LATIN = frozenset("əŋħṅɛɔƙɗɓ")
_CYRILLIC = frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґўђћџјљњѓќѕ")
_HINDI = frozenset(("है", "के", "की", "में", "और", "का", "हैं", "से", "को", "नहीं", "यह", "कि", "पर", "भी", "एक", "था", "हो"))
_CJK = ("HAN", "KANA")
LANGUAGES = (*SUPPORTED, "vi", "el", "he", "ar", "fa", "hi", "th", "ja", "ko", "zh")
"""ISO 639-1 codes of the languages that can be answered."""


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language, one of `LANGUAGES`, or None if it cannot be determined.

    Examples
    --------
    >>> detect_language("Der Zug fährt nicht mehr."), detect_language("Paris")
    ('de', None)
    """
    text = unicodedata.normalize("NFC", text[:MAX_CHARS]).lower()
    scripts = Counter(script for char in text if (script := _get_script(char)))
    n_letters = scripts.total()
    # In Chinese and Japanese a character is about a word, so two of them count as much as four letters.
    if n_letters < MIN_LETTERS and not (n_letters >= MIN_LETTERS // 2 and set(scripts) <= set(_CJK)):
        return None
    if sum(scripts[script] for script in _CJK) >= MAIN_SCRIPT_SHARE * n_letters:
        return "ja" if scripts["KANA"] >= 0.1 * n_letters else "zh"
    script, n = scripts.most_common(1)[0]
    if n < MAIN_SCRIPT_SHARE * n_letters:
        return None
    decide = _DECIDED.get(script)
    return decide(text) if decide is not None else None


@cache
def _get_script(char: str) -> str | None:
    if not char.isalpha():
        return None
    name = unicodedata.name(char, "").split(" ", 1)[0]
    if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"):
        return "KANA"
    return "HAN" if name == "CJK" else name


def _detect_by_words(text: str) -> str | None:
    """Decide among languages of one script by the small words and special letters that only few of them have."""
    # Sorbian has the letters of Czech and of Polish.
    if any(char in _STRANGE_LATIN for char in text) or ("ě" in text and "ł" in text):
        return None
    if sum(char in _VIETNAMESE for char in text) >= max(2, 0.04 * len(text)):
        return "vi" if any(char in _ONLY_VIETNAMESE for char in text) else None
    evidence: dict[str, float] = defaultdict(float)
    for word, n in Counter(_words(text)).items():
        for language in _owners().get(word, ()):
            # A word shared by many languages is weak evidence for each of them, and repetition adds little.
            evidence[language] += min(n, 3) / len(_owners()[word])
    for language, signs in SIGNS.items():
        evidence[language] += min(MOST_SIGNS, sum(text.count(sign) for sign in signs)) * 0.6
    (first, most), (_, second) = sorted(evidence.items(), key=lambda one: -one[1])[:2]
    if most < MIN_EVIDENCE or most < AHEAD_BY * second or first in RELATED:
        return None
    return first


def _words(text: str) -> list[str]:
    return "".join(char if char.isalpha() else " " for char in text).split()


@cache
def _owners() -> dict[str, tuple[str, ...]]:
    owners: dict[str, list[str]] = {}
    for language, words in (SUPPORTED | RELATED).items():
        for word in dict.fromkeys(words.split()):
            owners.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in owners.items()}


def _cyrillic(text: str) -> str | None:
    strange = sum(char not in _CYRILLIC and _get_script(char) == "CYRILLIC" for char in text)
    return None if strange else _detect_by_words(text)


def _arabic(text: str) -> str | None:
    if any(char in _STRANGE_ARABIC for char in text):
        return None
    return "fa" if any(char in _PERSIAN for char in text) or "ی" in text else "ar"


def _devanagari(text: str) -> str | None:
    # Marathi and Nepali are written with the same letters.
    return "hi" if sum(word in _HINDI for word in text.replace("।", " ").split()) >= 1 else None


_DECIDED: dict[str, Callable[[str], str | None]] = {
    "LATIN": _detect_by_words,
    "CYRILLIC": _cyrillic,
    "ARABIC": _arabic,
    "DEVANAGARI": _devanagari,
    **{script: (lambda _, code=code: code) for script, code in _BY_SCRIPT.items() if script != "DEVANAGARI"},
}
