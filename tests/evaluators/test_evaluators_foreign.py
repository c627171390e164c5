# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Sixty texts in ten languages: where a family reads English alone, none of them has a score."""

from __future__ import annotations

import pytest

from evaluators.base import CannotScore, Family, Score, effective_settings
from evaluators.registry import find_evaluator
from evaluators.text.refusals import declines_elsewhere
from tests.evaluators.language_examples import ENGLISH, PERSONAL, PROBES, Probe
from tests.evaluators.samples import make_sample

ALIASES = ("toxicity", "phi", "answer-relevance", "context-relevance", "context-sufficiency")
QUESTION = "When did the west wing of the hospital burn down?"
of_each_language = pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.language)


def scored(name: str, **fields: object) -> Score:
    found = find_evaluator(name)
    assert found is not None
    family, spec = found
    return family.score(make_sample(**fields), effective_settings(spec, {}))


def refusal_of(name: str, **fields: object) -> dict[str, object]:
    """What the extra of a refusal says of the language."""
    with pytest.raises(CannotScore) as refusal:
        scored(name, **fields)
    assert refusal.value.code == "unsupported_language"
    assert refusal.value.extra is not None
    told = refusal.value.extra["language"]
    assert isinstance(told, dict)
    return dict(told)


@of_each_language
def test_abuse_and_health_have_no_score(probe: Probe) -> None:
    for name, text in (("toxicity", probe.abuse), ("phi", probe.health), ("toxicity", probe.right)):
        assert refusal_of(name, output=text)["detected"] == probe.language


@of_each_language
def test_personal_data_fails_in_every_language(probe: Probe) -> None:
    for name in ("pii", "pii-broad"):
        assert not scored(name, output=PERSONAL[probe.language]).passed


@of_each_language
def test_a_name_in_another_language_never_passes_in_silence(probe: Probe) -> None:
    try:
        found = scored("pii-broad", output=probe.health)
    except CannotScore as refusal:
        assert refusal.code == "unsupported_language"
    else:
        assert not found.passed
    with pytest.raises(CannotScore, match="is "):
        scored("pii-broad", output=probe.wrong)


@of_each_language
def test_support_is_told_right_from_wrong_in_every_language(probe: Probe) -> None:
    # Who declines claims nothing that would need support.
    for output, passes in ((probe.right, True), (probe.wrong, False), (probe.refusal, True)):
        fields = {"input": probe.question, "output": output, "contexts": (probe.right,)}
        assert scored("hallucination", **fields).passed is passes


@of_each_language
def test_a_refusal_is_evasive_in_every_language(probe: Probe) -> None:
    for question in (QUESTION, probe.question):
        found = scored("answer-relevance", input=question, output=probe.refusal)
        assert (found.value, found.passed, found.extra["evasive"]) == (0.0, False, True)


@of_each_language
def test_answers_are_not_judged_right_or_wrong(probe: Probe) -> None:
    for output in (probe.right, probe.wrong):
        assert refusal_of("answer-relevance", input=probe.question, output=output)["detected"] == probe.language
        assert refusal_of("answer-relevance", input=QUESTION, output=output)["detected"] == probe.language


@of_each_language
@pytest.mark.parametrize("name", ["context-relevance", "context-sufficiency"])
def test_contexts_are_not_judged_right_or_wrong(name: str, probe: Probe) -> None:
    for context in (probe.right, probe.wrong):
        assert refusal_of(name, input=probe.question, contexts=(context,))["detected"] == probe.language


@of_each_language
def test_the_words_of_a_gold_answer_are_looked_for_in_every_language(probe: Probe) -> None:
    assert scored("context-sufficiency", input=probe.question, contexts=(probe.right,), gold=probe.right).passed
    assert not scored("context-sufficiency", input=probe.question, contexts=(probe.wrong,), gold=probe.right).passed


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_scored_and_its_language_shown(text: str) -> None:
    shown = scored("phi", output=text).extra.get("language", "no letters")
    assert shown == "no letters" or (isinstance(shown, dict) and shown["detected"] in (None, "en"))


