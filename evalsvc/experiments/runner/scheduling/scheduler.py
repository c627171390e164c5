"""The scheduler: claims units of all experiments, and passes them to the unit runners of one worker process."""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial

from django.conf import settings
from django.db import DatabaseError, connections

from evalsvc.experiments import notices
from evalsvc.experiments.notices import NoticeListener
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.scheduling.decision_thread import Planning
from evalsvc.experiments.runner.scheduling.pauses import ConfigPauses
from evalsvc.experiments.runner.store import Outcome, RecordResult, Unit
from evalsvc.experiments.runner.units.unit import UnitRunner
from evalsvc.experiments.runner.writer import Writer

log = logging.getLogger(__name__)
# Created before the pool forks: the worker's main process sets it at shutdown, and its children see it.
shutting_down = multiprocessing.Event()

# Units that are claimed before a runner is free: as many as runners where they are soon through, else one.
PREFETCH, SHORT_TURN_SECONDS = 1, 1.0
# Outcomes that wait to be written, for each runner. Where the database is slow, the runners wait for it in the end.
MOST_UNWRITTEN = 2
LISTEN_SECONDS, BEAT_SECONDS = 0.1, 1.0
# How often to poll the epochs without notices; the first value applies while Redis is unavailable.
WATCH_SECONDS, LONGEST_WATCH_SECONDS = 0.03, 1.0
SHORTEST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.01, 0.5
IDLE_SECONDS, GRACE_SECONDS = 5.0, 2.0
# However busy: below the hour after which a task is killed, by more than the longest call.
LONGEST_SECONDS = 2700.0
# A new account's fair share is added to the runners in use, so that a stuck endpoint cannot block it.
MOST_LENT = 3


