"""Bound the number of waiting requests in this process, since each occupies a thread, and share the places fairly.

Nothing is reserved: if only one account waits, it can use every place. When all places are taken, an account that has
fewer than another one gets one of those, from the request that has waited longest.
"""

from __future__ import annotations

import threading
from enum import StrEnum
from typing import Protocol


class Release(StrEnum):
    """Why a waiting request has to stop waiting."""

    PLACE_NEEDED = "place_needed"
    """An account with fewer places needs this one."""
    STOPPING = "stopping"
    """The process is about to end."""


class Guest(Protocol):
    """A waiting request."""

    @property
    def account_id(self) -> int:
        """Return the account that occupies the place."""

    def release(self, why: Release) -> None:
        """Stop waiting at once."""


class WaitSlots:
    """The places of one process."""

    def __init__(self, n_places: int) -> None:
        self._n_places = n_places
        self._lock = threading.Lock()
        # Of each account that waits, in the order in which they came.
        self._guests: dict[int, dict[Guest, None]] = {}
        self._n_guests = 0
        self._is_closed = False

    @property
    def n_places(self) -> int:
        """Return how many may wait at once."""
        return self._n_places

    def resize(self, n_places: int) -> None:
        """Set the number of places; requests that are already waiting continue."""
        with self._lock:
            self._n_places = n_places

    def admit(self, guest: Guest) -> bool:
        """Admit the guest if a place is free, or if its account has at least two fewer than another; return whether.

        The difference of two ensures that moving a place makes the distribution more even, and that no place moves back
        and forth.
        """
        with self._lock:
            if self._is_closed:
                return False
            sent_away = None
            if self._n_guests >= self._n_places:
                sent_away = self._one_too_many(self._n_own(guest.account_id))
                if sent_away is None:
                    return False
                self._remove(sent_away)
            self._guests.setdefault(guest.account_id, {})[guest] = None
            self._n_guests += 1
        if sent_away is not None:
            sent_away.release(Release.PLACE_NEEDED)
        return True

    def has_place_for(self, account_id: int) -> bool:
        """Return whether a guest of this account would be admitted now; no place is reserved."""
        with self._lock:
            if self._is_closed:
                return False
            return self._n_guests < self._n_places or self._one_too_many(self._n_own(account_id)) is not None

    def leave(self, guest: Guest) -> None:
        """Take the guest's place back, unless it has been given away."""
        with self._lock:
            if guest in self._guests.get(guest.account_id, ()):
                self._remove(guest)

    def close(self) -> None:
        """Release all guests and admit no more."""
        with self._lock:
            self._is_closed = True
            guests = [guest for guests in self._guests.values() for guest in guests]
            self._guests, self._n_guests = {}, 0
        for guest in guests:
            guest.release(Release.STOPPING)

    def _n_own(self, account_id: int) -> int:
        return len(self._guests.get(account_id, ()))

    def _one_too_many(self, n_own: int) -> Guest | None:
        most: dict[Guest, None] = max(self._guests.values(), key=len, default={})
        return next(iter(most)) if len(most) >= n_own + 2 else None

    def _remove(self, guest: Guest) -> None:
        guests = self._guests[guest.account_id]
        del guests[guest]
        self._n_guests -= 1
        if not guests:
            del self._guests[guest.account_id]
