# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""The language of a text: told right where it is told, and not told where it cannot be."""

from __future__ import annotations

import gettext
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import django
import pytest

from evaluators.text.detect import LANGUAGES, detect_language
from tests.evaluators.language_sentences import SENTENCES

DJANGO = {"nb": "no", "zh_Hans": "zh", "pt_BR": "pt"}


def test_every_language_has_a_sentence_here() -> None:
    assert set(SENTENCES) == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_tells_a_sentence(language: str) -> None:
    assert detect_language(SENTENCES[language]) == language
    assert detect_language(SENTENCES[language].upper()) == language


@pytest.mark.parametrize("text", [
    "", "  \n", "42", "Paris", "OK.", "https://example.com/a?b=c", "Barack Obama", "👍👍👍",
    f"{SENTENCES['de']} {SENTENCES['ru']}",
    "El riu era més alt del que havia estat des de feia anys, però ningú no sabia per què.",
    "Die rivier was hoër as wat dit vir jare was, en hulle het nie geweet hoekom nie.",
    "Rijeka je bila viša nego što je bila godinama, ali nije bilo dobro za njih.",
    "Рака была вышэйшая, чым яна была за шмат гадоў, і гэта не вельмі добра.",
    "دریا کئی سالوں سے زیادہ اونچا تھا اور یہ ٹھیک نہیں تھا۔",
])  # fmt: skip
def test_it_would_rather_not_say(text: str) -> None:
    assert detect_language(text) is None


def translations() -> Iterator[tuple[str, str]]:
    """The sentences of Django's own translations: short, dry, and by native speakers."""
    for path in sorted(Path(django.__file__).parent.glob("**/locale/*/LC_MESSAGES/django.mo")):
        locale = path.parts[-3]
        with path.open("rb") as file:
            catalog: dict[object, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        for key, text in catalog.items():
            if isinstance(key, str) and key not in ("", text) and not set("%<") & set(text) and len(text.split()) >= 6:
                yield DJANGO.get(locale, locale), text


def test_what_it_says_of_sentences_by_others_is_right() -> None:
    n_said, n_right, n_strange, n_taken = 0, 0, 0, Counter[str]()
    for language, text in translations():
        found = detect_language(text)
        if language in LANGUAGES:
            n_said += found is not None
            n_right += found == language
        elif "_" not in language and language != "nn":
            n_strange += 1
            n_taken[language] += found is not None

    assert n_said > 1500
    assert n_right / n_said >= 0.995
    # Languages that it does not know, most of them: fifty, among them close relatives of those that it knows.
    assert n_taken.total() / n_strange <= 0.07
