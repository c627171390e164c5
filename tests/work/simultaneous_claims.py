"""Two processes of one worker that claim at the same moment; prints how many computed a slow sample at once."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

import django

PATIENCE = 100.0
OVERLAP_SECONDS = 5.0
"""How long a process that computes waits for the other one, which leaves soon unless it computes too."""


def run(key: str) -> int:
    """Have both processes claim one evaluation each; return how many computed at once."""
    django.setup()
    from evalsvc.evaluations.verdicts import Verdict
    from evalsvc.evaluations.workers.computing import drain, store, wakeups
    from evalsvc.evaluations.workers.computing.neighbours import neighbours

    fork = multiprocessing.get_context("fork")
    barrier, has_left = fork.Barrier(2), fork.Event()
    at_once, most = fork.Value("i", 0), fork.Value("i", 0)
    wakeups.KEY, wakeups.CALLED_KEY = key, f"{key}:called"
    wakeups.start_process = lambda: True
    claim = store.claim_computing

    def claim_together(**facts: Any) -> Any:
        claimed = claim(**facts | {"limit": 1})
        assert len(claimed) == 1
        barrier.wait(PATIENCE)
        return claimed

    def compute(*args: Any, **facts: Any) -> Verdict:
        with at_once.get_lock():
            at_once.value += 1
            most.value = max(most.value, at_once.value)
        has_left.wait(OVERLAP_SECONDS)
        return Verdict("success", score=1.0, passed=True)

    def work() -> None:
        neighbours.join()
        barrier.wait(PATIENCE)
        drain.compute_batch("one")
        has_left.set()

    store.claim_computing = claim_together
    vars(drain)["compute_evaluation"] = compute
    processes = [fork.Process(target=work) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0, 0]
    return int(most.value)


if __name__ == "__main__":
    print(run(sys.argv[1]))
