"""`manage.py models check FOLDER`: try a model of one's own on ten rows."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from evalsvc.ops.management.base import ServiceCommand
from evaluators.classification.comparison import get_threshold
from evaluators.classification.folder import MODEL, BadFolder
from evaluators.classification.trial import ModelTrial, try_folder


class Command(ServiceCommand):
    """Check a model's folder before it is put into EVALSVC_MODELS."""

    help = "Check a folder with a model of your own: its files, its answers to ten rows, its speed and its memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to do, and the folder."""
        parser.add_argument("action", choices=["check"])
        parser.add_argument("folder", type=Path, help="with model.onnx, tokenizer.json and evaluator.json")

    def handle(self, *args: object, folder: Path, **options: object) -> None:
        """Print what the model did, or say in a sentence why it is refused."""
        try:
            trial = try_folder(folder.absolute())
        except (BadFolder, OSError) as bad:
            raise CommandError(f"{folder} is no evaluator. {bad}") from None
        self.stdout.write("\n".join(describe_trial(trial)))


def describe_trial(trial: ModelTrial) -> list[str]:
    """Return the lines of a report."""
    folder = trial.folder
    size = (folder.path / MODEL).stat().st_size / 1e6
    rows = [f"  {'pass' if score.passed else 'fail'}  {score.value:.3f}  {text}" for text, score in trial.rows]
    return [
        f"{folder.id}: {folder.settings['task']}, licence {folder.about.licence}, {folder.about.digest}",
        f"labels {', '.join(folder.about.labels)}; passes from {get_threshold(folder.settings):g}",
        *rows,
        f"speed: {trial.ms_per_row:.1f} ms per row; memory: {trial.megabytes:.0f} MB; {MODEL}: {size:.1f} MB",
    ]
