"""The folders of the operator's models: those that are evaluators, and why the others are not."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from evaluators.base import Family
from evaluators.classification.folder import BadFolder, ModelFolder, read_folder
from evaluators.contract import list_names
from evaluators.families.own_model import OwnModel, build_spec
from evaluators.plugins import BrokenPlugin

log = logging.getLogger(__name__)
SETTING = "EVALSVC_MODELS"


def load_folders(root: Path | None, others: Sequence[Family]) -> tuple[tuple[Family, ...], tuple[BrokenPlugin, ...]]:
    """Return the family of the folders in `root`, none where no folder is good, and those that were left out."""
    good: list[ModelFolder] = []
    broken: list[BrokenPlugin] = []
    taken = {name for family in others for name in list_names(family)}
    for path in _list_folders(root):
        try:
            folder = read_folder(path)
            names = {folder.id, *build_spec(folder).aliases}
            if clashes := sorted(names & taken):
                raise BadFolder(f"Another evaluator answers to {', '.join(clashes)}.")
        except (BadFolder, OSError) as bad:
            broken.append(BrokenPlugin(path.name, SETTING, str(bad)))
            log.error("model folder %r left out: %s", path.name, bad)
            continue
        taken |= names
        good.append(folder)
    return (OwnModel(good),) if good else (), tuple(broken)


def _list_folders(root: Path | None) -> list[Path]:
    if root is None or not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if not path.name.startswith("."))
