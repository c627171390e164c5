"""gunicorn's threaded worker, which knows how many of its threads may wait, and lets them go when it has to stop."""

from __future__ import annotations

from types import FrameType

from gunicorn.workers.gthread import ThreadWorker


class WebWorker(ThreadWorker):
    """One web process."""

    def run(self) -> None:
        """Serve, once the application is loaded."""
        from evalsvc.evaluations.waiting import places_for, room

        room.resize(places_for(self.cfg.threads))
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
