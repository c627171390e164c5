"""OpenAPI Generator at a pinned version, with the Java that it runs on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.peers import python_with

OPTIONS = ("--name-mappings", "N=n_population")
"""`n` and `N` are keys of one answer, which the generator would give one name."""


def generate(document: Path, language: str, output: Path, *options: str) -> None:
    """Generate a client into a folder."""
    program = Path(python_with("openapi_generator")).with_name("openapi-generator-cli")
    command: list[str | Path] = [program, "generate", "-i", document, "-g", language, "-o", output, *OPTIONS, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
