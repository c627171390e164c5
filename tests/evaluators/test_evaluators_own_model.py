"""Models in folders: each is an evaluator, and a folder that is not right is refused with a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from django.core.management import CommandError, call_command

from evaluators.base import CannotScore, Lane, Score, effective_settings
from evaluators.cards.card import build_card
from evaluators.classification.folder import MAX_BYTES
from evaluators.contract import contract_problems
from evaluators.registry import families, find_evaluator, list_broken_plugins, use_models
from tests.evaluators.samples import make_sample
from tests.evaluators.toy_models import LABELS, NAME, WORDS, describe, write_folder, write_model


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder of models, which is none of the installation's afterwards."""
    yield tmp_path
    use_models(None)


def score(root: Path, output: str, context: str = "The book.", name: str = "toy", **settings: Any) -> Score:
    use_models(root)
    found = find_evaluator(name)
    assert found is not None, list_broken_plugins()
    family, spec = found
    return family.score(make_sample(output=output, contexts=(context,)), effective_settings(spec, settings))


def check(folder: Path) -> str:
    """Return what the command prints."""
    out = StringIO()
    call_command("models", "check", str(folder), stdout=out)
    return out.getvalue()


def test_a_folder_is_an_evaluator(root: Path) -> None:
    folder = write_folder(root)
    assert (folder / "model.onnx").stat().st_size < 1_000_000

    good, bad = score(root, "yes"), score(root, "no no")

    # Softmax of logits 0 and 2, and of 4 and 0.
    assert (good.value, good.passed) == (pytest.approx(1 / (1 + np.exp(-2))), True)
    assert (bad.value, bad.passed, bad.spans) == (pytest.approx(1 / (1 + np.exp(4))), False, ((0, 5),))
    assert good.explanation == (
        "toy-2026-11-29 gives `SUPPORTED` the probability 0.88, at or above the threshold of 0.5."
    )
    found = find_evaluator(NAME)
    assert found is not None and found == find_evaluator("toy")
    family, spec = found
    assert family.lane_of(spec.settings) is Lane.CPU and contract_problems(family) == []
    assert spec.description == "A model of the operator for support, under the licence CC0-1.0."


def test_without_folders_there_is_no_such_family(root: Path) -> None:
    use_models(root)
    assert "own-model" not in {family.name for family in families()}


def test_a_profile_moves_the_threshold(root: Path) -> None:
    write_folder(root, pass_threshold=0.9)

    assert (score(root, "yes").passed, score(root, "yes", pass_threshold=0.8).passed) == (False, True)


def test_several_folders_are_evaluators_of_their_own(root: Path) -> None:
    write_folder(root)
    write_folder(root, "harm-2026-11-30", task="toxicity", good_label=None, bad_label="UNSUPPORTED", description="d")
    write_folder(root, "Bad Name")

    found = score(root, "You vile thing", name="harm")

    assert (found.value, found.passed) == (pytest.approx(1 / (1 + np.exp(4))), False)
    assert found.extra["label"] == "UNSUPPORTED" and found.extra["n_inputs"] == 1
    (broken,) = [item for item in list_broken_plugins() if item.entry_point == "EVALSVC_MODELS"]
    assert broken.package == "Bad Name" and "is not named as an id" in broken.problem


def test_a_model_of_one_label_is_a_probability(root: Path) -> None:
    folder = write_folder(root)
    write_model(folder / "model.onnx", weights=np.array([[row[1]] for row in WORDS.values()], np.float32))
    describe(folder, labels=["SUPPORTED"])

    assert score(root, "yes").value == pytest.approx(1 / (1 + np.exp(-2)))


def test_long_texts_are_read_in_windows(root: Path) -> None:
    write_folder(root, window_tokens=8, stride_tokens=6)

    found = score(root, "word", context="word " * 20 + "yes yes yes yes " + "word " * 20)

    # The best window of the context holds all four.
    assert found.value > 0.9 and int(str(found.extra["n_inputs"])) == 7


def test_a_window_longer_than_the_model_reads_is_refused(root: Path) -> None:
    write_folder(root, max_tokens=8, window_tokens=8, stride_tokens=8)

    with pytest.raises(CannotScore) as caught:
        score(root, "one two three four five six", context="a b c d e f")
    assert caught.value.code == "input_too_long"


def test_an_answer_that_is_no_number_is_no_score(root: Path) -> None:
    write_folder(root)

    with pytest.raises(CannotScore) as caught:
        score(root, "broken")
    assert caught.value.code == "not_configured" and "no finite numbers" in caught.value.detail


