"""Draining of web processes before they stop: how long /readyz answers 503, and the file that triggers it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

DRAIN_SECONDS_VARIABLE, DRAIN_FILE_VARIABLE = "EVALSVC_DRAIN_SECONDS", "EVALSVC_DRAIN_FILE"
DEFAULT_SECONDS, MOST_SECONDS = 5, 600
REQUESTS_SECONDS = 25
"""For requests to end once nothing new is accepted; whoever waits for workers has been answered long before."""


class MalformedDrain(Exception):
    """A drain setting that cannot be followed; the message names it, with the rule."""


def drain_seconds(environment: Mapping[str, str]) -> int:
    """Return how long /readyz answers 503 before nothing more is accepted. Raises MalformedDrain."""
    text = environment.get("EVALSVC_DRAIN_SECONDS", "").strip() or str(DEFAULT_SECONDS)
    if not (text.isascii() and text.isdigit()) or int(text) > MOST_SECONDS:
        raise MalformedDrain(
            f"{DRAIN_SECONDS_VARIABLE} must be a whole number of seconds from 0 to {MOST_SECONDS}, not {text!r}."
        )
    return int(text)


def drain_file(environment: Mapping[str, str]) -> Path:
    """Return the file that makes the web processes of one gunicorn drain as long as it exists.

    Raises MalformedDrain.
    """
    configured = environment.get("EVALSVC_DRAIN_FILE", "")
    if not configured:
        return Path(tempfile.gettempdir()) / f"evalsvc-draining-{environment.get('EVALSVC_PORT') or '8000'}"
    path = Path(configured)
    if not path.is_absolute() or not path.parent.is_dir() or path.is_dir():
        raise MalformedDrain(
            f"{DRAIN_FILE_VARIABLE} must be the absolute path of a file in a folder that exists, not {configured!r}."
        )
    return path


def refuse_malformed_drain(environment: Mapping[str, str]) -> None:
    """Raise MalformedDrain unless both settings can be followed."""
    drain_seconds(environment)
    drain_file(environment)
