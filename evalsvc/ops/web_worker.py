"""gunicorn's threaded worker: it bounds who may wait and compute, and lets those who wait go when it stops."""

from __future__ import annotations

from types import FrameType

from gunicorn.workers.gthread import ThreadWorker


class WebWorker(ThreadWorker):
    """One web process."""

    def run(self) -> None:
        """Serve, once the application is loaded."""
        from evalsvc.evaluations.turns import turns
        from evalsvc.evaluations.waiting import places_for, room

        n_threads = self.cfg.threads
        room.resize(places_for(n_threads))
        turns.resize(n_threads - places_for(n_threads))
        super().run()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: who waits is answered `pending` at once, and fetches the rest from another process."""
        super().handle_exit(sig, frame)
        # In the main loop: a signal may come while this thread holds any lock.
        self.method_queue.defer(let_go)


def let_go() -> None:
    """Send away everybody who waits."""
    from evalsvc.evaluations.waiting import room

    room.close()
