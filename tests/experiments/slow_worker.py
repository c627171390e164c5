"""`python -m tests.experiments.slow_worker`: a scheduler whose configs answer slowly and rightly, until it is killed."""

from __future__ import annotations

import os
import time
from typing import Any
from unittest import mock

LEASE_SECONDS = 2.0


def main() -> None:
    """Work."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    django.setup()
    from evalsvc.experiments.runner.generate import ConfigClient, GeneratedOutput
    from evalsvc.experiments.runner.scheduling.scheduler import Scheduler
    from evalsvc.experiments.runner.units import pipelines

    def produce(asking: ConfigClient, example: Any) -> GeneratedOutput:
        time.sleep(0.03)
        return GeneratedOutput(output={"output": example["expected"]})

    with mock.patch.object(pipelines, "produce", produce):
        Scheduler(n_runners=2, n_schedulers=1, lease_seconds=LEASE_SECONDS).run(seconds=60)


if __name__ == "__main__":
    main()
