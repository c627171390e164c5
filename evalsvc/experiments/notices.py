"""Notices for schedulers, published through Redis, so that they do not have to poll the database frequently.

Notices can be lost: they only name what to check. A scheduler that receives none still polls, less often.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from django.db import transaction
from django.dispatch import Signal
from redis.exceptions import RedisError

from evalsvc.infra.redis import get_shared_client
from evalsvc.tenancy.scope import current_role

log = logging.getLogger(__name__)
ended = Signal()
"""An experiment has ended: `plan`, within the transaction that says so."""
CHANNEL = "experiments:news"
WORK = b"work"
"""There may be units to claim."""
EPOCHS = b"epochs"
"""Configs have been stopped or resumed."""
SILENT_SECONDS = 5.0
"""After a failure nothing is told for so long: the sender has other work, and Redis may hang."""
_silent_until = 0.0


def publish(news: bytes) -> None:
    """Tell all schedulers."""
    global _silent_until
    if time.monotonic() < _silent_until:
        return
    try:
        get_shared_client().publish(CHANNEL, news)
    except RedisError:
        _silent_until = time.monotonic() + SILENT_SECONDS
        log.warning("schedulers not notified: Redis does not answer")


def publish_on_commit(news: bytes) -> None:
    """Tell all schedulers after the commit, when they can see what is new."""
    transaction.on_commit(lambda: publish(news), using=current_role())


class NoticeListener:
    """Hears the news of one scheduler, in one thread."""

    def __init__(self) -> None:
        self._subscription: Any = None

    @property
    def is_connected(self) -> bool:
        """Whether Redis has been available since the last call: notices normally arrive then."""
        return self._subscription is not None

    def listen(self, seconds: float) -> set[bytes]:
        """Wait up to `seconds` for notices and return them.

        After a new connection, return all kinds: some may have been missed.
        """
        try:
            if self._subscription is None:
                self._subscribe()
                return {WORK, EPOCHS}
            return self._receive(seconds)
        except RedisError:
            if self.is_connected:
                log.warning("no notices received: Redis does not answer")
            self.close()
            time.sleep(seconds)
            return set()

    def _subscribe(self) -> None:
        subscription = get_shared_client().pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        try:
            subscription.subscribe(CHANNEL)
            # Wait for the confirmation: notices are received from here on.
            subscription.get_message(timeout=1.0)
        except RedisError:
            subscription.close()
            raise
        self._subscription = subscription

    def _receive(self, seconds: float) -> set[bytes]:
        notices: set[bytes] = set()
        message = self._subscription.get_message(timeout=seconds)
        while message is not None:
            notices.add(message["data"])
            message = self._subscription.get_message(timeout=0)
        return notices

    def close(self) -> None:
        """Listen no more."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.close()
