"""Data frames and plots: what needs a package that the client does without otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from evalsvc.client.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas


def build_frame(rows: Iterable[Mapping[str, object]]) -> pandas.DataFrame:
    """Return rows as a pandas data frame; columns that nothing is in are left out."""
    try:
        import pandas
    except ImportError as exc:
        raise ConfigurationError(
            "pandas is not installed.",
            code="no_pandas",
            remedy='`pip install pandas`, or use `save("result.csv")`.',
        ) from exc
    return pandas.DataFrame([*rows]).dropna(axis="columns", how="all")