def test_check_prints_verdicts_speed_and_memory(root: Path) -> None:
    printed = check(write_folder(root))

    lines = printed.splitlines()
    assert lines[0].startswith("toy-2026-11-29: support, licence CC0-1.0, sha256:")
    assert len([line for line in lines if line.startswith(("  pass", "  fail"))]) == 10
    assert "ms per row; memory:" in lines[-1] and " MB" in lines[-1]


def link(folder: Path) -> None:
    (folder / "more").symlink_to("/etc")


def link_model(folder: Path) -> None:
    outside = folder.parent / "outside.onnx"
    (folder / "model.onnx").rename(outside)
    (folder / "model.onnx").symlink_to(outside)


def grow(folder: Path) -> None:
    os.truncate(folder / "model.onnx", 3_000_000_000)


def change(folder: Path) -> None:
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + "\n")


def externalise(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0
    )  # fmt: skip
    describe(folder)


def lead_outside(folder: Path) -> None:
    externalise(folder)
    path = folder / "model.onnx"
    path.write_bytes(path.read_bytes().replace(b"weights.bin", b"../../w.bin"))
    describe(folder)


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(content)
        if name != "evaluator.json":
            describe(folder)

    return spoil


def say(**description: Any) -> Callable[[Path], None]:
    return lambda folder: describe(folder, **description)


def remodel(**fields: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        write_model(folder / "model.onnx", **fields)
        describe(folder)

    return spoil


HOSTILE: list[tuple[str, Callable[[Path], None], str]] = [
    ("link", link, "The link more leaves the folder."),
    ("linked model", link_model, "The link model.onnx leaves the folder."),
    ("3 GB", grow, f"The folder has 3.0 GB; at most {MAX_BYTES / 1e9:g} GB are read."),
    ("no licence", say(licence=None), "/licence is required."),
    ("unknown task", say(task="names"), "/task must be one of support, toxicity, relevance, entities."),
    ("unknown key", say(gpu=True), "/gpu is not a setting"),
    ("no such label", say(good_label="GOOD"), "/good_label must be one of labels."),
    ("one label more", say(labels=[*LABELS, "NEUTRAL"]), "The model's output is 1 by 2, and 1 by 3 is expected"),
    ("digest", change, "The digest of model.onnx and tokenizer.json is sha256:"),
    ("no model", lambda folder: (folder / "model.onnx").unlink(), "The folder has no file model.onnx."),
    ("no tokenizer", lambda folder: (folder / "tokenizer.json").unlink(), "The folder has no file tokenizer.json."),
    ("no description", lambda folder: (folder / "evaluator.json").unlink(), "The folder has no file evaluator.json."),
    ("no JSON", write("evaluator.json", b"{"), "evaluator.json is not JSON."),
    ("no object", write("evaluator.json", b"[]"), "evaluator.json is not a JSON object."),
    ("no ONNX", write("model.onnx", b"\xff\xff\xff"), "model.onnx is not a file of the ONNX format."),
    ("another ONNX", write("model.onnx", b""), "ONNX Runtime cannot load model.onnx"),
    ("no tokens", write("tokenizer.json", b"{}"), "tokenizer.json is not a file of the library `tokenizers`."),
    ("external data", externalise, "model.onnx keeps weights in other files; export it as one file."),
    ("data outside", lead_outside, "model.onnx keeps weights in other files; export it as one file."),
    ("one length", remodel(shape=[1, 16]), "with any number of tokens is expected."),
    ("three axes", remodel(shape=["batch", "tokens", 2]), "with any number of tokens is expected."),
    ("NaN", remodel(weights=np.full((5, 2), np.nan, np.float32)), "holds values that are no finite numbers."),
    ("infinite", remodel(weights=np.full((5, 2), np.inf, np.float32)), "holds values that are no finite numbers."),
    ("few words", remodel(weights=np.zeros((0, 2), np.float32)), "The model cannot read this"),
]


@pytest.mark.parametrize(("spoil", "sentence"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_folder_that_is_not_right_is_refused(root: Path, spoil: Callable[[Path], None], sentence: str) -> None:
    folder = write_folder(root)
    spoil(folder)

    with pytest.raises(CommandError) as caught:
        check(folder)

    assert sentence in str(caught.value) and str(caught.value).endswith(".")


def test_a_name_that_is_taken_is_left_out(root: Path) -> None:
    write_folder(root, "toxicity-2026-11-29")
    use_models(root)

    (broken,) = [item for item in list_broken_plugins() if item.entry_point == "EVALSVC_MODELS"]
    assert "Another evaluator answers to toxicity." in broken.problem


def test_it_has_a_card(root: Path) -> None:
    write_folder(root)
    use_models(root)
    found = find_evaluator("toy")
    assert found is not None

    family, spec = found
    card = build_card(family, spec, [])

    assert card.lane == "cpu" and "evaluated_model_output" in {read.field for read in card.reads}
