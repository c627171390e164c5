"""How a command names what the service has: by id or name, and one config of an experiment after a colon."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from evalsvc.cli.options import CommandError
from evalsvc.client import Client
from evalsvc.client.service.bodies import ConfigBody, ExperimentBody
from evalsvc.client.service.experiments_api import ExperimentsApi

ID = re.compile(r"\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class NamedRecord(Protocol):
    """What has an id and a name."""

    @property
    def id(self) -> str:
        """What it is found by for good."""

    @property
    def name(self) -> str:
        """Display name, which is not necessarily unique."""


def resolve_id(found: Iterable[NamedRecord], text: str, *, noun: str, remedy: str) -> str:
    """Return a text that is an id, else the id of the newest object of this name. Refused where there is none."""
    if ID.fullmatch(text):
        return text
    for record in found:
        if record.name == text:
            return record.id
    raise CommandError(f"There is no {noun} named {text!r} in this account. {remedy}")


def console_address(client: Client) -> str:
    """Return where the console shows the account of the key, to whoever of its members opens it."""
    base_url = client.experiments_api.transport.base_url.rstrip("/")
    return f"{base_url}/console/{client.whoami()['api_key']['account']['id']}"


def find_review(client: Client, text: str) -> str:
    """Return the id of a review named by id or name."""
    remedy = "`evalsvc reviews list` shows those that there are."
    return resolve_id(client.reviews.list(), text, noun="review", remedy=remedy)


def resolve_experiment(api: ExperimentsApi, text: str) -> ExperimentBody:
    """Return the experiment with this id, or the newest of this name."""
    if text.isdigit():
        return api.experiment(text)
    # To the service an empty name is none: it would list them all.
    for experiment in api.experiments(text) if text else ():
        return api.experiment(experiment["id"])
    raise CommandError(f"There is no experiment named {text!r} in this account. `evalsvc run` makes one.")


def resolve_config(api: ExperimentsApi, text: str) -> tuple[ExperimentBody, ConfigBody]:
    """Return what `EXPERIMENT` or `EXPERIMENT:CONFIG` names; without a config, the only one that there is."""
    name, colon, config_key = text.partition(":")
    experiment = resolve_experiment(api, name)
    configs = experiment["configs"]
    matches = [config for config in configs if config_key in (config["name"], config["id"])] if colon else list(configs)
    if len(matches) == 1:
        return experiment, matches[0]
    names = ", ".join(config["name"] for config in configs) or "none"
    if colon:
        raise CommandError(f"Experiment {experiment['name']!r} has no config {config_key!r}. It has: {names}.")
    raise CommandError(f"Which config of experiment {experiment['name']!r}? Write {name}:CONFIG. It has: {names}.")
