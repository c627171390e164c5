"""Many configs over one dataset, with running estimates, decisions and control while they run."""

from pathlib import Path

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """The `experiments` app."""

    name = "evalsvc.experiments"
    label = "experiments"

    def ready(self) -> None:
        """Register the database's functions, and show results of experiments alongside the history."""
        from evalsvc.evaluations.history.alongside import finders
        from evalsvc.experiments.reporting.alongside import find_running_side
        from evalsvc.infra.functions import FunctionFiles, register_functions

        if find_running_side not in finders:
            finders.append(find_running_side)
        register_functions(
            self.label, FunctionFiles(Path(__file__).parent / "sql", ("functions", "additions", "stages", "retries"))
        )
