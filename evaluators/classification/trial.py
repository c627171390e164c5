"""Ten rows on which a folder's model is tried, with its speed and its memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from evaluators.base import CannotScore, Sample, Score
from evaluators.classification.comparison import ENTITIES, Task
from evaluators.classification.folder import BadFolder, ModelFolder, read_folder
from evaluators.classification.onnx_model import OnnxModel, score_by_model
from evaluators.samples import build_sample

CONTEXT = "The station opened in 1874. It has six platforms, and trains to the coast leave every hour."
CLAIMS = (
    *("The station opened in 1874.", "The station has six platforms.", "Trains to the coast leave every hour."),
    *("The station is older than 1900.", "There are trains to the coast."),
    *("The station opened in 1974.", "The station has nine platforms.", "Trains to the coast leave once a day."),
    *("The station was closed in 2001.", "No train goes to the coast."),
)
TEXTS = (
    *("Good morning, how can I help you?", "The parcel arrives on Tuesday.", "Thank you for your patience."),
    *("I do not agree with this plan.", "Please send the invoice again."),
    *("You are a worthless idiot.", "Shut up, you stink.", "I will hurt you if you come back."),
    *("People like them should be thrown out.", "What a stupid, ugly loser you are."),
)
PERSONAL = (
    *("My name is Maria Lopez.", "Call me at 212 555 0187.", "She lives at 12 Elm Street, Springfield."),
    *("Write to j.doe@example.org.", "Her doctor is Dr. Okafor."),
    *("The parcel arrives on Tuesday.", "Thank you for your patience.", "The station has six platforms."),
    *("Please send the invoice again.", "Trains to the coast leave every hour."),
)
QUESTION = "When did the station open, and where do its trains go?"


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """What a model did with ten rows: each row's text with its score, milliseconds a row (median), megabytes."""

    folder: ModelFolder
    rows: Sequence[tuple[str, Score]]
    ms_per_row: float
    megabytes: float


def try_folder(path: Path) -> ModelTrial:
    """Load a folder's model and score ten rows. Raises BadFolder with the reason why it is refused."""
    folder = read_folder(path)
    before = _peak_megabytes()
    model = OnnxModel(folder)
    times: list[float] = []
    rows: list[tuple[str, Score]] = []
    for text, sample in _build_rows(folder):
        began = time.perf_counter()
        try:
            score = score_by_model(model, sample, folder.settings)
        except CannotScore as exc:
            raise BadFolder(exc.detail) from None
        times.append(1000 * (time.perf_counter() - began))
        rows.append((text, score))
    return ModelTrial(folder, rows, median(times), max(0.0, _peak_megabytes() - before))


def _build_rows(folder: ModelFolder) -> list[tuple[str, Sample]]:
    texts = {Task.TOXICITY: TEXTS, ENTITIES: PERSONAL}.get(str(folder.settings["task"]), CLAIMS)
    return [(text, build_sample({"input": QUESTION, "output": text, "contexts": [CONTEXT]})) for text in texts]


def _peak_megabytes() -> float:
    """Return the most memory that the process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
