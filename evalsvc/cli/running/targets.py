"""What is run: Python of the caller's, as `module:function`, or configs of the service in a JSON file."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsvc.cli.options import CommandError
from evalsvc.client.pipeline.runnables import get_runnable_name, read_components


@dataclass(frozen=True, slots=True)
class Target:
    """A config as sent to the service, and the runnable that this process runs for it, if any."""

    config: Mapping[str, object]
    runnable: object = None

    @property
    def name(self) -> str:
        """Return the config's name; empty where the service names it."""
        return str(self.config.get("name") or "")


def read_targets(texts: Sequence[str]) -> list[Target]:
    """Return the targets in their order. Refused, with the remedy, where one cannot be found or two are named alike."""
    targets = [target for text in texts for target in _read_target(text)]
    names = [target.name for target in targets]
    if doubled := sorted({name for name in names if name and names.count(name) > 1}):
        raise CommandError(
            f"Two configs are named {doubled[0]!r}: write NAME={texts[-1].rpartition('=')[2]} to name one."
        )
    return targets


def _read_target(text: str) -> list[Target]:
    name, _, place = text.rpartition("=")
    if place.endswith(".json"):
        return _read_configs(Path(place), name)
    runnable = load_object(place)
    parameters: dict[str, object] = {"runnable": get_runnable_name(runnable)}
    if components := read_components(runnable):
        parameters["components"] = components
    return [Target({"name": name or place, "kind": "push", "parameters": parameters}, runnable)]


def _read_configs(path: Path, name: str) -> list[Target]:
    """Read one config or a list of them, in the words of POST /v1/experiments."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise CommandError(f"{path} cannot be read as JSON: {exc}.") from exc
    configs = content if isinstance(content, list) else [content]
    if not all(isinstance(config, dict) and "kind" in config for config in configs):
        raise CommandError(f'{path} holds no config. One is {{"kind": "http", "parameters": {{"url": "https://…"}}}}.')
    if len(configs) == 1 and "search" not in configs[0]:
        configs = [{"name": path.stem, **configs[0], **({"name": name} if name else {})}]
    return [Target(config) for config in configs]


def load_object(text: str) -> Any:
    """Return what `module:name` names; modules of the current folder come first."""
    module_name, colon, path = text.partition(":")
    if not (module_name and colon and path):
        raise CommandError(
            f"{text!r} names nothing to run: write module:function, such as app:answer, or a .json file."
        )
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        target: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        if exc.name is None or not module_name.startswith(exc.name):
            raise CommandError(f"{module_name} cannot be imported:\n{traceback.format_exc(limit=-3)}") from exc
        raise CommandError(f"There is no module {module_name!r} here. Run this in the folder that has it.") from exc
    except Exception as exc:
        raise CommandError(f"{module_name} cannot be imported:\n{traceback.format_exc(limit=-3)}") from exc
    for part in path.split("."):
        if not hasattr(target, part):
            raise CommandError(
                f"{module_name} has no {path!r}. It has: {', '.join(_public_names(target)) or 'nothing'}."
            )
        target = getattr(target, part)
    return target


def _public_names(module: object) -> list[str]:
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")][:12]
