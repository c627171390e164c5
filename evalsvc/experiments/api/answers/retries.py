"""What a retry will try again."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from evalsvc.rest.answering.shapes import AnswerShape


class RetriedConfig(AnswerShape):
    """A config, and how many of its outputs are tried again."""

    config_id: str
    config: str
    n_outputs: int


class RetryAnswer(AnswerShape):
    """An order to try again what has failed."""

    experiment_id: str
    number: Annotated[int | None, Meta(description="Null where nothing is to be tried.")]
    what: str
    error_types: list[str] | None
    n_outputs: int
    n_waiting: Annotated[int, Meta(description="Outputs that wait for earlier retries; they are not tried twice.")]
    configs: list[RetriedConfig]
