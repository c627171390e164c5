"""How a command names what the service has: an experiment by id or name, one config of it after a colon."""

from __future__ import annotations

from evalsvc.cli.options import Refused
from evalsvc.client.service.bodies import ConfigBody, ExperimentBody
from evalsvc.client.service.experiments_api import ExperimentsApi


def resolve_experiment(api: ExperimentsApi, text: str) -> ExperimentBody:
    """Return the experiment with this id, or the newest of this name."""
    if text.isdigit():
        return api.experiment(text)
    for one in api.experiments(text):
        return api.experiment(one["id"])
    raise Refused(f"There is no experiment named {text!r} in this account. `evalsvc run` makes one.")


def resolve_config(api: ExperimentsApi, text: str) -> tuple[ExperimentBody, ConfigBody]:
    """Return what `EXPERIMENT` or `EXPERIMENT:CONFIG` names; without a config, the only one that there is."""
    name, colon, wanted = text.partition(":")
    experiment = resolve_experiment(api, name)
    configs = experiment["configs"]
    found = [one for one in configs if wanted in (one["name"], one["id"])] if colon else list(configs)
    if len(found) == 1:
        return experiment, found[0]
    names = ", ".join(one["name"] for one in configs) or "none"
    if colon:
        raise Refused(f"Experiment {experiment['name']!r} has no config {wanted!r}. It has: {names}.")
    raise Refused(f"Which config of experiment {experiment['name']!r}? Write {name}:CONFIG. It has: {names}.")
