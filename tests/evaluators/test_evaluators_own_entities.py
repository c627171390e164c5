"""Models in folders that label tokens: spans of personal data, and folders that are none of the kind."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluators.base import CannotScore, Score, effective_settings
from evaluators.registry import find_evaluator, list_broken_plugins, use_models
from tests.evaluators.samples import make_sample
from tests.evaluators.toy_models import WORDS, describe, write_folder, write_model, write_token_model

NAME = "names-2026-11-30"
LABELS = ["O", "B-PERSON", "I-PERSON", "B-CITY"]
# Nothing, the beginning of a person, its continuation, a city: by the toy's words.
TABLE = {"yes": (0, 5, 0, 0), "no": (0, 0, 5, 0), "vile": (0, 0, 0, 5)}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    use_models(None)


def write(root: Path, *, table: Any = None, **description: Any) -> Path:
    folder = write_folder(root, NAME)
    rows = [TABLE.get(word, (5, 0, 0, 0)) for word in WORDS] if table is None else table
    write_token_model(folder / "model.onnx", np.array(rows, np.float32))
    describe(folder, **{"task": "entities", "labels": LABELS, "good_label": None, **description})
    return folder


def score(root: Path, output: str, **settings: Any) -> Score:
    use_models(root)
    found = find_evaluator("names")
    assert found is not None, list_broken_plugins()
    family, spec = found
    return family.score(make_sample(output=output), effective_settings(spec, settings))


def check(folder: Path) -> str:
    out = StringIO()
    call_command("models", "check", str(folder), stdout=out)
    return out.getvalue()


def test_it_finds_spans_and_does_not_repeat_them(root: Path) -> None:
    assert (write(root) / "model.onnx").stat().st_size < 1_000_000

    found = score(root, "then yes no went to vile and yes")

    # A token of the toy has one logit of 5 and three of 0.
    assert (found.value, found.passed) == (pytest.approx(1 / (3 + np.exp(5))), False)
    assert found.spans == ((5, 11), (20, 24), (29, 32))
    assert found.extra["entities"] == [
        {"type": "PERSON", "start": 5, "end": 11},
        {"type": "CITY", "start": 20, "end": 24},
        {"type": "PERSON", "start": 29, "end": 32},
    ]
    assert found.extra["n_entities"] == 3
    assert found.explanation == (
        "names-2026-11-30 finds personal data: PERSON (characters 5 to 11), CITY (characters 20 to 24), PERSON "
        "(characters 29 to 32). The lowest probability of a token to be none is 0.01, below the threshold of 0.5."
    )


def test_what_has_none_passes(root: Path) -> None:
    write(root)
    found = score(root, "the parcel arrives")
    assert (found.value, found.passed) == (pytest.approx(np.exp(5) / (3 + np.exp(5))), True)
    assert (found.spans, found.extra["entities"]) == (None, [])


def test_two_beginnings_are_two_entities(root: Path) -> None:
    write(root)
    assert score(root, "yes yes no").spans == ((0, 3), (4, 10))


def test_a_threshold_finds_more_or_less(root: Path) -> None:
    write(root)
    assert score(root, "yes", pass_threshold=0.001).passed is True
    assert score(root, "the parcel", pass_threshold=0.99).spans == ((0, 3), (4, 10))


def test_long_texts_are_read_in_windows_and_what_overlaps_is_one(root: Path) -> None:
    write(root, max_tokens=8, window_tokens=6, stride_tokens=3)
    output = "a b c d yes no e f g h i j vile"
    assert score(root, output).spans == ((8, 14), (27, 31))


def test_another_label_may_stand_for_nothing(root: Path) -> None:
    write(root, labels=["NONE", *LABELS[1:]], good_label="NONE")
    assert score(root, "yes").spans == ((0, 3),)


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ({"labels": ["A", "B"]}, "/labels must have 'O'"),
        ({"labels": ["O"]}, "/labels must have 'O'"),
        ({"good_label": "B-CITY-OF"}, "/labels must have 'B-CITY-OF'"),
        ({"bad_label": "B-CITY"}, "/bad_label must not be set for entities"),
        ({"template": "{output}"}, "/template must not be set for entities"),
        ({"texts": ["context", "output"]}, "/texts must be the output alone for entities"),
        ({"task": "names"}, "/task must be one of support, toxicity, relevance, entities"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(root: Path, description: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CommandError) as caught:
        check(write(root, **description))
    assert sentence in str(caught.value)


def test_a_model_of_another_kind_or_with_other_labels_is_refused(root: Path) -> None:
    folder = write(root)
    write_model(folder / "model.onnx")
    describe(folder, task="entities", labels=LABELS, good_label=None)
    with pytest.raises(CommandError, match=r"The model's output is 1 by 2, and 1 by .* is expected"):
        check(folder)
    write_token_model(folder / "model.onnx", np.zeros((len(WORDS), 3)))
    describe(folder, task="entities", labels=LABELS, good_label=None)
    with pytest.raises(CommandError, match=r"by 3, and .* by 4 is expected for its tokens and labels"):
        check(folder)


def test_values_that_are_no_numbers_are_no_score(root: Path) -> None:
    write(root, table=np.full((len(WORDS), 4), np.nan))
    with pytest.raises(CannotScore, match="no finite numbers"):
        score(root, "yes")


def test_the_check_prints_verdicts_speed_and_memory(root: Path) -> None:
    text = check(write(root))
    assert "ms" in text and "MB" in text
    assert "The parcel arrives on Tuesday." in text
