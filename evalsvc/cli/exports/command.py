"""`evalsvc export`: take along all that an account holds."""

from __future__ import annotations

import click


@click.group("export")
def export_group() -> None:
    """Write what the account holds into files."""
