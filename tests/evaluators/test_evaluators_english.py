"""What is told to be another language, what passes as English, and what cannot be told."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import CannotScore, JSONValue
from evaluators.text import identify as model
from evaluators.text.language import READS_ENGLISH, Readable, detect_language, require_english, require_readable
from tests.evaluators.language_examples import ENGLISH, PROBES, Probe
from tests.evaluators.language_sentences import SENTENCES

FRENCH = "La rivière était plus haute que depuis des années."


@pytest.mark.parametrize("language", sorted(SENTENCES.keys() - {"en"}))
def test_a_sentence_in_another_language_is_refused_and_named(language: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        require_english(SENTENCES[language], "The output")
    assert refusal.value.code == "unsupported_language"
    assert refusal.value.extra is not None
    told = refusal.value.extra["language"]
    assert isinstance(told, dict)
    # Danish and Norwegian are written almost alike.
    assert told["detected"] == language or {str(told["detected"]), language} <= {"da", "no"}
    assert isinstance(told["p"], float)


@pytest.mark.parametrize("text", ENGLISH)
def test_english_slang_names_code_and_marks_are_not_refused(text: str) -> None:
    assert detect_language(text).code in (None, "en")


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.language)
def test_probes_are_told(probe: Probe) -> None:
    texts = (probe.abuse, probe.health, probe.question, probe.right, probe.wrong)
    assert {detect_language(text).code for text in texts} == {probe.language}


@pytest.mark.parametrize("text", ["", " ", "42", "OK", "Paris", "C'est la vie!", "```\nje ne sais pas du tout\n```"])
def test_a_few_words_are_too_short_to_tell(text: str) -> None:
    assert detect_language(text).as_json() == {"detected": None, "p": None, "because": "too_short"}


def test_what_is_likely_and_not_sure_is_not_told() -> None:
    found = detect_language("Café Müller, Königsallee 12, Düsseldorf")
    assert (found.code, found.because) == (None, "unsure")
    assert found.chance is not None


def test_most_of_a_long_text_decides() -> None:
    english = "The river was higher than it had been for years. " * 30
    assert detect_language(english + FRENCH).code == "en"
    assert detect_language(english + f"{FRENCH} " * 60).code == "fr"


def test_the_longest_request_is_looked_at_in_places() -> None:
    assert detect_language("The river was higher than it had been for years. " * 10_000).code == "en"
    assert detect_language("x" * 480_000).code in (None, "en")


@given(st.text(max_size=300))
def test_any_text_has_an_answer(text: str) -> None:
    found = detect_language(text)
    assert (found.code is None) == (found.because is not None)
    assert found.chance is None or 0.0 <= found.chance <= 1.0


def test_half_a_pair_is_looked_over() -> None:
    assert detect_language("\ud83d The river was higher \udc00 than for years.").code == "en"


def test_of_several_texts_the_least_sure_is_shown() -> None:
    shown = require_readable(
        READS_ENGLISH, ("Where is it?", "The input"), ("The mill stands by the river.", "The output")
    )
    assert shown.extra == {"language": {"detected": None, "p": None, "because": "too_short"}}
    assert shown.doubt.startswith(" The input is too short to tell its language")


def test_ids_that_ask_for_latin_letters_alone_show_nothing() -> None:
    assert require_readable({}, (FRENCH, "The output")) == Readable({})
    with pytest.raises(CannotScore) as refusal:
        require_readable({}, ("Привет, как дела?", "The output"))
    assert refusal.value.extra is None


def test_eight_threads_are_told_what_one_is() -> None:
    texts = [SENTENCES[language] for language in sorted(SENTENCES)] * 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(detect_language, texts)) == [detect_language(text) for text in texts]


@pytest.mark.parametrize("content", [None, b"another model"])
def test_without_the_known_model_nothing_is_told(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "no_weights"
    (folder / "resources").mkdir(parents=True)
    (folder / "__init__.py").touch()
    if content is not None:
        (folder / "resources" / model.WEIGHTS).write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(model, "PACKAGE", "no_weights")
    model._load.cache_clear()
    try:
        with pytest.raises(CannotScore) as refusal:
            detect_language(FRENCH)
    finally:
        model._load.cache_clear()
    assert refusal.value.code == "not_configured"
    assert "pip install --no-deps" in refusal.value.detail
    assert content is None or hashlib.sha256(content).hexdigest() in refusal.value.detail


def test_what_it_says_is_json() -> None:
    shown: dict[str, JSONValue] = detect_language(FRENCH).as_json()
    assert shown["detected"] == "fr"
    assert shown.keys() == {"detected", "p"}
