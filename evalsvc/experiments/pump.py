"""A pump: one worker process that claims units of all experiments and keeps its slots busy with them."""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, connections

from evalsvc.experiments import store
from evalsvc.experiments.planner import step
from evalsvc.experiments.slot import Slot
from evalsvc.experiments.store import Unit

log = logging.getLogger(__name__)
# Made before the pool forks: the worker's main process sets it when it is told to stop, and its children see it.
shutting_down = multiprocessing.Event()

PREFETCH = 1
WATCH_SECONDS, BEAT_SECONDS = 0.03, 1.0
SHORTEST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.01, 0.2
IDLE_SECONDS, GRACE_SECONDS = 5.0, 2.0
# However busy: below the hour after which a task is killed, by more than the longest call.
LONGEST_SECONDS = 2700.0
SHORTEST_PLAN_PAUSE_SECONDS = 0.05
# A newcomer's fair share is lent on top of the slots that others hold, so that no stuck endpoint can shut it out.
MOST_LENT = 3


class Pump:
    """Claims, slots, a watcher of epochs and leases, and the planner, in one process."""

    def __init__(
        self, *, slots: int, n_pumps: int, lease_seconds: float, on_beat: Callable[[], None] = lambda: None
    ) -> None:
        self.on_beat = on_beat
        self.slots = slots
        self.all_slots = slots * n_pumps
        self.lease_seconds = lease_seconds
        self._changed = threading.Condition()
        self._running: dict[int, Unit] = {}
        self._ready: deque[Unit] = deque()
        self._epochs: dict[int, int] = {}
        self._lost: set[int] = set()
        self._blocked: dict[int, float] = {}
        self._refusals: Counter[int] = Counter()
        self._refused_until: dict[int, float] = {}
        self._dirty: set[tuple[int, int]] = set()
        self._draining = False
        self._closed = False
        self._pool = ThreadPoolExecutor(slots * (1 + MOST_LENT), thread_name_prefix="slot")

    def run(self, *, seconds: float, idle_seconds: float = IDLE_SECONDS) -> None:
        """Work until the time is up, the worker stops, or there has been nothing to do for a while."""
        helpers = [threading.Thread(target=self._watch), threading.Thread(target=self._plan)]
        for helper in helpers:
            helper.start()
        try:
            hard_end = time.monotonic() + LONGEST_SECONDS
            while self._claim_until(min(time.monotonic() + seconds, hard_end), idle_seconds):
                if time.monotonic() >= hard_end or self._is_free_within(GRACE_SECONDS):
                    break
        finally:
            self._draining = True
            self._give_back_ready()
            self._pool.shutdown(wait=True)
            self._closed = True
            for helper in helpers:
                helper.join()
            connections.close_all()

    # --- Claiming ----------------------------------------------------------------------------------------------------

    def _is_free_within(self, seconds: float) -> bool:
        """Wait for the slots to come free. Where a slow endpoint holds some, the others must not stand still for it."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._running and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._running

    def _claim_until(self, deadline: float, idle_seconds: float) -> bool:
        """Claim until the time is up (True), or there is nothing left to do or the worker stops (False)."""
        poll, busy_at = SHORTEST_POLL_SECONDS, time.monotonic()
        while time.monotonic() < deadline and not shutting_down.is_set():
            claimed = self._claim()
            with self._changed:
                self._ready.extend(claimed)
                self._start_ready()
                if self._running or claimed:
                    busy_at = time.monotonic()
                elif time.monotonic() - busy_at > idle_seconds:
                    return False
                poll = SHORTEST_POLL_SECONDS if claimed else min(poll * 2, LONGEST_POLL_SECONDS)
                if not claimed or self._wanted() <= 0:
                    self._changed.wait(poll)
        return not shutting_down.is_set()

    def _wanted(self) -> int:
        return self.slots + PREFETCH - len(self._running) - len(self._ready)

    def _claim(self) -> list[Unit]:
        with self._changed:
            wanted = self._wanted()
            excluded: list[int] = []
            if wanted <= 0:
                wanted, excluded = self._wanted_by_newcomers()
            now = time.monotonic()
            self._blocked = {config: until for config, until in self._blocked.items() if until > now}
            blocked = list(self._blocked)
        if wanted <= 0:
            return []
        try:
            return store.claim_units(
                limit=wanted,
                slots=self.all_slots,
                lease_seconds=self.lease_seconds,
                excluded_accounts=excluded,
                blocked_configs=blocked,
            )
        except DatabaseError:
            log.warning("claiming failed; trying again", exc_info=True)
            connections.close_all()
            time.sleep(LONGEST_POLL_SECONDS)
            return []

    def _wanted_by_newcomers(self) -> tuple[int, list[int]]:
        """Every slot is taken: return how many units a newcomer may claim all the same, and who is none."""
        held = self._held()
        if len(self._running) + len(self._ready) > self.slots * (1 + MOST_LENT):
            return 0, []
        share = max(1, self.slots // max(2, len(held)))
        return 1, [account_id for account_id, n in held.items() if n >= share]

    def _held(self) -> Counter[int]:
        return Counter(unit.account_id for unit in self._running.values())

    def _start_ready(self) -> None:
        for unit in list(self._ready):
            if len(self._running) < self.slots or self._is_newcomer(unit.account_id):
                self._ready.remove(unit)
                self._running[unit.id] = unit
                self._pool.submit(self._work, unit)

    def _is_newcomer(self, account_id: int) -> bool:
        held = self._held()
        others = held.keys() - {account_id}
        return bool(others) and held[account_id] < max(1, self.slots // (len(others) + 1))

    def _give_back_ready(self) -> None:
        with self._changed:
            units, self._ready = list(self._ready), deque()
        for unit in units:
            Slot(unit, is_lost=self._is_lost, should_stop=lambda: True).run()

    # --- Working -----------------------------------------------------------------------------------------------------

    def _work(self, unit: Unit) -> None:
        slot = Slot(
            unit,
            is_lost=self._is_lost,
            should_stop=lambda: self._draining,
            n_refusals=self._refusals[unit.config_id],
        )
        try:
            slot.run()
        finally:
            with self._changed:
                del self._running[unit.id]
                self._lost.discard(unit.id)
                self._note_turn(unit.config_id, slot)
                self._dirty.add((unit.account_id, unit.experiment_id))
                self._start_ready()
                self._changed.notify()

    def _note_turn(self, config_id: int, slot: Slot) -> None:
        """Note how long a config must wait, and how often in a row the endpoint itself has said so.

        Calls that were under way together and are all refused are one refusal: a slow endpoint is not a broken one.
        """
        now = time.monotonic()
        if slot.n_recorded:
            self._refusals[config_id] = 0
        if slot.was_refused and self._refused_until.get(config_id, now) <= now:
            self._refusals[config_id] += 1
            self._refused_until[config_id] = now + slot.postponed_seconds
        if slot.postponed_seconds:
            self._blocked[config_id] = now + slot.postponed_seconds

    def _is_lost(self, unit: Unit) -> bool:
        return unit.id in self._lost or self._epochs.get(unit.config_id, unit.epoch) > unit.epoch

    # --- Watching ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Learn of stopped configs within milliseconds, and keep the leases of what is still being worked on."""
        kept_at = beaten_at = time.monotonic()
        while not self._closed:
            time.sleep(WATCH_SECONDS)
            now = time.monotonic()
            if now - beaten_at > BEAT_SECONDS:
                self.on_beat()
                beaten_at = now
            with self._changed:
                held = [*self._running.values(), *self._ready]
            try:
                self._learn_epochs()
                if held and now - kept_at > self.lease_seconds / 3:
                    alive = store.keep_alive(held, lease_seconds=self.lease_seconds)
                    kept_at = now
                    self._note_lost({unit.id for unit in held} - alive)
            except DatabaseError:
                log.warning("watching failed; trying again", exc_info=True)
                connections.close_all()
        connections.close_all()

    def _learn_epochs(self) -> None:
        with self._changed:
            held = {unit.config_id for unit in [*self._running.values(), *self._ready]}
        if held:
            self._epochs = store.epochs_of(list(held))

    def _note_lost(self, gone: set[int]) -> None:
        with self._changed:
            self._lost |= gone & self._running.keys()

    def _plan(self) -> None:
        """Weigh the evidence of experiments that have moved."""
        while not self._closed or self._dirty:
            with self._changed:
                dirty, self._dirty = self._dirty, set()
            started = time.monotonic()
            for account_id, experiment_id in dirty:
                try:
                    if not step(account_id=account_id, experiment_id=experiment_id):
                        self._note_moved(account_id, experiment_id)
                    self._learn_epochs()
                except Exception:
                    # Beat takes the step again; the pump's other experiments must not wait for it.
                    log.exception("experiment %s: the planner broke", experiment_id)
                finally:
                    connections.close_all()
            # At most a quarter of the time, so that weighing does not keep the answers waiting.
            time.sleep(max(SHORTEST_PLAN_PAUSE_SECONDS, 3 * (time.monotonic() - started)))

    def _note_moved(self, account_id: int, experiment_id: int) -> None:
        with self._changed:
            self._dirty.add((account_id, experiment_id))


def run_pump(*, on_beat: Callable[[], None]) -> None:
    """Run one pump with the settings of this worker; `on_beat` is called every few seconds while it lives."""
    pump = Pump(
        slots=settings.EXPERIMENT_SLOTS,
        n_pumps=settings.EXPERIMENT_PUMPS,
        lease_seconds=settings.EXPERIMENT_LEASE_SECONDS,
        on_beat=on_beat,
    )
    pump.run(seconds=settings.EXPERIMENT_PUMP_SECONDS)
