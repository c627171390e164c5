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

SENTENCES = {
    "en": "The river was higher than it had been for years.",
    "de": "Der Fluss war höher, als er seit Jahren gewesen ist.",
    "fr": "La rivière était plus haute que depuis des années.",
    "es": "El río estaba más alto de lo que había estado en años.",
    "pt": "O rio estava mais alto do que há muitos anos, e ninguém sabia por quê.",
    "it": "Il fiume era più alto di quanto non fosse stato da anni.",
    "nl": "De rivier stond hoger dan hij in jaren had gestaan.",
    "sv": "Floden stod högre än den hade gjort på många år, och det var inte bra.",
    "da": "Floden stod højere, end den havde gjort i mange år, og det var ikke godt.",
    "no": "Elven sto høyere enn den hadde gjort på mange år, og det var ikke bra for noen av dem.",
    "fi": "Joki oli korkeammalla kuin se oli ollut vuosiin, eikä se ollut hyvä.",
    "pl": "Rzeka była wyższa niż przez wiele lat i nie wiadomo było, co się stanie.",
    "cs": "Řeka byla vyšší, než byla po mnoho let, a nikdo nevěděl proč.",
    "ro": "Râul era mai înalt decât fusese de ani de zile și nu știa nimeni de ce.",
    "hu": "A folyó magasabb volt, mint évek óta bármikor, és ez nem volt jó.",
    "tr": "Nehir yıllardır olduğundan daha yüksekti ve bu hiç iyi değildi.",
    "id": "Sungai itu lebih tinggi dari tahun-tahun yang sudah lewat karena hujan, dan mereka bisa melihat bahwa itu tidak baik.",
    "vi": "Con sông đã cao hơn so với nhiều năm trước.",
    "ru": "Река была выше, чем она была за многие годы, и это не очень хорошо.",
    "uk": "Річка була вищою, ніж вона була за багато років, і це не дуже добре.",
    "bg": "Реката беше по-висока, отколкото е била от години, и това не е добре.",
    "el": "Ο ποταμός ήταν ψηλότερος από ό,τι ήταν εδώ και χρόνια.",
    "he": "הנהר היה גבוה יותר מאשר בשנים האחרונות.",
    "ar": "كان النهر أعلى مما كان عليه منذ سنوات.",
    "fa": "رودخانه از سال‌های گذشته بالاتر بود.",
    "hi": "नदी कई वर्षों की तुलना में ऊँची थी और यह अच्छा नहीं था।",
    "th": "แม่น้ำสูงกว่าที่เคยเป็นมาหลายปี",
    "ja": "川はここ何年もなかったほど高くなっていた。",
    "ko": "강은 몇 년 만에 가장 높았다.",
    "zh": "这条河比多年来都要高。",
}
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
