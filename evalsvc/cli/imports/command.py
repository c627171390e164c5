"""`evalsvc import`: one command for each place that people come from."""

from __future__ import annotations

import click


@click.group("import")
def import_group() -> None:
    """Bring evaluations, datasets and labels along from another service."""
