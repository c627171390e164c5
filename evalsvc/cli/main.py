"""`evalsvc`: the commands of the command line."""

from __future__ import annotations

import click

from evalsvc import __version__
from evalsvc.cli.completion import completion
from evalsvc.cli.deciding.command import decide_gate
from evalsvc.cli.evaluating.command import evaluate_samples
from evalsvc.cli.exports.command import export_group
from evalsvc.cli.imports.command import import_group
from evalsvc.cli.looking.commands import compare_configs, show_report, watch_experiment
from evalsvc.cli.nouns.benchmarks import benchmarks_group
from evalsvc.cli.nouns.comparisons import comparisons_group
from evalsvc.cli.nouns.conversations import add_conversations
from evalsvc.cli.nouns.lists import (
    list_datasets,
    list_evaluators,
    list_experiments,
    list_gates,
    list_profiles,
    open_page,
    show_history,
)
from evalsvc.cli.nouns.monitors import alarms_group, monitors_group
from evalsvc.cli.nouns.reviews import reviews_group
from evalsvc.cli.nouns.rules import rules_group
from evalsvc.cli.running.command import run_configs
from evalsvc.cli.service import manage_models, manage_service, start_service
from evalsvc.cli.session import login, logout

COMMANDS = (
    *(login, logout, evaluate_samples, run_configs, watch_experiment, compare_configs, decide_gate, show_report),
    *(comparisons_group, reviews_group, benchmarks_group, import_group, export_group, completion),
    *(rules_group, monitors_group, alarms_group),
    add_conversations,
    *(list_experiments, list_datasets, list_evaluators, list_profiles, list_gates, show_history, open_page),
    *(start_service, manage_service, manage_models),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="evalsvc")
def command_line() -> None:
    """Evaluate LLM applications with an evalsvc service.

    The address and the key of the account are read from EVALSVC_URL and EVALSVC_API_KEY, else from what `evalsvc login`
    has kept. A command ends with 0 when all of it is done, with 1 when something is left (it says what, and may be run
    again), with 2 when nothing was changed.
    """


for _command in COMMANDS:
    command_line.add_command(_command)