class Scheduler:
    """Claims units, and manages unit runners, a writer, a watcher of epochs and leases, and the planner."""

    def __init__(
        self, *, n_runners: int, n_schedulers: int, lease_seconds: float, on_beat: Callable[[], None] = lambda: None
    ) -> None:
        self.on_beat = on_beat
        self.n_runners = n_runners
        self.n_schedulers = n_schedulers
        self.lease_seconds = lease_seconds
        self._changed = threading.Condition()
        self._running: dict[int, Unit] = {}
        self._writing: dict[int, Unit] = {}
        self._ready: deque[Unit] = deque()
        self._epochs: dict[int, int] = {}
        self._lost: set[int] = set()
        self._pauses = ConfigPauses()
        self._has_news = False
        self._draining = False
        self._closed = False
        self._planning = Planning()
        self._writer = Writer(lease_seconds=lease_seconds)
        self._pool = ThreadPoolExecutor(n_runners * (1 + MOST_LENT), thread_name_prefix="unit-runner")

    def run(self, *, seconds: float, idle_seconds: float = IDLE_SECONDS) -> None:
        """Work until the time is up, the worker stops, or there has been nothing to do for a while."""
        helpers = [threading.Thread(target=self._watch, name="watch"), threading.Thread(target=self._planning.run)]
        for helper in helpers:
            helper.start()
        try:
            with self._writer:
                try:
                    self._claim_as_long_as_it_takes(seconds, idle_seconds)
                finally:
                    self._draining = True
                    self._give_back_ready()
                    self._pool.shutdown(wait=True)
        finally:
            self._closed = True
            self._planning.close()
            for helper in helpers:
                helper.join()
            connections.close_all()

    # --- Claiming ----------------------------------------------------------------------------------------------------

    def _claim_as_long_as_it_takes(self, seconds: float, idle_seconds: float) -> None:
        hard_end = time.monotonic() + LONGEST_SECONDS
        while self._claim_until(min(time.monotonic() + seconds, hard_end), idle_seconds):
            if time.monotonic() >= hard_end or self._is_free_within(GRACE_SECONDS):
                return

    def _is_free_within(self, seconds: float) -> bool:
        """Wait until all runners are free, for a limited time: a slow endpoint must not leave the others idle."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._running and (remaining := deadline - time.monotonic()) > 0:
                self._changed.wait(remaining)
            return not self._running

    def _claim_until(self, deadline: float, idle_seconds: float) -> bool:
        """Claim until the time is up (True), or there is nothing left to do or the worker stops (False)."""
        poll, busy_at = SHORTEST_POLL_SECONDS, time.monotonic()
        while time.monotonic() < deadline and not shutting_down.is_set():
            self._has_news = False
            claimed = self._claim()
            with self._changed:
                self._ready.extend(claimed)
                self._start_ready()
                if self._running or self._writing or claimed:
                    busy_at = time.monotonic()
                elif time.monotonic() - busy_at > idle_seconds:
                    return False
                poll = SHORTEST_POLL_SECONDS if claimed else min(poll * 2, LONGEST_POLL_SECONDS, idle_seconds)
                if (not claimed or self._count_needed_units() <= 0) and not self._has_news:
                    self._changed.wait(poll)
        return not shutting_down.is_set()

    def _count_needed_units(self) -> int:
        if len(self._writing) > MOST_UNWRITTEN * self.n_runners:
            return 0
        last = self._pauses.last_seconds
        prefetched = self.n_runners if last is not None and last < SHORT_TURN_SECONDS else PREFETCH
        return self.n_runners + prefetched - len(self._running) - len(self._ready)

    def _claim(self) -> list[Unit]:
        with self._changed:
            limit = self._count_needed_units()
            excluded: list[int] = []
            if limit <= 0:
                limit, excluded = self._get_newcomer_limit()
            blocked = self._pauses.waiting()
        if limit <= 0:
            return []
        try:
            return store.claim_units(
                limit=limit,
                n_runners=self.n_runners * self.n_schedulers,
                lease_seconds=self.lease_seconds,
                excluded_accounts=excluded,
                blocked_configs=blocked,
            )
        except DatabaseError:
            log.warning("claim failed; retrying", exc_info=True)
            connections.close_all()
            time.sleep(LONGEST_POLL_SECONDS)
            return []

    def _get_newcomer_limit(self) -> tuple[int, list[int]]:
        """Every runner is taken: return how many units a newcomer may claim all the same, and who is none."""
        counts = self._n_running()
        if len(self._running) + len(self._ready) > self.n_runners * (1 + MOST_LENT):
            return 0, []
        share = max(1, self.n_runners // max(2, len(counts)))
        return 1, [account_id for account_id, n in counts.items() if n >= share]

    def _n_running(self) -> Counter[int]:
        return Counter(unit.account_id for unit in self._running.values())

    def _start_ready(self) -> None:
        for unit in list(self._ready):
            if len(self._running) < self.n_runners or self._is_newcomer(unit.account_id):
                self._ready.remove(unit)
                self._running[unit.id] = unit
                self._pool.submit(self._work, unit)

    def _is_newcomer(self, account_id: int) -> bool:
        counts = self._n_running()
        others = counts.keys() - {account_id}
        return bool(others) and counts[account_id] < max(1, self.n_runners // (len(others) + 1))

    def _give_back_ready(self) -> None:
        with self._changed:
            units, self._ready = list(self._ready), deque()
        for unit in units:
            self._give_back(unit)

    def _give_back_stopped(self) -> None:
        """Release units at once that wait for a runner but must not be processed any more."""
        with self._changed:
            units = [unit for unit in self._ready if self._is_lost(unit) and unit.state != "scoring"]
            for unit in units:
                self._ready.remove(unit)
        for unit in units:
            self._give_back(unit)

    def _give_back(self, unit: Unit) -> None:
        if unit.state == "scoring":
            # Recording nothing would mark the unit as scored.
            self._work(unit)
        else:
            self._await(unit, self._writer.submit(Outcome(unit)))

    # --- Working -----------------------------------------------------------------------------------------------------

    def _work(self, unit: Unit) -> None:
        runner = UnitRunner(
            unit,
            writer=self._writer,
            is_lost=self._is_lost,
            should_stop=lambda: self._draining,
            n_refusals=self._pauses.n_refusals(unit.config_id),
        )
        began = time.monotonic()
        future = runner.run()
        if future is not None:
            self._await(unit, future)
        with self._changed:
            self._running.pop(unit.id, None)
            self._pauses.note(unit.config_id, runner, seconds=time.monotonic() - began)
            self._start_ready()
            self._changed.notify()

    def _await(self, unit: Unit, written: Future[RecordResult]) -> None:
        """Retain a unit's lease until its outcome is written; the runner continues meanwhile."""
        with self._changed:
            self._writing[unit.id] = unit
        written.add_done_callback(partial(self._note_written, unit))

    def _note_written(self, unit: Unit, written: Future[RecordResult]) -> None:
        with self._changed:
            self._writing.pop(unit.id, None)
            self._lost.discard(unit.id)
            self._changed.notify()
        if (exc := written.exception()) is not None:
            # The lease ends by itself, and another worker tries; after several the examples count as failed.
            log.error("unit %s of config %s not recorded", unit.id, unit.config_id, exc_info=exc)
            return
        recorded = written.result()
        self._planning.note((unit.account_id, unit.experiment_id), has_ended=recorded.config_state != "running")
        if recorded.accepted and self.n_schedulers > 1:
            # What a config may run ahead is counted from the slowest: others may wait for this one.
            notices.publish(notices.WORK)

    def _is_lost(self, unit: Unit) -> bool:
        return unit.id in self._lost or self._epochs.get(unit.config_id, unit.epoch) > unit.epoch

    # --- Watching ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Detect stopped configs within milliseconds, and extend the leases of units that are still in progress."""
        kept_at = beaten_at = learned_at = time.monotonic()
        with closing(NoticeListener()) as ears:
            while not self._closed:
                news = ears.listen(LISTEN_SECONDS if ears.is_connected else WATCH_SECONDS)
                now = time.monotonic()
                if news:
                    self._note_news()
                try:
                    if notices.EPOCHS in news or not ears.is_connected or now - learned_at > LONGEST_WATCH_SECONDS:
                        self._learn_epochs()
                        learned_at = now
                    if now - kept_at > self.lease_seconds / 3:
                        self._keep_leases()
                        kept_at = now
                except DatabaseError:
                    log.warning("watch failed; retrying", exc_info=True)
                    connections.close_all()
                if now - beaten_at > BEAT_SECONDS:
                    self.on_beat()
                    beaten_at = now
        connections.close_all()

    def _note_news(self) -> None:
        with self._changed:
            self._has_news = True
            self._changed.notify()

    def _list_units(self) -> list[Unit]:
        with self._changed:
            return [*self._running.values(), *self._writing.values(), *self._ready]

    def _learn_epochs(self) -> None:
        config_ids = {unit.config_id for unit in self._list_units()}
        if config_ids:
            self._epochs = store.read_epochs(list(config_ids))
            self._give_back_stopped()

    def _keep_leases(self) -> None:
        units = self._list_units()
        if units:
            alive = store.keep_alive(units, lease_seconds=self.lease_seconds)
            with self._changed:
                self._lost |= ({unit.id for unit in units} - alive) & self._running.keys()


def run_scheduler(*, on_beat: Callable[[], None]) -> None:
    """Run a scheduler with the settings of this worker; it calls `on_beat` every few seconds while it runs."""
    scheduler = Scheduler(
        n_runners=settings.EXPERIMENT_UNIT_RUNNERS,
        n_schedulers=settings.EXPERIMENT_SCHEDULERS,
        lease_seconds=settings.EXPERIMENT_LEASE_SECONDS,
        on_beat=on_beat,
    )
    scheduler.run(seconds=settings.EXPERIMENT_SCHEDULER_SECONDS)
