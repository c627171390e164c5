# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Hallucination in other languages than English: what is denied and other numbers fail, the rest is undecided."""

from __future__ import annotations

import re

import pytest

from evaluators.base import Passage, Sample, Score
from evaluators.families.retrieval.hallucination import Hallucination

FAMILY = Hallucination()
CASES = {
    "fr": ("Le musée ouvre à 9 heures et ferme à 18 heures.", "Le musée n'ouvre pas à 9 heures."),
    "de": ("Das Museum öffnet um 9 Uhr, aber am Montag nicht.", "Das Museum öffnet nicht um 9 Uhr."),
    "es": ("El museo abre a las 9 y cierra a las 18.", "El museo nunca abre a las 9."),
    "pt": ("O museu abre às 9 horas e fecha às 18 horas.", "O museu não abre às 9 horas."),
    "it": ("Il museo apre alle 9 e chiude alle 18 di sera.", "Il museo non apre alle 9."),
    "nl": ("Het museum opent om 9 uur en sluit om 18 uur.", "Het museum opent niet om 9 uur."),
    "pl": ("Muzeum otwiera się o 9 i zamyka o 18.", "Muzeum nie otwiera się o 9."),
    "sv": ("Biblioteket lånar ut 5 böcker per person.", "Biblioteket lånar inte ut 5 böcker per person."),
    "tr": ("Müze saat 9'da açılır ve saat 18'de kapanır.", "Müze saat 9'da açılmaz."),
    "ru": ("Музей открывается в 9 часов и закрывается в 18 часов.", "Музей не открывается в 9 часов."),
    "zh": ("博物馆9点开门，18点关门。", "博物馆9点不开门。"),
    "ja": ("博物館は9時に開館し、18時に閉館します。", "博物館は9時に開館しません。"),
}
of_each_language = pytest.mark.parametrize("language", CASES)


def judged(output: str, context: str) -> Score:
    return FAMILY.score(Sample(input="", output=output, contexts=(Passage(context),)), {})


@of_each_language
def test_what_denies_its_context_fails(language: str) -> None:
    context, denied = CASES[language]
    score = judged(denied, context)
    assert (score.passed, score.undecided) == (False, None)
    assert score.extra["negation_differs"] is True
    # The other way round nothing passes in silence.
    turned = judged(context, denied)
    assert not turned.passed or turned.undecided


@of_each_language
def test_another_number_fails_and_the_same_passes(language: str) -> None:
    context, _ = CASES[language]
    other = re.sub(r"\d+", lambda number: str(int(number[0]) + 4), context, count=1)
    assert (judged(context, context).passed, judged(context, context).undecided) == (True, None)
    assert not judged(other, context).passed


SHORT = [
    ("Praha je hlavní město České republiky.", "Praha není hlavní město České republiky."),
    ("Der Vertrag ist gültig.", "Der Vertrag ist nicht gültig."),
    ("Le contrat est valable.", "Le contrat n'est pas valable."),
    ("El contrato es válido.", "El contrato no es válido."),
    ("Il contratto è valido.", "Il contratto non è valido."),
    ("O contrato é válido.", "O contrato não é válido."),
    ("Het contract is geldig.", "Het contract is niet geldig."),
    ("Umowa jest ważna.", "Umowa nie jest ważna."),
    ("Avtalet är giltigt.", "Avtalet är inte giltigt."),
    ("Sözleşme geçerli.", "Sözleşme geçerli değil."),
    ("Договор действителен.", "Договор не действителен."),
    ("Sopimus on voimassa.", "Sopimus ei ole voimassa."),
    ("契約は有効です。", "契約は有効ではありません。"),
    ("合同有效。", "合同无效。"),
    ("계약은 유효합니다.", "계약은 유효하지 않습니다."),
    ("Kontrakten er gyldig.", "Kontrakten er ikke gyldig."),
    ("A szerződés érvényes.", "A szerződés nem érvényes."),
    ("Contractul este valabil.", "Contractul nu este valabil."),
    ("Kontrak ini berlaku.", "Kontrak ini tidak berlaku."),
]


@pytest.mark.parametrize(("affirmed", "denied"), SHORT)
def test_a_denial_in_a_text_too_short_to_tell_its_language_does_not_pass(affirmed: str, denied: str) -> None:
    for output, context in ((denied, affirmed), (affirmed, denied)):
        score = judged(output, context)
        assert not score.passed or score.undecided, output


@pytest.mark.parametrize(
    ("context", "output"),
    [
        ("Die Impfung schützt vor Grippe, aber nicht vor Erkältungen.", "Die Impfung schützt vor Grippe."),
        ("疫苗可以预防流感，但不能预防感冒。", "疫苗可以预防流感。"),
        ("Вакцина защищает от гриппа, но не от простуды.", "Вакцина защищает от гриппа."),
    ],
)
def test_a_negation_of_another_clause_says_nothing(context: str, output: str) -> None:
    assert (judged(output, context).passed, judged(output, context).undecided) == (True, None)


def test_a_copy_that_ends_before_its_negator_fails() -> None:
    assert not judged("Das Museum öffnet am Montag.", "Das Museum öffnet am Montag nicht.").passed


def test_a_date_of_chinese_with_another_month_fails() -> None:
    context = "会议于2026年3月31日在5号楼举行。"
    assert judged("会议于2026年3月31日举行。", context).passed
    assert not judged("会议于2026年5月31日举行。", context).passed


@pytest.mark.parametrize(
    ("context", "output"),
    [
        ("Το εμβόλιο προστατεύει από τη γρίπη.", "Το εμβόλιο δεν προστατεύει από τη γρίπη."),
        ("اللقاح يحمي من الإنفلونزا.", "اللقاح لا يحمي من الإنفلونزا."),
        ("The vaccine protects against the flu in winter.", "Die Impfung schützt im Winter vor der Grippe."),
    ],
)
def test_a_language_without_known_negators_is_undecided(context: str, output: str) -> None:
    assert judged(output, context).undecided == "language"


def test_a_contradiction_in_such_a_language_fails() -> None:
    score = judged("Η βιβλιοθήκη δανείζει 9 βιβλία ανά άτομο.", "Η βιβλιοθήκη δανείζει 5 βιβλία ανά άτομο.")
    assert (score.passed, score.undecided) == (False, None)