def test_what_is_too_short_to_tell_is_scored_and_says_so() -> None:
    found = scored("toxicity", output="Du Hurensohn!")
    assert found.extra["language"] == {"detected": None, "p": None, "because": "too_short"}


@pytest.mark.parametrize(
    ("alias", "before"),
    [
        ("toxicity", "toxicity-2026-11-20"),
        ("phi", "phi-2026-11-20"),
        ("answer-relevance", "retrieval-answer-relevance-2026-11-20"),
        ("context-relevance", "retrieval-context-relevance-2026-11-20"),
        ("context-sufficiency", "retrieval-context-sufficiency-2026-11-20"),
    ],
)
def test_the_ids_of_before_score_what_they_did(alias: str, before: str) -> None:
    newer, older = find_evaluator(alias), find_evaluator(before)
    assert newer is not None and older is not None
    assert newer[1].id > before
    assert older[1].aliases == ()
    probe = PROBES[0]
    fields: dict[str, object] = {"input": probe.question, "output": probe.abuse, "contexts": (probe.right,)}
    found = scored(before, **fields)
    assert "language" not in found.extra
    assert scored(before, **{**fields, "output": probe.refusal}).value >= 0.0


def test_the_older_answer_relevance_knows_refusals_in_english_alone() -> None:
    assert scored("retrieval-answer-relevance-2026-11-20", input=QUESTION, output="Je ne sais pas.").extra[
        "evasive"
    ] is False  # fmt: skip


MORE_REFUSALS = (
    "Je ne peux pas répondre à cette question.",
    "Désolé, le contexte ne mentionne pas cette information.",
    "Ich weiß es nicht.",
    "Das kann ich leider nicht beantworten.",
    "Der Kontext enthält dazu keine Informationen.",
    "No tengo idea.",
    "Lo siento, no puedo ayudarte con eso.",
    "O contexto não contém essa informação.",
    "Não posso responder a isso.",
    "Non posso rispondere a questa domanda.",
    "Ik weet het niet.",
    "Nie mogę odpowiedzieć na to pytanie.",
    "Saya tidak dapat menjawab pertanyaan itu.",
    "Извините, я не могу ответить на этот вопрос.",
    "В контексте не указано.",
    "上下文中没有提到这一点。",
    "抱歉，我无法回答这个问题。",
    "申し訳ありませんが、わかりません。",
    "お答えできません。",
    "لا أعرف.",
    "آسف، لا أستطيع الإجابة على هذا السؤال.",
    "मुझे नहीं पता।",
    "मैं इस प्रश्न का उत्तर नहीं दे सकता।",
    "আমি জানি না।",
)
ANSWERS = (
    "No se quemó nunca, el hospital sigue en pie.",
    "Je ne sais pas le jour exact, mais l'aile ouest a brûlé en 1922.",
    "Ich weiß es nicht genau, aber es war im März 1922.",
    "他不在那里，医院于1922年被烧毁。",
    "Er weiß nicht, dass der Flügel 1922 abgebrannt ist.",
    "She plays Bossa nova and says 'no so' a lot.",
    "The French poet wrote a novel in which nobody knows anything.",
    "Ma no, so che non brucia niente.",
    "Der Text nennt den März 1922.",
    "A fire destroyed the west wing in March 1922.",
)


@pytest.mark.parametrize("text", MORE_REFUSALS)
def test_common_wordings_decline(text: str) -> None:
    assert declines_elsewhere(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_do_not_decline(text: str) -> None:
    assert not declines_elsewhere(text)


def test_a_long_output_does_not_decline_by_one_sentence() -> None:
    assert not declines_elsewhere("Je ne sais pas. " + "L'aile ouest de l'hôpital a brûlé en mars 1922. " * 6)


def test_every_family_that_reads_english_alone_is_here() -> None:
    families: list[Family] = [found[0] for name in ALIASES if (found := find_evaluator(name)) is not None]
    assert len(families) == len(ALIASES)
